"""Why a broker did not store a message: the sentences that are the same on every broker.

A refusal is an answer, not an error: `Broker.send` gives one for each message that it did not store (`Sent.refusal`),
and `door.py` raises it to whoever submits. What only one vendor refuses stands in the vendor's folder. Pure.
"""

from tenure.message import Message
from tenure.verdict import Reason


def too_large(message: Message, size: int, limit: int) -> Reason:
    """It takes more bytes than the broker does."""
    text = (
        f"message {message.id} was not stored: it takes {size} bytes and the broker takes {limit}; "
        "give the app a claim check (claim_check=…), or put large data elsewhere and send where it is"
    )
    return Reason("body_too_large", text)


def key_conflict(message: Message, holder: str) -> Reason:
    """Its key belongs to message `holder`, which has another payload."""
    text = (
        f"message {message.id} was not stored: key {message.key!r} was sent before with another payload, "
        f"as message {holder}; use another key for other work"
    )
    return Reason("key_conflict", text)


def unique_not_plain(message: Message) -> Reason:
    """It is to wait only once, and who takes messages from its queue does not always say so."""
    text = (
        f"message {message.id} was not stored: with wire=plain others take messages without a word, so "
        "nobody could tell when one of that kind waits no more; give unique_window, or use a queue of your own"
    )
    return Reason("unique_not_plain", text)
