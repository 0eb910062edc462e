"""One real server for all attacks of a file: a process of its own, open to this machine, on SQLite."""

import re
from collections.abc import Iterator

import httpx
import pytest
import tests.cli.process
from tests.cli.process import Tenure

from ..serving import served  # noqa: TID252 - the helpers of the folder above

JOBS = """
from tenure import Tenure

app = Tenure("sqlite:///{place}", client="acme")


@app.task
async def resize(image: str, width: int = 800) -> str:
    return image
"""


class Target:
    """The server that is attacked."""

    def __init__(self, process: Tenure, client: httpx.Client) -> None:
        self.process = process
        self.client = client

    @property
    def port(self) -> int:
        port = self.client.base_url.port
        assert port is not None
        return port

    def log(self) -> str:
        return "".join(self.process.lines)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """It must have made no mistake: a traceback in its log fails the last test of the file."""
    folder = tmp_path_factory.mktemp("target")
    (folder / "attacked.py").write_text(JOBS.format(place=folder / "jobs.db"))
    paths = f"{tests.cli.process._SOURCE}:{folder}"
    with served("attacked:app", PYTHONPATH=paths) as (process, client):
        target = Target(process, client)
        yield target
        assert client.get("/readyz").json() == {"ready": True, "problems": []}
    assert not re.search(r"Traceback|a bug in Tenure", target.log()), target.log()
