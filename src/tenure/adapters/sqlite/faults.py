"""Translates errors of SQLite, and of the file system, into Tenure's errors.

The only module that knows SQLite's result codes. Each sentence says what happened to the messages and what to do. Used
by `store.py`, `writer.py`, `reader.py`, `forking.py` and `presence.py`.
"""

import sqlite3

from tenure.errors import (
    BadURL,
    BrokerError,
    BrokerUnavailable,
    StoreDamaged,
    StoreMissing,
    StoreReplaced,
    StoreUnreadable,
    StoreUnwritable,
    TenureError,
)

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
UNWRITABLE = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT})
_PASSING = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL})


def primary_code(error: sqlite3.Error) -> int | None:
    """SQLite's result code without its extension; None: the error is Python's own."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process holds the lock, and waiting helps."""
    return primary_code(error) in _BUSY


def spoils_transaction(error: BaseException) -> bool:
    """Whether the trouble is the file's, so that nothing else of the same transaction may stand."""
    code = primary_code(error) if isinstance(error, sqlite3.Error) else None
    return code in _BUSY or code in UNWRITABLE or code in _DAMAGED or code in _PASSING


def translate(error: sqlite3.Error, path: str, *, at_commit: bool = False) -> TenureError:
    """Translate an error of SQLite into one of Tenure's. The transaction was rolled back."""
    code = primary_code(error)
    if code in _BUSY:
        return locked(path)
    if code == sqlite3.SQLITE_FULL:
        return BrokerUnavailable(
            f"there is no disk space left for the database {path}; nothing was written and every message is as it was. "
            "Free some space; the next call tries again"
        )
    if code in _PASSING:
        return _passing(error, path, at_commit=at_commit)
    if code in UNWRITABLE:
        return unwritable(path, str(error))
    if code in _DAMAGED:
        return StoreDamaged(
            f"{path} is not a sound Tenure database ({error}); nothing was written. "
            "Restore it from a backup, or move it aside to start with an empty one"
        )
    return BrokerError(f"SQLite refused the request on {path}: {error}; nothing was written")


def locked(path: str) -> BrokerUnavailable:
    """Another process keeps the write lock."""
    return BrokerUnavailable(
        f"the database {path} is locked by another process; nothing was written and every message is as it was. "
        "Try again; if it stays locked, look for a stopped or hanging process that has the file open"
    )


def closed(path: str) -> BrokerUnavailable:
    """The store was closed before, or while, the call waited for its turn."""
    return BrokerUnavailable(f"the store {path} is closed; nothing was written. Open it before using it")


def forked(path: str) -> BrokerError:
    """A child process tried to use its parent's store."""
    return BrokerError(
        f"the store {path} was opened before this process was forked; nothing was written. "
        "Connect and open it again in the child"
    )


def torn(path: str) -> BrokerError:
    """A child process that cannot use SQLite safely, and so must not."""
    return BrokerError(
        f"SQLite was in use when this process was forked, so {path} cannot be used here; nothing was written. "
        "Close the app, and whatever else uses SQLite, before forking; or start a new process instead (spawn)"
    )


def missing(path: str) -> StoreMissing:
    """A command wants to read a file that does not exist."""
    return StoreMissing(
        f"there is no database {path}; nothing was created. Check the path, or send a first message there"
    )


def replaced(path: str, what: str, *, committed: bool) -> StoreReplaced:
    """The path does not name the file any more that this process has open. `what`: how that looks."""
    became = "what this call wrote is in files that are no longer at this path" if committed else "nothing was written"
    return StoreReplaced(
        f"the database {path} {what} while this process had it open; {became}. Stop every process that uses it, see "
        "that the right file is there, without the -wal and -shm of another one beside it, start them again, and "
        "repeat what failed"
    )


def unwritable(path: str, why: str) -> StoreUnwritable:
    """The file or its folder cannot be created or written."""
    return StoreUnwritable(
        f"{path} cannot be created or written ({why}); nothing was written. "
        "Check that the folder exists and that this user may write to the file and its folder"
    )


def read_only(path: str) -> StoreUnwritable:
    """Something must be written to a database that was opened for reading alone."""
    return StoreUnwritable(
        f"this user may read the database {path} but not write it or its folder; nothing was written. "
        "Do this as a user who may write both, or change their permissions and open it again"
    )


def not_upgraded(path: str) -> StoreUnwritable:
    """The database is of an older schema, and this user may not write it."""
    return StoreUnwritable(
        f"{path} was written by an older Tenure and must be upgraded before it can be read, and this user may not "
        "write it; it was not changed. Open it once as a user who may write the file and its folder"
    )


def restless(path: str) -> BrokerUnavailable:
    """A database that may only be read was written again and again while it was read."""
    return BrokerUnavailable(f"the database {path} was changed during every read; this call changed nothing. Try again")


def unreadable(path: str, why: str) -> StoreUnreadable:
    """The file is there, or may be, but this user may not read it."""
    return StoreUnreadable(
        f"{path} cannot be read ({why}); nothing was written. "
        "Check that this user may enter its folder and read the file, or do this as a user who may"
    )


def directory(path: str) -> BadURL:
    """The path names a directory."""
    return BadURL(f"{path} is a directory, not a file; nothing was opened. Name a file in it: sqlite:///{path}/jobs.db")


def _passing(error: sqlite3.Error, path: str, *, at_commit: bool) -> BrokerUnavailable:
    # The pages may have reached the disk although the confirmation failed. They are void for everybody who
    # has the file open, but if all of them die before the next write, SQLite's recovery may still find them.
    unknown = at_commit and getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_FSYNC
    what = "it is not certain that nothing was written" if unknown else "nothing was written"
    return BrokerUnavailable(
        f"the database {path} could not be read or written ({error}); {what}. "
        "Check the disk and its free space; the next call tries again",
        outcome_unknown=unknown,
    )
