"""A small real system for the browser: Valkey, an app, `tenure serve`, and workers that can be killed and frozen."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from tests.cli.process import SOON, Tenure, started
from tests.servers import start_redis

import tenure

_SOURCE = str(Path(tenure.__file__).parents[1])
_JOBS = '''
import asyncio
import os
from pathlib import Path

from tenure import Context, Tenure

app = Tenure(os.environ["SHOP_URL"], client="shop")
FOLDER = Path(os.environ["SHOP_FOLDER"])


@app.task(queue="films", lease=4, max_attempts=1)
async def transcode(ctx: Context, film: str, minutes: int = 1) -> dict:
    """Runs until it is told to end, then does as its film says."""
    step = 0
    while not (FOLDER / "end").exists():
        step += 1
        ctx.progress(min(0.99, step / 100), f"segment {step}")
        await asyncio.sleep(0.2)
    if film == "broken.mkv":
        msg = f"no video stream in {film}"
        raise ValueError(msg)
    return {"film": film, "frames": 12345678901234567890}


@app.task(queue="mail", max_attempts=1)
async def send(to: str) -> str:
    if to.endswith("nowhere"):
        msg = f"no such mailbox: {to}"
        raise ConnectionError(msg)
    return to
'''


class Shop:
    """What runs."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.address = ""
        self.server: Tenure | None = None
        self.environment = {
            "PYTHONPATH": os.pathsep.join([_SOURCE, str(folder)]), "SHOP_URL": url, "SHOP_FOLDER": str(folder),
            "TENURE_SWEEP_INTERVAL": "4",
        }  # fmt: skip

    @contextlib.contextmanager
    def serving(self, port: int = 0, *words: str) -> Iterator[Tenure]:
        """`tenure serve`; its address is in `address`."""
        with started("serve", "jobs:app", "--port", str(port), *words, **self.environment) as process:
            assert process.process.stdout is not None
            line = process.process.stdout.readline()
            assert " at http://" in line, "".join(process.lines)
            self.address = line.split(" at ")[1].split()[0].rstrip("/")
            self.server = process
            yield process

    @contextlib.contextmanager
    def working(self) -> Iterator[Tenure]:
        """A worker that runs; it is killed at the end."""
        with started("worker", "jobs:app", "--concurrency", "2", **self.environment) as process:
            process.says(" runs ", SOON)
            yield process

    def run(self, *words: str) -> str:
        """Run a command of Tenure; what it prints."""
        with started(*words, **self.environment) as process:
            text = process.output()
            assert process.process.returncode == 0, "".join(process.lines)
            return text

    def submit(self, task: str, **payload: object) -> str:
        """Send one message; its id."""
        return self.run("submit", "jobs:app", task, json.dumps(payload)).split()[0]

    def end_films(self) -> None:
        """Let the handler come to its end."""
        (self.folder / "end").touch()


@contextlib.contextmanager
def shop_in(folder: Path) -> Iterator[Shop]:
    """A shop whose data is in `folder`."""
    (folder / "jobs.py").write_text(_JOBS, encoding="utf-8")
    (folder / "valkey").mkdir()
    with start_redis("valkey9", folder / "valkey") as server:
        yield Shop(folder, server.url)
