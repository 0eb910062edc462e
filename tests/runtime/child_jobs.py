"""Tasks for `test_pool.py`: child processes import this module by its name."""

import asyncio
import contextvars
import ctypes
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from tenure import BadArgument, Context, LeaseLost, Reject, Retry, SyncContext, Tenure

app = Tenure("memory://child-jobs")

mood: contextvars.ContextVar[str] = contextvars.ContextVar("mood", default="calm")


@app.task(runs_in="process")
def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b, "pid": os.getpid()}


@app.task(runs_in="process")
async def add_later(a: int, b: int) -> int:
    await asyncio.sleep(0.01)
    return a + b


@app.task(runs_in="process")
def who(ctx: SyncContext) -> list[Any]:
    main = threading.current_thread() is threading.main_thread()
    return [ctx.message.id, ctx.attempt, ctx.fence, ctx.state, ctx.deadline, main]


@app.task(runs_in="process", max_attempts=2)
def fail(text: str) -> None:
    raise ValueError(text)


@app.task(runs_in="process")
async def fail_later(text: str) -> None:
    await asyncio.sleep(0)
    raise ValueError(text)


@app.task(runs_in="process")
def fail_strangely() -> None:
    raise ValueError(os.fsdecode(b"caf\xe9") + "x" * 100_000)


@app.task(runs_in="process")
def reject() -> None:
    raise Reject("no such customer")


@app.task(runs_in="process")
def retry() -> None:
    raise Retry(after=7, reason="not yet")


@app.task(runs_in="process")
def leave(code: int) -> None:
    sys.exit(code)


@app.task(runs_in="process")
async def leave_later(code: int) -> None:
    sys.exit(code)


@app.task(runs_in="process")
def return_nonsense() -> object:
    return object()


@app.task(runs_in="process")
def return_much() -> str:
    return "x" * 2_000_000


def _much() -> str:
    return "x" * (65 * 1024 * 1024)


_large = Tenure("memory://child-jobs-large", settings=msgspec.structs.replace(app.settings, result_limit=2**28))
return_more_than_a_frame = _large.task(name="return_more_than_a_frame", runs_in="process")(_much)


@app.task(runs_in="process")
def exit_now(code: int) -> None:
    os._exit(code)


@app.task(runs_in="process")
def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(runs_in="process")
def segfault() -> None:
    ctypes.string_at(0)


@app.task(runs_in="process")
def fork_and_exit(path: str) -> None:
    pid = os.fork()
    if pid == 0:
        signal.pause()
    Path(path).write_text(str(pid), encoding="ascii")
    os._exit(7)


@app.task(runs_in="process")
def scribble() -> None:
    """Writes into every socket it finds, as broken code might."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"\xff" * 64)
        except OSError:
            continue
    signal.pause()


@app.task(runs_in="process")
def hang(path: str) -> None:
    """With a program of its own."""
    program = subprocess.Popen(["sleep", "600"])
    _write(path, f"{os.getpid()} {program.pid}")
    program.wait()


@app.task(runs_in="process")
def hold_the_gil(path: str, count: int) -> int:
    _write(path, str(os.getpid()))
    return sum(range(count))  # one call into C, which never lets go


@app.task(runs_in="process")
def meet(path: str, count: int) -> int:
    """Wait until `count` runs are in at the same time."""
    folder = Path(path)
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < count:
        threading.Event().wait(0.01)
    return os.getpid()


@app.task(runs_in="process")
async def wait_until_lost(ctx: Context) -> list[bool]:
    ctx.progress(0.5, "waiting")
    while not ctx.lease_lost:  # noqa: ASYNC110 - as handlers do
        await asyncio.sleep(0.01)
    return [ctx.lease_lost, ctx.stopping]


@app.task(runs_in="process")
def wait_until_stopping(ctx: SyncContext) -> list[bool]:
    ctx.progress(0.5, "waiting")
    while not ctx.stopping:
        threading.Event().wait(0.01)
    return [ctx.lease_lost, ctx.stopping]


@app.task(runs_in="process")
def use_context(ctx: SyncContext) -> list[Any]:
    before = ctx.last_checkpoint(list[int])
    ctx.touch(45.0)
    deadline = ctx.deadline
    ctx.checkpoint([1, 2, 3])
    for step in range(1000):
        ctx.progress(step / 1000, "on the way")
    ctx.progress(1.0, "there")
    first = ctx.submit(add.bind(1, 2), priority=9, delay=timedelta(minutes=1), headers={"a": "b"})
    second = ctx.submit(fail.bind("x"))
    return [before, deadline, first, second]


@app.task(runs_in="process")
def say_size(ctx: SyncContext) -> list[Any]:
    ctx.set_size(2.1e9)
    try:
        ctx.set_size(-1)
    except BadArgument:
        return [ctx.deadline, ctx.expected_end]
    return []


@app.task(runs_in="process")
async def use_context_later(ctx: Context) -> list[Any]:
    before = await ctx.last_checkpoint(list[int])
    await asyncio.gather(ctx.touch(45.0), ctx.checkpoint([4]))
    moment = datetime(1970, 1, 2, tzinfo=UTC)
    return [before, ctx.deadline, ctx.submit(add.bind(3, 4), key="k", at=moment, expires=moment + timedelta(days=1))]


@app.task(runs_in="process")
def be_refused(ctx: SyncContext) -> list[str]:
    said = []
    wrong: list[dict[str, Any]] = [
        {"priority": 77}, {"headers": {"a": object()}}, {"at": datetime(2040, 1, 1)}, {"at": "soon"},  # noqa: DTZ001
    ]  # fmt: skip
    for options in wrong:
        try:
            ctx.submit(add.bind(1, 2), **options)
        except BadArgument as error:
            said.append(str(error))
    try:
        ctx.touch()
    except LeaseLost as error:
        said.append(str(error))
    try:
        ctx.checkpoint("x")
    except RuntimeError as error:
        said.append(str(error))
    return said


@app.task(runs_in="process")
def pay_once(ctx: SyncContext, path: str) -> bool:
    connection = sqlite3.connect(path)
    try:
        with connection:
            return ctx.once(connection, "pay")
    finally:
        connection.close()


_go = threading.Event()
_left: list[threading.Thread] = []


@app.task(runs_in="process")
def leave_a_thread(ctx: SyncContext, path: str) -> None:
    def late() -> None:
        _go.wait()
        ctx.progress(0.9, "late")
        try:
            ctx.checkpoint("late")
        except LeaseLost:
            _write(path, f"refused, and lost: {ctx.lease_lost}")

    thread = threading.Thread(target=late)
    thread.start()
    _left.append(thread)


@app.task(runs_in="process")
def let_the_thread_go() -> None:
    _go.set()
    _left.pop().join()


@app.task(runs_in="process")
def change_mood() -> str:
    before = mood.get()
    mood.set("angry")
    return before


@app.task(runs_in="process")
async def change_mood_later() -> str:
    before = mood.get()
    mood.set("angry")
    return before


@app.task(runs_in="process")
def print_and_crash() -> None:
    print("about to crash")  # noqa: T201
    os._exit(1)


@app.task(runs_in="process")
def read_stdin() -> str:
    return sys.stdin.read()


@app.task(runs_in="process")
def environment() -> list[Any]:
    return [str(Path.cwd()), sys.path, sys.argv]


def _write(path: str, text: str) -> None:
    """All at once, so that a reader never sees half of it."""
    part = Path(path + ".part")
    part.write_text(text, encoding="ascii")
    part.rename(path)
