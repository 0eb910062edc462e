"""Tenure on SQLite: broker and state in one file, with nothing to install.

For any number of processes on one machine, on a local disk. `connect` makes both sides over one shared store;
nothing is opened before their `open`. Used by `assembly.py`.
"""

from pathlib import Path
from typing import Literal

from tenure.adapters.sqlite.broker import SqliteBroker
from tenure.adapters.sqlite.options import SqliteOptions, read_options
from tenure.adapters.sqlite.state import SqliteState
from tenure.adapters.sqlite.store import SqliteStore
from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.errors import BadURL

__all__ = ["SqliteBroker", "SqliteState", "connect", "read_options"]


def connect(
    path: str,
    *,
    clock: Clock = SYSTEM_CLOCK,
    synchronous: Literal["full", "normal"] = "full",
    busy_seconds: float = 10.0,
    keep_seconds: float = 7 * 86400,
    body_limit: int = 1 << 20,
    must_exist: bool = False,
) -> tuple[SqliteBroker, SqliteState]:
    """Broker and state over the file at `path`."""
    if not path or path == ":memory:" or path.startswith("file:"):
        msg = f"{path!r} is not the path of a file; nothing was opened. For a broker in memory use memory://"
        raise BadURL(msg)
    # The lock files are beside the file: all processes must agree where that is, whatever links lead there.
    options = SqliteOptions(
        path=str(Path(path).resolve()),
        synchronous=synchronous,
        busy_seconds=busy_seconds,
        keep_seconds=keep_seconds,
        must_exist=must_exist,
    )
    store = SqliteStore(options, clock)
    return SqliteBroker(store, body_limit), SqliteState(store)
