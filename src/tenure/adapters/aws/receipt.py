"""A receipt as a lease carries it: the level of the physical queue, and SQS's own handle."""

from tenure.adapters.aws.copy import Receipt, Spot
from tenure.adapters.aws.entry import Entry
from tenure.lease import Lease


def receipt_of(level: int, handle: str) -> str:
    """For a lease."""
    return f"{level}:{handle}"


def receipt_from(lease: Lease, seconds: float = 0.0) -> Receipt:
    """To speak about the copy of a lease."""
    level, _, handle = str(lease.receipt).partition(":")
    return Receipt(Spot(lease.queue, int(level)), handle, seconds)


def receipt_in(entry: Entry, seconds: float = 0.0) -> Receipt:
    """To speak about the copy that an entry was lent with."""
    return Receipt(Spot(entry.queue, entry.level), entry.receipt, seconds)
