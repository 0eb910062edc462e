"""Names: from a queue to the physical queues that hold it, one for each level of priority.

    orders          priorities=1
    orders, orders-low                  2
    orders, orders-low, orders-high     3
    orders.fifo     always one: a FIFO queue has one order

SQS takes letters, digits, - and _, 80 characters in all, `.fifo` included; as a FIFO group up to 128 of what ASCII has
to print.
"""

import hashlib
import re

from tenure.adapters.aws.faults import BadQueueName
from tenure.message import MAX_PRIORITY, Message

FIFO = ".fifo"
#: What a FIFO queue takes as a group, or to tell copies of a message by.
_WORD = re.compile(r"[A-Za-z0-9!-/:-@\[-`{-~]{1,128}")
_ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,80}")
_LONGEST = 80
#: By how many there are, from the lowest.
_SUFFIXES = {1: ("",), 2: ("-low", ""), 3: ("-low", "", "-high")}


def is_fifo(queue: str) -> bool:
    """Whether the queue keeps the order of its groups."""
    return queue.endswith(FIFO)


def word(text: str) -> str:
    """The same as a FIFO queue takes it: what it would refuse is replaced by its digest."""
    return text if _WORD.fullmatch(text) else f"tenure-{hashlib.sha256(text.encode()).hexdigest()}"


def levels(queue: str, priorities: int) -> int:
    """How many physical queues there are."""
    return 1 if is_fifo(queue) else priorities


def level_of(message: Message, priorities: int) -> int:
    """Which of them is the message's; 0 is the lowest."""
    return message.priority * levels(message.queue, priorities) // (MAX_PRIORITY + 1)


def physical(prefix: str, queue: str, level: int, count: int) -> str:
    """The name in SQS. Raises `BadQueueName`."""
    base = queue.removesuffix(FIFO)
    name = f"{prefix}{base}{_SUFFIXES[count][level]}"
    whole = name + (FIFO if is_fifo(queue) else "")
    if not _ALLOWED.fullmatch(name) or len(whole) > _LONGEST:
        msg = (
            f"SQS takes no queue named {whole!r}: letters, digits, - and _, at most 80 of them; nothing was sent or "
            "leased. Name the queue otherwise"
        )
        raise BadQueueName(msg)
    return whole
