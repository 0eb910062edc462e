"""`tenure`, in a process that stops itself (SIGSTOP) just before a statement of a test's choice.

The test writes parts of statements into the file `halt` in the scenario's folder, one a line. Once statements
of one transaction have contained them all, in this order, the last of these is not run: the file is taken away
and the process stops. So a freeze hits the very moment that a random one would have to be lucky to meet:
between check and move, or with the write lock held.

Run as `python -m scenarios.halting worker …`.
"""

import os
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

_connect = sqlite3.connect


class Watcher:
    """Looks at the statements of one connection."""

    def __init__(self) -> None:
        """Nothing was seen."""
        self._order = Path(os.environ["SCENARIO"]) / "halt"
        self._seen = 0

    def look(self, statement: str) -> None:
        """Called by SQLite before it runs `statement`."""
        if statement.startswith("BEGIN"):
            self._seen = 0
        try:
            wanted = self._order.read_text().splitlines()
        except FileNotFoundError:
            return
        if self._seen < len(wanted) and wanted[self._seen] in statement:
            self._seen += 1
            if self._seen == len(wanted):
                self._order.unlink()
                # To this very thread, so that it stops before it gets any further; the others stop with it.
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def connect(path: Any, *args: Any, **kwargs: Any) -> sqlite3.Connection:
    """As `sqlite3.connect`; on Tenure's own file with a watcher."""
    db: sqlite3.Connection = _connect(path, *args, **kwargs)
    if str(path).endswith("jobs.db"):
        db.set_trace_callback(Watcher().look)
    return db


if __name__ == "__main__":
    sqlite3.connect = connect  # type: ignore[assignment]
    from tenure.cli import main

    main()
