"""Why a broker did not store a message: the sentences that are the same on every broker.

A refusal is an answer, not an error: `Broker.send` gives one for each message that it did not store (`Sent.refusal`),
and `door.py` raises it to whoever submits. What only one vendor refuses stands in the vendor's folder. Pure.
"""

from tenure.errors import (
    BadArgument,
    BadMessage,
    BodyTooDeep,
    BodyTooLarge,
    BodyUndecodable,
    KeyConflict,
    QueueGone,
    StoreMissing,
    TenureError,
)
from tenure.message import Message
from tenure.verdict import Reason

_ERRORS: dict[str, type[BadMessage]] = {
    "body_too_large": BodyTooLarge,
    "body_too_deep": BodyTooDeep,
    "body_undecodable": BodyUndecodable,
    "key_conflict": KeyConflict,
}


def error_of(refusal: Reason) -> BadMessage:
    """The error that a refusal is raised as, by `submit` and by `ctx.submit`."""
    return _ERRORS.get(refusal.code, BadArgument)(refusal.text)


def of_size(message: Message, size: int, limit: int) -> Reason | None:
    """Why a message of `size` bytes is not stored where the broker takes `limit`. None: it is."""
    return too_large(message, size, limit) if size > limit else None


def of_hand_off(message: Message, error: Exception) -> Reason:
    """Why a hand-off could not be sent when its parent was done: `error` was raised for it, and it is no outage."""
    text = f"message {message.id} was handed on and could not be sent: {str(error) or type(error).__name__}"
    if isinstance(error, StoreMissing | QueueGone):
        return Reason("queue_missing", f"{text}. Make queue {message.queue!r}, and redrive it")
    return Reason(error.code, text) if isinstance(error, TenureError) else Reason("unsendable", text)


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
