"""`tenure submit --wait`: the message's id at once, what it is doing while one looks, and its result.

Nothing here changes the message: Ctrl-C ends the waiting only.
"""

import asyncio
import contextlib
import sys
import textwrap
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from tenure.app import Tenure
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import console, say_line, say_lines
from tenure.cli.terminal.plain import one_line
from tenure.cli.terminal.queue_words import is_served, since
from tenure.client.operations.naming import paused
from tenure.errors import TaskFailed
from tenure.message import MessageState
from tenure.notice import Pause
from tenure.record import Record
from tenure.tasks.handle import Handle
from tenure.url_options import safe_url

_LOOK_SECONDS = 0.5


class Waited(msgspec.Struct, frozen=True):
    """The sent message, and its result as JSON where the command waited for it."""

    id: str
    duplicate: bool
    result: bytes | None = None


async def wait(app: Tenure, handle: Handle[Any], seconds: float, *, target: str | None, quiet: bool) -> Waited:
    """The result; raises as `Handle.result` does. Interrupted, it says that the message goes on."""
    try:
        return await _wait(app, handle, seconds, quiet=quiet)
    except asyncio.CancelledError:
        if not quiet:
            look = " ".join(["tenure show", *([safe_url(target)] if target else []), handle.id])
            say_line(f"Stopped waiting. The message goes on. To look at it: {look}", err=True)
        raise


async def _wait(app: Tenure, handle: Handle[Any], seconds: float, *, quiet: bool) -> Waited:
    if not quiet:
        say_line(f"sent {handle.id}{' (before: nothing new was stored)' if handle.duplicate else ''}", err=True)
    record = await handle.status()
    if not (quiet or record.is_finished):
        await _say_why_it_waits(app, record)
    async with _watching(handle, quiet=quiet):
        result = await app.handle(handle.id).result(None if seconds == float("inf") else seconds)
    return Waited(handle.id, handle.duplicate, msgspec.json.encode(result))


async def _say_why_it_waits(app: Tenure, record: Record) -> None:
    pause = await _pause_of(app, record.queue)
    if pause is not None:
        stopped = f"queue {record.queue} is paused {since(pause, app.clock.wall())}"
        say_line(f"{stopped}: it waits until the queue is resumed (tenure resume)", err=True)
    elif not await is_served(app, record.queue):
        say_line(f"no worker serves queue {record.queue} at the moment: it waits for one", err=True)


async def _pause_of(app: Tenure, queue: str) -> Pause | None:
    return next((pause for pause in await paused(app.operate.access) if pause.queue == queue), None)


def say_failure(error: TaskFailed) -> None:
    """The worker's traceback, above the line that says what failed."""
    if error.remote_traceback:
        say_lines(f"in the worker:\n{textwrap.indent(error.remote_traceback.rstrip(), '  ')}", err=True)


@contextlib.asynccontextmanager
async def _watching(handle: Handle[Any], *, quiet: bool) -> AsyncIterator[None]:
    """Show on a terminal what the message is doing."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.status import Status

    with Status("waiting", console=console(err=True)) as status:
        watcher = asyncio.get_running_loop().create_task(_watch(handle, status))
        try:
            yield
        finally:
            watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watcher


async def _watch(handle: Handle[Any], status: Any) -> None:
    from rich.text import Text

    while True:
        status.update(Text(one_line(doing(await handle.status()))))
        await asyncio.sleep(_LOOK_SECONDS)


def doing(record: Record) -> str:
    """Say in a few words what a message does now."""
    match record.state:
        case MessageState.LEASED:
            progress = record.progress
            far = "" if progress is None or progress.fraction is None else f", {progress.fraction:.0%}"
            note = "" if progress is None or not progress.note else f", {progress.note}"
            return f"attempt {record.attempt} on {record.owner or 'a worker'}{far}{note}"
        case MessageState.DELAYED:
            why = "" if record.reason is None else f" ({record.reason.code})"
            return f"due in {spoken(record.due_in)}{why}"
    return f"{record.state}"
