"""Receipts that a beat of this process has replaced, so that a refusal of one can be explained.

On Azure each beat replaces the receipt of its message, and the service refuses the old one with the same error as the
receipt of a lease that another worker has taken over. Only this process knows the difference. Written by `beating.py`,
read by `trying.py`. Bounded: the oldest are forgotten.
"""

import threading
from collections import OrderedDict

from tenure.standalone.receipt import Receipt

_MOST = 10_000
_lock = threading.Lock()
#: By queue, message and receipt.
_replaced: OrderedDict[tuple[str, str, str], None] = OrderedDict()


def note_replaced(queue: str | None, receipt: Receipt) -> None:
    """A beat with this receipt begins: from now on the service may refuse it. Without a queue's name: not noted."""
    if queue is None:
        return
    with _lock:
        _replaced[queue, receipt.message_id, receipt.receipt] = None
        while len(_replaced) > _MOST:
            _replaced.popitem(last=False)


def note_kept(queue: str | None, receipt: Receipt) -> None:
    """The beat replaced nothing."""
    if queue is not None:
        with _lock:
            _replaced.pop((queue, receipt.message_id, receipt.receipt), None)


def is_replaced(queue: str | None, receipt: Receipt) -> bool:
    """Whether a beat of this process has replaced it, or is about to."""
    with _lock:
        return queue is not None and (queue, receipt.message_id, receipt.receipt) in _replaced
