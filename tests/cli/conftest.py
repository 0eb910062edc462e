"""What the tests of the command line share: a folder with an app in it, and a way to run `tenure` there.

Commands run their own event loop, so these tests are sync. `tenure` runs in process, through the same door as
the console script; `process.py` starts real ones.
"""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from click.testing import CliRunner, Result

from tenure import Tenure
from tenure.cli.loading import load
from tenure.cli.root import root
from tenure.errors import NoResult
from tenure.event import Event

JOBS = """
import asyncio

from tenure import Context, Tenure

app = Tenure("sqlite:///jobs.db")


@app.task(max_attempts=2, retry_delay=0.05, reject_on=(ValueError,))
async def resize(ctx: Context, image: str, width: int = 800) -> str:
    if image == "broken":
        raise ValueError("no such image")
    return image


@app.task(queue="slow")
async def nap(seconds: float) -> None:
    await asyncio.sleep(seconds)


@app.task(retry_delay=0.3)
async def flaky(ctx: Context) -> None:
    if ctx.attempt == 1:
        raise RuntimeError("not yet")


@app.task(queue="slow")
def stuck(seconds: float) -> None:
    import time

    time.sleep(seconds)
"""

URL = "sqlite:///jobs.db"

Run = Callable[..., Result]
T = TypeVar("T")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder: empty but for `jobs.py`. What is imported from it is forgotten afterwards."""
    (tmp_path / "jobs.py").write_text(JOBS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("TENURE_URL", "TENURE_DEBUG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def tenure() -> Run:
    """Run a command line; nothing it does may end in a traceback."""

    def run(*words: str, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(root, list(words), input=stdin, prog_name="tenure")
        assert "Traceback" not in result.stderr
        assert isinstance(result.exception, SystemExit | None)
        return result

    return run


def answer(result: Result) -> dict[str, Any]:
    """The one JSON document on standard output."""
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == 1
    decoded: dict[str, Any] = msgspec.json.decode(result.stdout)
    return decoded


def there(work: Callable[[Tenure], Awaitable[T]]) -> T:
    """Do something at the place of `jobs.py`, without its tasks."""

    async def opened() -> T:
        async with Tenure(URL) as app:
            return await work(app)

    return asyncio.run(opened())


def events() -> list[Event]:
    """The whole journal."""

    async def read(app: Tenure) -> list[Event]:
        return [stored.event for stored in await app.state.journal.read()]

    return there(read)


def worked(*ids: str) -> None:
    """Run a worker of `jobs.py` in this process until these messages are finished."""
    app = load("jobs:app")

    async def until_finished() -> None:
        async with app, app.worker(name="w"):
            for id in ids:
                with contextlib.suppress(NoResult):
                    await app.handle(id).result(timeout=60)

    asyncio.run(until_finished())
