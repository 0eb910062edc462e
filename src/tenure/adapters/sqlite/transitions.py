"""Moving: messages leave the state `leased`, any number at once, with all that belongs to it.

Where a message goes and why is decided by `settling.py` and `returning.py`, one by one; it is carried out here,
in a few statements for the whole batch.
"""

from collections.abc import Sequence
from functools import cache

import msgspec

from tenure.adapters.sqlite import message_notes
from tenure.adapters.sqlite.claim_release import free_keys, release_claims
from tenure.adapters.sqlite.placeholders import pieces, placeholders
from tenure.adapters.sqlite.receipt import LeasedRow
from tenure.adapters.sqlite.states import DEAD, DELAYED, LASTING, NOTED, READY
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.record import Ending
from tenure.verdict import Reason

_encode = msgspec.json.Encoder().encode


class Move(msgspec.Struct):
    """One message that goes back to its queue, or to the dead letters."""

    held: LeasedRow
    is_dead: bool = False
    delay_seconds: float = 0.0
    #: The increase of each counter.
    attempts: int = 0
    crashes: int = 0
    lost: int = 0
    #: Why the attempt failed, or why it is dead. None: what stood there stays.
    reason: Reason | None = None
    endings: tuple[Ending, ...] = ()


def move(tx: WriteTransaction, moves: Sequence[Move]) -> None:
    """Carry out all moves. None of the messages may be there twice."""
    for piece in pieces(moves):
        tx.db.execute(_update(len(piece)), [value for one in piece for value in _values(tx, one)])
    message_notes.remember(tx, [(one.held.seq, one.endings) for one in moves if one.endings])
    # Others may run what went back; what is dead leaves its key to others.
    release_claims(tx, [one.held.id for one in moves if not one.is_dead])
    free_keys(tx, [one.held.id for one in moves if one.is_dead])
    tx.stirred.update(one.held.queue for one in moves if not one.is_dead)


def _values(tx: WriteTransaction, one: Move) -> tuple[object, ...]:
    delayed = one.delay_seconds > 0 and not one.is_dead
    return (
        one.held.seq,
        DEAD if one.is_dead else DELAYED if delayed else READY,
        tx.now + micros(one.delay_seconds) if delayed else tx.now,
        tx.wall if one.is_dead else None,
        one.attempts,
        one.crashes,
        one.lost,
        None if one.reason is None else _encode(one.reason),
        NOTED if one.endings else 0,
    )


@cache
def _update(count: int) -> str:
    return (
        "UPDATE message SET attempts = attempts + entry.column5, crashes = crashes + entry.column6,"
        " lost = lost + entry.column7, state = entry.column2, moment = entry.column3, finished_at = entry.column4,"
        f" reason = coalesce(entry.column8, reason), extras = (extras | entry.column9) & {LASTING}"
        f" FROM (VALUES {placeholders(9, count)}) AS entry WHERE seq = entry.column1"
    )
