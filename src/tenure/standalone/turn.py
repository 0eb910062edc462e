"""The record and the turn of a message. Made and read by `deduplicating.py`."""

from enum import StrEnum
from typing import Literal

import msgspec

from tenure.clock import SYSTEM_CLOCK

#: How long a process remembers by itself.
CACHE_SECONDS = 3600.0


class DeduplicationRecord(msgspec.Struct, frozen=True):
    """The stored record of a message."""

    message_id: str
    correlation_id: str
    #: Unix seconds: when it was done, or claimed.
    timestamp: float
    ttl_seconds: float = CACHE_SECONDS
    payload_hash: str | None = None
    status: Literal["processed", "running"] = "processed"
    #: Of a claim: whose it is.
    token: str = ""
    container: str = ""

    @property
    def log_fields(self) -> dict[str, str | None]:
        """The names of its message, as fields of a log record."""
        return {
            "message_id": self.message_id,
            "correlation_id": self.correlation_id or None,
            "payload_hash": self.payload_hash,
            "container": self.container,
        }

    def is_expired(self, now: float | None = None) -> bool:
        """Whether its time is over, by now or by a moment in Unix seconds."""
        return (SYSTEM_CLOCK.wall() if now is None else now) - self.timestamp > self.ttl_seconds


class TurnState(StrEnum):
    """The states of a turn."""

    #: Ours: it was not done yet, and no other worker does it.
    FIRST = "first"
    #: Another worker does it right now.
    RUNNING = "running"
    #: It was done.
    DONE = "done"


class Turn:
    """The answer of `once` about a message."""

    def __init__(self, state: TurnState, record: DeduplicationRecord, tag: str | None = None) -> None:
        """`record` is ours where it is our turn, else the one that stands in the way."""
        self.state = state
        self.record = record
        self._tag = tag

    @property
    def is_first(self) -> bool:
        """The turn is ours: process the message."""
        return self.state is TurnState.FIRST

    @property
    def is_done(self) -> bool:
        """The message is done: delete it."""
        return self.state is TurnState.DONE

    @property
    def is_running(self) -> bool:
        """Another worker does it: leave the message, it comes back."""
        return self.state is TurnState.RUNNING
