"""The tasks that scenarios run. Each logs its runs, does its effect through `ctx.once`, and tells who it was.

They find the scenario's folder in the environment variable `SCENARIO`. Registered by `served.py` in the
workers and by `stage.py` in the test, which only submits.
"""

import asyncio
import ctypes
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

from tenure import Context, Snooze, SyncContext, Tenure

from .traces import Traces

#: What a completed message answers: which run it was.
Answer = dict[str, Any]

#: How often a gate is looked at, and how often a process says that it lives.
LOOK_SECONDS = 0.02


def folder() -> Path:
    """Where the scenario takes place."""
    return Path(os.environ["SCENARIO"])


def traces() -> Traces:
    """Where to leave traces."""
    return Traces(folder())


def _answer(ctx: Context | SyncContext, run: str) -> Answer:
    return {"run": run, "fence": ctx.fence, "pid": os.getpid()}


def _is_open(gate: str) -> bool:
    return not gate or (folder() / gate).exists()


async def nap(ctx: Context, seconds: float) -> Answer:
    """Sleep in the loop."""
    with traces().run(ctx) as run:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(traces().effect, ctx, run)
        return _answer(ctx, run)


def nap_in_thread(ctx: SyncContext, seconds: float) -> Answer:
    """Sleep in a thread."""
    with traces().run(ctx) as run:
        time.sleep(seconds)
        traces().effect(ctx, run)
        return _answer(ctx, run)


def nap_in_process(ctx: SyncContext, seconds: float, gate: str = "") -> Answer:
    """Sleep in a child process, with signs of life, and then until the gate is open."""
    with traces().run(ctx) as run:
        for _ in range(round(seconds / LOOK_SECONDS)):
            time.sleep(LOOK_SECONDS)
            traces().write(ctx, run, "alive")
        while not _is_open(gate):
            time.sleep(LOOK_SECONDS)
            traces().write(ctx, run, "alive")
        traces().effect(ctx, run)
        return _answer(ctx, run)


async def pass_gate(ctx: Context, gate: str, padding: str = "") -> Answer:
    """Wait until the gate is open. `padding` only makes the message large."""
    with traces().run(ctx) as run:
        while not _is_open(gate):  # noqa: ASYNC110 - a file, opened by another process
            await asyncio.sleep(LOOK_SECONDS)
        await asyncio.to_thread(traces().effect, ctx, run)
        return _answer(ctx, run)


def pass_gate_in_thread(ctx: SyncContext, gate: str) -> Answer:
    """Wait in a thread until the gate is open."""
    with traces().run(ctx) as run:
        while not _is_open(gate):
            time.sleep(LOOK_SECONDS)
        traces().effect(ctx, run)
        return _answer(ctx, run)


async def pass_gate_after_effect(ctx: Context, gate: str) -> Answer:
    """Do the effect, and only then wait until the gate is open: what happens then happens before the settle."""
    with traces().run(ctx) as run:
        await asyncio.to_thread(traces().effect, ctx, run)
        while not _is_open(gate):  # noqa: ASYNC110 - a file, opened by another process
            await asyncio.sleep(LOOK_SECONDS)
        return _answer(ctx, run)


async def block_loop(ctx: Context, seconds: float) -> Answer:
    """Keep the event loop to itself, as no async function should."""
    with traces().run(ctx) as run:
        time.sleep(seconds)  # noqa: ASYNC251 - the very mistake under test
        await asyncio.to_thread(traces().effect, ctx, run)
        return _answer(ctx, run)


def hold_gil(ctx: SyncContext, seconds: int, gate: str = "", later: str = "") -> Answer:
    """Keep the interpreter to itself, as some C extensions do.

    Not any more once the gate is open: then wait for the gate `later`, if there is one, and let others work.
    """
    with traces().run(ctx) as run:
        if not gate or not _is_open(gate):
            ctypes.PyDLL(None).sleep(seconds)
        else:
            while not _is_open(later):
                time.sleep(LOOK_SECONDS)
        traces().effect(ctx, run)
        return _answer(ctx, run)


def match_badly(ctx: SyncContext) -> Answer:
    """A regular expression that backtracks for longer than any test: it holds the GIL in C, and is no sleep."""
    with traces().run(ctx):
        time.sleep(1.0)  # its worker is at rest then: in the middle of a transaction it would keep SQLite's lock
        re.match(r"(a+)+$", "a" * 50 + "b")
        return {}


async def crash_twice(ctx: Context, gate: str) -> Answer:
    """Take two workers down, then wait until the gate is open: by then it runs alone."""
    with traces().run(ctx) as run:
        kills = folder() / "kills"
        if not kills.exists() or kills.stat().st_size < 2:
            with kills.open("a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        while not _is_open(gate):  # noqa: ASYNC110 - a file, opened by another process
            await asyncio.sleep(LOOK_SECONDS)
        return _answer(ctx, run)


async def fail(ctx: Context) -> Answer:
    """Fail for ever."""
    with traces().run(ctx):
        msg = "this task always fails"
        raise ValueError(msg)


async def kill_worker(ctx: Context, seconds: float) -> Answer:
    """Take the whole process down, as a segmentation fault or the kernel's memory killer would."""
    with traces().run(ctx):
        await asyncio.sleep(seconds)
        with (folder() / "kills").open("a") as kills:
            kills.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
        return {}


async def stand_by(ctx: Context, seconds: float) -> Answer:
    """Be there when `kill_worker` kills for the first and the second time; from then on be quick."""
    with traces().run(ctx) as run:
        kills = folder() / "kills"
        if not kills.exists() or kills.stat().st_size < 2:
            await asyncio.sleep(seconds)
        await asyncio.to_thread(traces().effect, ctx, run)
        return _answer(ctx, run)


async def turn_pages(ctx: Context, gate: str) -> Answer:
    """Count pages until the gate is open. A worker that stops gets a checkpoint and a snooze, as the docs advise."""
    page = await ctx.last_checkpoint(int) or 0
    with traces().run(ctx) as run:
        begun_at = page
        while not _is_open(gate):
            page += 1
            await asyncio.sleep(LOOK_SECONDS)
            if ctx.stopping:
                await ctx.checkpoint(page)
                raise Snooze(reason=f"stopped at page {page}")
        await asyncio.to_thread(traces().effect, ctx, run)
        return _answer(ctx, run) | {"attempt": ctx.attempt, "begun_at": begun_at}


async def keep_pages(ctx: Context, gate: str) -> Answer:
    """Write a checkpoint and the progress again and again until the gate is open."""
    with traces().run(ctx) as run:
        page = 0
        while not _is_open(gate):
            page += 1
            await ctx.checkpoint(page)
            ctx.progress(0.5, f"page {page}")
            await asyncio.sleep(LOOK_SECONDS)
        assert await ctx.last_checkpoint(int) == page
        await asyncio.to_thread(traces().effect, ctx, run)
        return _answer(ctx, run)


def keep_pages_elsewhere(ctx: SyncContext, gate: str) -> Answer:
    """The same, in a thread or in a child process."""
    with traces().run(ctx) as run:
        page = 0
        while not _is_open(gate):
            page += 1
            ctx.checkpoint(page)
            ctx.progress(0.5, f"page {page}")
            time.sleep(LOOK_SECONDS)
        assert ctx.last_checkpoint(int) == page
        traces().effect(ctx, run)
        return _answer(ctx, run)


def hang_in_process(ctx: SyncContext) -> Answer:
    """Never end, and show it."""
    with traces().run(ctx) as run:
        while True:
            time.sleep(LOOK_SECONDS)
            traces().write(ctx, run, "alive")


def register(app: Tenure) -> None:
    """Make them tasks of `app`."""
    app.task(nap)
    app.task(nap_in_thread)
    app.task(runs_in="process")(nap_in_process)
    app.task(pass_gate)
    app.task(pass_gate_in_thread)
    app.task(pass_gate_after_effect)
    app.task(block_loop)
    app.task(hold_gil)
    app.task(name="hold_gil_in_process", runs_in="process")(hold_gil)
    app.task(runs_in="process")(match_badly)
    app.task(name="match_badly_in_thread")(match_badly)
    app.task(crash_twice)
    app.task(max_attempts=3, retry_delay=0.05)(fail)
    app.task(kill_worker)
    app.task(stand_by)
    app.task(max_attempts=3)(turn_pages)
    app.task(max_attempts=1)(keep_pages)
    app.task(name="keep_pages_in_thread", max_attempts=1)(keep_pages_elsewhere)
    app.task(name="keep_pages_in_process", runs_in="process", max_attempts=1)(keep_pages_elsewhere)
    app.task(runs_in="process", max_hold=2.0, max_attempts=1)(hang_in_process)
