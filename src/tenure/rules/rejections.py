"""Why a broker did not store a message: the sentences that are the same on every broker.

A refusal is an answer, not an error: `Broker.send` gives one for each message that it did not store (`Sent.refusal`),
and `client/client.py` raises it from `submit`. What only one vendor refuses is in the vendor's folder. Pure.
"""

from tenure.errors import (
    BadArgument,
    BadMessage,
    BodyTooDeep,
    BodyTooLarge,
    BodyUndecodable,
    KeyConflict,
    QueueGone,
    QuotaExceeded,
    StoreMissing,
    TenureError,
    WebhookRefused,
)
from tenure.message import Message
from tenure.verdict import Reason

_ERRORS: dict[str, type[BadMessage]] = {
    "body_too_large": BodyTooLarge,
    "body_too_deep": BodyTooDeep,
    "body_undecodable": BodyUndecodable,
    "key_conflict": KeyConflict,
    "quota_exceeded": QuotaExceeded,
    "webhook_refused": WebhookRefused,
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
    """Reject a message that takes more bytes than the broker accepts."""
    text = (
        f"message {message.id} was not stored: it takes {size} bytes and the broker takes {limit}; "
        "give the app a claim check (claim_check=…), or put large data elsewhere and send where it is"
    )
    return Reason("body_too_large", text)


def key_conflict(message: Message, holder: str) -> Reason:
    """Reject a message whose key belongs to message `holder`, which has another payload."""
    text = (
        f"message {message.id} was not stored: key {message.key!r} was sent before with another payload, "
        f"as message {holder}; use another key for other work"
    )
    return Reason("key_conflict", text)


def queue_full(message: Message, most: int) -> Reason:
    """Reject a message for whose queue so many may wait."""
    text = (
        f"message {message.id} was not stored: {most} messages may wait in queue {message.queue!r}, and so many do; "
        "send it again when some have been run"
    )
    return Reason("quota_exceeded", text)


def payload_over_quota(message: Message, size: int, most: int) -> Reason:
    """Reject a message whose payload is larger than its client's may be."""
    text = (
        f"message {message.id} was not stored: its payload has {size:,} bytes, and in queue {message.queue!r} it may "
        f"have {most:,}; send less, or raise the quota of the client"
    )
    return Reason("body_too_large", text)


def unique_not_plain(message: Message) -> Reason:
    """Reject `unique` in a queue from which other programs take messages unnoticed."""
    text = (
        f"message {message.id} was not stored: with wire=plain other programs take messages unnoticed, so "
        "Tenure cannot know when such a message no longer waits; give unique_window, or use a queue of your own"
    )
    return Reason("unique_not_plain", text)
