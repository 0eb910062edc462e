"""Leased here: what this process lent to clients and was not settled yet, as far as it fits into memory.

It saves a look-up for each message where the broker checks owner and fence by itself. What is not here any more, or was
lent by another server, is looked up by its name (`lookup.py`): nothing depends on this memory.
"""

from tenure.server.consumers.remote_delivery import RemoteDelivery

#: This many bytes of messages are kept, with so many counted for each message besides its envelope.
_MOST_BYTES = 64 * 1024 * 1024
_EACH_BYTES = 2_048

Place = tuple[str, int]


class LeasedHere:
    """The deliveries of one process, the oldest first."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        """Keep so many bytes."""
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: dict[Place, RemoteDelivery] = {}

    def __len__(self) -> int:
        """Count the deliveries."""
        return len(self._kept)

    def keep(self, delivery: RemoteDelivery) -> None:
        """Keep one; the oldest make room."""
        place = delivery.lease.id, delivery.lease.fence
        self.drop(place)
        self._kept[place] = delivery
        self._bytes += _size(delivery)
        while self._bytes > self._most_bytes:
            self.drop(next(iter(self._kept)))

    def get(self, place: Place, owner: str) -> RemoteDelivery | None:
        """The delivery of a lease. None: it is not here."""
        found = self._kept.get(place)
        return found if found is not None and found.lease.owner == owner else None

    def drop(self, place: Place) -> None:
        """Forget one."""
        gone = self._kept.pop(place, None)
        if gone is not None:
            self._bytes -= _size(gone)


def _size(delivery: RemoteDelivery) -> int:
    return _EACH_BYTES + len(delivery.lease.envelope)
