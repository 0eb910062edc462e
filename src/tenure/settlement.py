"""A settlement: how an ack, nack, give-back or dead-lettering really ended.

A 200 is no proof on every broker, so an outcome claims no more than is known: `unknown` where the result cannot be
known, never "success".
"""

from enum import StrEnum

import msgspec

from tenure.claim import Token
from tenure.lease import Lease
from tenure.message import Message, Outgoing
from tenure.verdict import Reason


class Outcome(StrEnum):
    """The ways a settle can end."""

    #: Ours, and gone for good.
    DELETED = "deleted"
    #: Ours, and back in its queue.
    RETURNED = "returned"
    #: Ours, and now with the dead letters.
    DEAD = "dead"
    #: Nothing was changed: the message is not leased any more.
    ALREADY_GONE = "already_gone"
    #: Nothing was changed: another holder has it.
    TAKEN_OVER = "taken_over"
    #: No reliable answer; the next delivery of the message shows it.
    UNKNOWN = "unknown"


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """The outcome for one lease, and what it took."""

    outcome: Outcome
    attempts: int = 1
    seconds: float = 0.0

    @property
    def took_effect(self) -> bool:
        """Whether the message is now where we wanted it."""
        return self.outcome in _EFFECTIVE


#: A tuple, the usual one first: hashing a member of an enum takes longer than to compare it.
_EFFECTIVE = (Outcome.DELETED, Outcome.RETURNED, Outcome.DEAD)


class Ack(msgspec.Struct, frozen=True, gc=False):
    """Done: delete it. Where the broker settles exactly once, result and hand-offs commit with it."""

    lease: Lease
    result: bytes = b""
    handoffs: tuple[Outgoing, ...] = ()
    duration_seconds: float | None = None
    #: What a message that we did not send was read as; its bytes do not say it.
    routed: Message | None = None
    #: The work was done by an earlier run: this end is not announced.
    is_duplicate: bool = False
    #: The claim that ends with it, where the broker does so (`BrokerTraits.acks_claims`).
    claim: Token | None = None


class Nack(msgspec.Struct, frozen=True, gc=False):
    """Failed: count an attempt, and make it ready again after a delay."""

    lease: Lease
    delay_seconds: float
    reason: Reason


class GiveBack(msgspec.Struct, frozen=True, gc=False):
    """Not run: make it ready again after a delay, counting nothing. A reason is kept in its history."""

    lease: Lease
    delay_seconds: float = 0.0
    reason: Reason | None = None


class DeadLetter(msgspec.Struct, frozen=True, gc=False):
    """Give up: keep it aside with its raw bytes and the reason."""

    lease: Lease
    reason: Reason
    #: Whether this end used an attempt.
    counted: bool = False
