"""What a copy says of its message, and what its holder is told."""

import msgspec

from tenure import envelope
from tenure.delivery_queue import PhysicalQueue, ReceivedCopy
from tenure.message import Message
from tenure.rowstore.entry import Entry
from tenure.rowstore.seen_copy import SeenCopy, lease_of

FIRST = Message(id="m1", queue="q", task="t", body=msgspec.Raw(b"{}"), sent_at=100.0)


def lent(message: Message, entry: Entry) -> bytes:
    raw = envelope.encode(message)
    copy = ReceivedCopy(PhysicalQueue("q", 0), "m1", "s1", "r1", raw.decode(), group=None, receives=1, hidden_until=0.0)
    return lease_of(SeenCopy.of(copy, "sqs-"), entry, "one/1", 0.0).envelope


def test_a_copy_of_a_repeated_send_is_lent_as_it_was_sent_first() -> None:
    repeat = msgspec.structs.replace(FIRST, sent_at=107.0)
    assert lent(repeat, Entry(queue="q", sent_at=100.0)) == envelope.encode(FIRST)


def test_the_first_copy_is_lent_byte_for_byte() -> None:
    assert lent(FIRST, Entry(queue="q", sent_at=100.0)) == envelope.encode(FIRST)


def test_a_message_that_does_not_say_when_it_was_sent_is_left_so() -> None:
    undated = msgspec.structs.replace(FIRST, sent_at=0.0)
    assert lent(undated, Entry(queue="q", sent_at=100.0)) == envelope.encode(undated)
