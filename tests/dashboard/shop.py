"""A small real system for the browser: Valkey, an app, `tenure serve`, and workers that can be killed and frozen."""

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from playwright.sync_api import Browser, Page, expect
from tests.cli.process import SOON, started
from tests.cli.process import Tenure as Running
from tests.servers import start_redis

import tenure
from tenure import Tenure
from tenure.clock import SYSTEM_CLOCK
from tenure.message import Message, Outgoing, new_id

#: So many milliseconds anything may take on a slow machine.
SLOW = 30_000
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

    def __init__(self, folder: Path, url: str, sweep_interval: int) -> None:
        self.folder = folder
        self.address = ""
        self.server: Running | None = None
        self.environment = {
            "PYTHONPATH": os.pathsep.join([_SOURCE, str(folder)]), "SHOP_URL": url, "SHOP_FOLDER": str(folder),
            "TENURE_SWEEP_INTERVAL": str(sweep_interval),
        }  # fmt: skip

    @contextlib.contextmanager
    def serving(self, port: int = 0, *words: str) -> Iterator[Running]:
        """`tenure serve`; its address is in `address`."""
        with started("serve", "jobs:app", "--port", str(port), *words, **self.environment) as process:
            assert process.process.stdout is not None
            line = process.process.stdout.readline()
            assert " at http://" in line, "".join(process.lines)
            self.address = line.split(" at ")[1].split()[0].rstrip("/")
            self.server = process
            yield process

    @contextlib.contextmanager
    def working(self) -> Iterator[Running]:
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

    def mail(self, *addresses: str) -> None:
        """Send one message to each: by the library, for a command each would cost a second."""

        async def send() -> None:
            async with Tenure(self.environment["SHOP_URL"], client="shop") as app:
                wall = SYSTEM_CLOCK.wall()
                messages = [
                    Message(
                        id=new_id(wall), queue="mail", task="send", client="shop", sent_at=wall,
                        body=msgspec.Raw(msgspec.json.encode({"to": address})),
                    )
                    for address in addresses
                ]  # fmt: skip
                await app.send([Outgoing(message) for message in messages])

        # The browser has this thread's event loop.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, send()).result()

    def end_films(self) -> None:
        """Let the handler come to its end."""
        (self.folder / "end").touch()


def opened(browser: Browser, address: str) -> tuple[Page, list[str]]:
    """A page, and what its console complains of."""
    page = browser.new_page(viewport={"width": 1360, "height": 860})
    page.set_default_timeout(SLOW)
    expect.set_options(timeout=SLOW)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(address)
    return page, complaints


@contextlib.contextmanager
def shop_in(folder: Path, sweep_interval: int = 4) -> Iterator[Shop]:
    """A shop whose data is in `folder`, swept every `sweep_interval` seconds."""
    (folder / "jobs.py").write_text(_JOBS, encoding="utf-8")
    (folder / "valkey").mkdir()
    with start_redis("valkey9", folder / "valkey") as server:
        yield Shop(folder, server.url, sweep_interval)
