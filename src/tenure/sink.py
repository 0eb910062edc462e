"""The sink port: where events go besides the journal. Must not block and must not raise."""

from collections.abc import Sequence
from typing import Protocol

from tenure.event import Event


class Sink(Protocol):
    """Takes facts as they happen, in batches."""

    def publish(self, events: Sequence[Event]) -> None:
        """Take note of events."""
        ...
