"""A receipt as a lease carries it: the level of the physical queue, and the service's own handle."""

from tenure.delivery_queue import CopyReceipt, PhysicalQueue
from tenure.lease import Lease
from tenure.rowstore.entry import Entry


def receipt_of(level: int, handle: str) -> str:
    """For a lease."""
    return f"{level}:{handle}"


def receipt_from(lease: Lease, seconds: float = 0.0) -> CopyReceipt:
    """To speak about the copy of a lease."""
    level, _, handle = str(lease.receipt).partition(":")
    return CopyReceipt(PhysicalQueue(lease.queue, int(level)), handle, seconds)


def receipt_in(entry: Entry, seconds: float = 0.0) -> CopyReceipt:
    """To speak about the copy that an entry was lent with."""
    return CopyReceipt(PhysicalQueue(entry.queue, entry.level), entry.receipt, seconds)
