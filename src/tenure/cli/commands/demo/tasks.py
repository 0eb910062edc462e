"""The tasks of the demo, each with a fault of its own, and the app that has them.

resize     quick, its effect done in the middle: a crash after it must not repeat it
transcode  runs three times as long as its lease; the heartbeat keeps it
notify     fails twice, then succeeds
fax        always fails: the dead letters
report     a plain function, in a thread
explode    ends the process that runs it, whichever that is
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

from tenure.app import Tenure
from tenure.cli.commands.demo.effects import DemoEffects
from tenure.config import Settings
from tenure.tasks.context import Context, SyncContext

TRANSCODE_SECONDS = 6.0
TRANSCODE_LEASE_SECONDS = 2.0
#: The attempt at which `notify` succeeds.
NOTIFY_SUCCEEDS_AT = 3
#: The variable by which a worker process of the demo finds the data.
FOLDER_VARIABLE = "TENURE_DEMO_DIR"
#: The pid of the demo. A worker that only asked for its parent could ask too late, when the demo is gone already.
PARENT_VARIABLE = "TENURE_DEMO_PID"
QUEUES = ("images", "mail", "reports", "video")

#: Its own, so that the demo is the same whatever the environment says.
_SETTINGS = Settings(client="demo", lease_seconds=30.0, max_attempts=3, grace_seconds=10.0)


def url_in(folder: Path) -> str:
    """Return the URL of the demo's messages."""
    return f"sqlite:///{folder.resolve() / 'demo.db'}"


def effects_in(folder: Path) -> DemoEffects:
    """Return the file of the demo's effects."""
    return DemoEffects(folder / "effects.db")


def build(folder: Path) -> Tenure:
    """The app of the demo, its data in `folder`."""
    app = Tenure(url_in(folder), settings=_SETTINGS, lifespan=_end_with_the_parent)
    effects = effects_in(folder)

    @app.task(queue="images")
    async def resize(ctx: Context, image: str, seconds: float) -> str:
        await asyncio.sleep(seconds / 2)
        effects.write(ctx)
        await asyncio.sleep(seconds / 2)
        return f"{image} resized"

    @app.task(queue="video", lease=TRANSCODE_LEASE_SECONDS)
    async def transcode(ctx: Context, film: str) -> str:
        steps = 12
        for step in range(steps):
            ctx.progress(step / steps)
            await asyncio.sleep(TRANSCODE_SECONDS / steps)
        effects.write(ctx)
        return f"{film} transcoded"

    @app.task(queue="mail", max_attempts=5, retry_delay=0.5)
    async def notify(ctx: Context, person: str) -> str:
        await asyncio.sleep(0.1)
        if ctx.attempt < NOTIFY_SUCCEEDS_AT:
            msg = "the mail server says: 421 try again later"
            raise ConnectionError(msg)
        effects.write(ctx)
        return f"{person} notified"

    @app.task(queue="mail", max_attempts=3, retry_delay=0.3)
    async def fax(number: str) -> None:
        await asyncio.sleep(0.1)
        msg = f"no fax answers at {number}"
        raise OSError(msg)

    @app.task(queue="reports")
    def report(ctx: SyncContext, month: str) -> str:
        time.sleep(0.4)
        effects.write(ctx)
        return f"report of {month}"

    @app.task(queue="images")
    async def explode(image: str) -> None:  # noqa: ARG001 - it would have been resized
        await asyncio.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)

    return app


@contextlib.asynccontextmanager
async def _end_with_the_parent(_app: Tenure) -> AsyncIterator[None]:
    """A worker of the demo must not outlive the demo, not even one that was killed itself."""
    # Taken out of the environment: the parent of a worker's own child processes is the worker.
    parent = int(os.environ.pop(PARENT_VARIABLE, os.getppid()))

    async def watch() -> None:
        while os.getppid() == parent:  # noqa: ASYNC110 - no event says that the parent is gone
            await asyncio.sleep(1.0)
        os.kill(os.getpid(), signal.SIGTERM)

    watching = asyncio.get_running_loop().create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
