"""What the handlers of every peer do, and how its program is asked. Standard library only: it runs in each environment.

    python app.py fill COUNT          send COUNT messages that do nothing, as fast as the peer can
    python app.py send                send the messages on standard input: a JSON list of [id, kind, seconds]
    python app.py malform             put entries into the queue that the peer cannot read

Workers are started by the peer's own command. Handlers append lines of JSON to the file PROOF_TRACE, each in one write,
so that lines of many processes never mix. The driver reads it (`trace.py`).
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable

#: `fast`: the configuration for the speed table; `safe`: for the table of faults.
MODE = os.environ.get("PROOF_MODE", "fast")
IS_SAFE = MODE == "safe"
PORT = int(os.environ.get("PROOF_PORT", "6379"))
URL = f"redis://127.0.0.1:{PORT}/0"
#: How many messages a process may run at a time.
SLOTS = int(os.environ.get("PROOF_SLOTS", "100"))
#: Seconds after which a peer may take back what a worker holds: its lease, visibility timeout or idle time.
LEASE = float(os.environ.get("PROOF_LEASE", "5"))
#: Every so many no-ops a process says how many it has done, and when it last did so long ago: seconds.
STEP = 50
_PAUSE = 0.05
#: Seconds of one step of a handler.
_PIECE = 0.1

#: Where a peer on a file keeps it.
FOLDER = os.environ.get("PROOF_FOLDER", ".")

_TRACE = os.environ.get("PROOF_TRACE", os.devnull)
_file = -1
_done = 0
_told = 0.0


def _write(**line: object) -> None:
    global _file  # noqa: PLW0603 - one file for the life of the process
    if _file < 0:
        _file = os.open(_TRACE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    os.write(_file, json.dumps(line).encode() + b"\n")


def noop() -> None:
    """Do nothing, and count it."""
    global _done, _told  # noqa: PLW0603 - likewise
    _done += 1
    now = time.monotonic()
    if _done % STEP == 1 or now > _told + _PAUSE:
        _told = now
        _write(pid=os.getpid(), done=_done, at=now)


def _line(kind: str, id: str, run: str) -> None:
    _write(kind=kind, id=id, run=run, pid=os.getpid(), session=os.getsid(0), at=time.monotonic())


def _start(id: str, kind: str) -> str:
    run = os.urandom(8).hex()
    _line("start", id, run)
    if kind == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    return run


def _pieces(seconds: float) -> list[float]:
    """As real work is done in steps: a handler that is to be cancelled can be so between two of them."""
    return [_PIECE] * round(seconds / _PIECE)


def effect(id: str) -> None:
    """Note the effect of a message, where a contender can keep it from being done twice. Else the end is the effect."""
    _line("effect", id, "")


def work(id: str, kind: str, seconds: float) -> None:
    """Take its time, piece by piece, or kill the process that runs it."""
    run = _start(id, kind)
    try:
        for piece in _pieces(seconds):
            time.sleep(piece)
    except BaseException:
        _line("stop", id, run)
        raise
    _line("end", id, run)


async def work_async(id: str, kind: str, seconds: float) -> None:
    """Likewise, on an event loop."""
    run = _start(id, kind)
    try:
        for piece in _pieces(seconds):
            await asyncio.sleep(piece)
    except BaseException:
        _line("stop", id, run)
        raise
    _line("end", id, run)


def answer(
    fill: Callable[[int], object],
    send: Callable[[list[tuple[str, str, float]]], object],
    malform: Callable[[], object],
) -> None:
    """Do what the driver asks for, and say how long it took."""
    asked = sys.argv[1]
    messages = [(id, kind, seconds) for id, kind, seconds in json.load(sys.stdin)] if asked == "send" else []
    began = time.perf_counter()
    if asked == "fill":
        fill(int(sys.argv[2]))
    elif asked == "send":
        send(messages)
    else:
        malform()
    print(json.dumps({"seconds": time.perf_counter() - began}))
