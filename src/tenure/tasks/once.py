"""One effect: a row in the user's own database, written in the transaction of the effect itself.

The row and the effect commit together or not at all, so a run that is repeated (a crash after the
effect, a worker that was frozen past its lease) finds the row and skips the effect. No distributed
transaction, no promise from the broker is needed for that.

The row is about one send (`rules/send_id.py`) in one generation. While the store remembers an id or a key (by default
for 7 days after the message has ended), a repeated send runs nothing. After that the same id or key is a new send: it
runs, and has its effect. Rows written by a Tenure that did not name the send count for every send of their id or key.

Used through `ctx.once(tx)`. Works with SQLite (3.24+), PostgreSQL and whatever speaks
`INSERT … ON CONFLICT DO NOTHING`.
"""

import hashlib
import re
from typing import Any, Protocol

import msgspec

from tenure.errors import BadArgument
from tenure.message import Message

TABLE = "tenure_once"

_CREATE = (
    f"CREATE TABLE IF NOT EXISTS {TABLE} "
    "(effect CHAR(64) PRIMARY KEY, message_id VARCHAR(255) NOT NULL, fence BIGINT NOT NULL)"
)


_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_.:/-]")
#: Of a message's id, so much is shown in its row: the column has 255 characters, and the moment of the send follows.
_SHOWN = 200


class OnceKey(msgspec.Struct, frozen=True):
    """Names one effect of one send of a message, in one generation."""

    effect: str
    message_id: str
    fence: int
    #: When it was sent, as text for people. Empty: not known.
    sent_at: str = ""
    #: How a Tenure that did not name the send called the effect. Empty: the same.
    older: str = ""

    @classmethod
    def of(cls, message: Message, effect: str, fence: int, send_id: str = "") -> "OnceKey":
        """Named by the key where there is one, so that a second message under the same key counts as the same."""
        name = f"id:{message.id}" if message.key is None else f"key:{message.key}"
        parts = (message.queue, message.task, name, str(message.generation), effect)
        older = _digest(*parts)
        if not send_id:
            return cls(older, message.id, fence)
        return cls(_digest(*parts, send_id), message.id, fence, send_id.rpartition("@")[2], older)


class Transaction(Protocol):
    """A DB-API connection or cursor with an open (or implicit) transaction."""

    def execute(self, sql: str, /) -> Any:
        """Run one statement."""
        ...


class AsyncTransaction(Protocol):
    """A connection whose `execute` is awaited."""

    async def execute(self, sql: str, /) -> Any:
        """Run one statement."""
        ...


def insert_once(tx: Transaction, key: OnceKey) -> bool:
    """Insert the row; False if it was there. Raises `BadArgument` where it would commit by itself."""
    _refuse_autocommit(tx)
    tx.execute(_CREATE)
    return _count(tx.execute(_insert(key)), tx) == 1


async def insert_once_async(tx: AsyncTransaction, key: OnceKey) -> bool:
    """As `insert_once`, awaited."""
    _refuse_autocommit(tx)
    await tx.execute(_CREATE)
    return _count(await tx.execute(_insert(key)), tx) == 1


def _refuse_autocommit(tx: Any) -> None:
    """Refuse a connection in autocommit: the row would be committed before the effect, and a crash between loses it.

    Checks the attributes of drivers; a driver without them is believed.
    """
    if not callable(getattr(tx, "execute", None)):
        msg = f"once takes an open connection or cursor of your database, not {tx!r}; the effect was not started"
        raise BadArgument(msg)
    connection = getattr(tx, "connection", None) or getattr(tx, "_conn", None) or tx
    if _is_in_transaction(connection) is False and _commits_alone(connection):
        msg = (
            "once needs an open transaction, and this connection commits every statement by itself: the row would be "
            "there without the effect. Begin one first (BEGIN, atomic(), connection.transaction()); "
            "the effect was not started"
        )
        raise BadArgument(msg)


def _is_in_transaction(connection: Any) -> bool | None:
    """Whether a transaction is open. None: the driver does not say."""
    told = getattr(connection, "in_transaction", None)  # sqlite3, aiosqlite
    if told is None:
        told = getattr(connection, "is_in_transaction", None)  # asyncpg
        told = told() if callable(told) else told
    if told is None and hasattr(connection, "info"):  # psycopg: 0 is idle
        status = getattr(connection.info, "transaction_status", None)
        told = None if status is None else int(status) != 0
    return told if isinstance(told, bool) else None


def _commits_alone(connection: Any) -> bool:
    """Whether a statement outside a transaction is committed at once, rather than opening one."""
    if hasattr(connection, "is_in_transaction"):  # asyncpg never opens one by itself
        return True
    autocommit = getattr(connection, "autocommit", None)
    if isinstance(autocommit, bool):
        return autocommit
    # sqlite3, as of old: None means that nothing is begun for us.
    return hasattr(connection, "isolation_level") and connection.isolation_level is None


def _insert(key: OnceKey) -> str:
    # Drivers disagree about placeholders (?, %s, $1), so there are none: `effect` is a hex digest, `fence` a
    # number, and of the id, which a sender may choose, only plain characters get here. It is for people anyway.
    message_id = _NOT_PLAIN.sub("?", key.message_id)[:_SHOWN]
    if key.sent_at:
        message_id += f"@{_NOT_PLAIN.sub('?', key.sent_at)}"
    values = f"'{key.effect}', '{message_id}', {key.fence:d}"
    into = f"INSERT INTO {TABLE} (effect, message_id, fence)"
    if not key.older:
        return f"{into} VALUES ({values}) ON CONFLICT DO NOTHING"
    # A message that an older Tenure ran, and that is run again after an upgrade, must find that row too.
    ran_before = f"EXISTS (SELECT 1 FROM {TABLE} WHERE effect = '{key.older}')"  # noqa: S608
    return f"{into} SELECT {values} WHERE NOT {ran_before} ON CONFLICT DO NOTHING"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def _count(answer: Any, tx: Any) -> int:
    """Rows inserted: a cursor's rowcount, or asyncpg's status word `INSERT 0 1`."""
    if isinstance(answer, str):
        return int(answer.rsplit(" ", 1)[-1])
    rowcount = getattr(answer, "rowcount", None)
    return int(tx.rowcount if rowcount is None else rowcount)
