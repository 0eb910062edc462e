"""`tenure`, in a process that stops itself (SIGSTOP) just before a statement of a test's choice.

The test writes a part of the statement's text into the file `halt` in the scenario's folder; the first
statement that contains it takes the file away and stops the process. So a freeze hits the very moment that
a random one would have to be lucky to meet: between check and move, or with the write lock held.

Run as `python -m scenarios.halting worker …`.
"""

import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

_connect = sqlite3.connect


def connect(path: Any, *args: Any, **kwargs: Any) -> sqlite3.Connection:
    """As `sqlite3.connect`; on Tenure's own file with an eye on each statement."""
    db = _connect(path, *args, **kwargs)
    if str(path).endswith("jobs.db"):
        db.set_trace_callback(_halt_at)
    return db


def _halt_at(statement: str) -> None:
    order = Path(os.environ["SCENARIO"]) / "halt"
    try:
        wanted = order.read_text()
    except FileNotFoundError:
        return
    if wanted and wanted in statement:
        order.unlink()
        os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    sqlite3.connect = connect
    from tenure.cli import main

    main()
