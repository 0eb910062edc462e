"""Processes that fork, as servers, daemons and handlers do. What they were told is stored, they write down.

An app for workers (`python -m tenure worker scenarios.forking:app`), and processes of its own:
`python -m scenarios.forking prefork` or `daemon`.
"""

import asyncio
import os
import signal
import sys
import time

from tenure import SyncContext, Tenure

from .tasks import LOOK_SECONDS, folder, register, traces

#: How long a child may take before it counts as hanging.
_HANGING_SECONDS = 60

#: In memory for the test itself, which only needs to know the tasks.
app = Tenure(os.environ.get("TENURE_URL", "memory://forking"))


def _tell(id: str) -> None:
    """That message was acknowledged."""
    with (folder() / "acknowledged").open("a") as file:
        file.write(f"{id}\n")


def _send(count: int) -> None:
    for _ in range(count):
        _tell(app.submit_sync("nap", {"seconds": 0.0}).id)


async def _send_async(count: int) -> None:
    async with app:
        for _ in range(count):
            _tell((await app.submit("nap", {"seconds": 0.0})).id)


def _wait_for(gate: str) -> None:
    while not (folder() / gate).exists():
        time.sleep(LOOK_SECONDS)


def _fork_child() -> int:
    """A child that is there when `fork` returns 0, and that cannot hang for ever."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(_HANGING_SECONDS)
    return pid


def hand_to_fork(ctx: SyncContext, count: int) -> dict[str, object]:
    """Have a forked child send messages, as a handler that uses a library with processes of its own may."""
    with traces().run(ctx) as run:
        pid = _fork_child()
        if pid == 0:
            refused = 1  # whatever happens, it must not go on as a second worker
            try:
                _send(count)
                refused = 0
            finally:
                os._exit(refused)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            msg = f"the child ended with {status}"
            raise ValueError(msg)
        traces().effect(ctx, run)
        return {"run": run, "fence": ctx.fence, "pid": os.getpid()}


def leave_a_fork(ctx: SyncContext) -> dict[str, object]:
    """At the first run, leave a forked child that outlives the worker, and do not end."""
    with traces().run(ctx) as run:
        if not (folder() / "left").exists():
            pid = _fork_child()
            if pid:
                (folder() / "left").write_text(str(pid))
            _wait_for("never")
        traces().effect(ctx, run)
        return {"run": run, "fence": ctx.fence, "pid": os.getpid()}


def register_forking(app: Tenure) -> None:
    """Make them tasks of `app`."""
    app.task(hand_to_fork)
    app.task(leave_a_fork)


register(app)
register_forking(app)


def prefork() -> None:
    """As a server does: the master has sent, its children send, and go on after it closed."""
    _send(1)
    pids = []
    for number in range(4):
        pid = _fork_child()
        if pid == 0:
            _send(5)
            (folder() / f"opened-{number}").touch()
            _wait_for("closed")
            asyncio.run(_send_async(20)) if number % 2 else _send(20)
            os._exit(0)
        pids.append(pid)
    for number in range(4):
        _wait_for(f"opened-{number}")
    app.close_sync()
    (folder() / "closed").touch()
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids))


def daemon() -> None:
    """The parent has sent, and ends; its child sends before and after somebody else opened and closed the file."""
    _send(1)
    if _fork_child():
        os._exit(0)
    _send(1)
    (folder() / "sending").touch()
    _wait_for("looked")
    _send(50)
    (folder() / "done").touch()


if __name__ == "__main__":
    {"prefork": prefork, "daemon": daemon}[sys.argv[1]]()
