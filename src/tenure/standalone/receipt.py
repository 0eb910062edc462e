"""A receipt: what a service needs to renew or delete a leased message.

Read from a message as any client hands it out. The heartbeat gives a newer one (`VisibilityHeartbeat.receipt`), which
also knows until when the lease lasts.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tenure.errors import BadArgument

#: The names of a message's id and receipt: boto3's dicts, plain dicts; objects of the Azure SDK, of boto3's resources.
_KEYS = (("MessageId", "ReceiptHandle"), ("id", "pop_receipt"))
_ATTRIBUTES = (("id", "pop_receipt"), ("message_id", "receipt_handle"))


class Receipt(msgspec.Struct, frozen=True):
    """The right to say something about a message."""

    message_id: str
    receipt: str
    #: When the lease ends, on this host's monotonic clock. None: not known.
    deadline: float | None = None
    #: Given by the caller, for the log lines about this message.
    correlation_id: str | None = None
    payload_hash: str | None = None

    @classmethod
    def of(cls, message: Any) -> "Receipt":
        """Read the receipt of a message, or of a bare receipt handle."""
        if isinstance(message, cls):
            return message
        if isinstance(message, str) and message:
            return cls("", message)
        for names in _KEYS if isinstance(message, Mapping) else _ATTRIBUTES:
            found = [
                message.get(name) if isinstance(message, Mapping) else getattr(message, name, None) for name in names
            ]
            if found[1]:
                return cls(str(found[0] or ""), str(found[1]))
        msg = f"{_kind(message)} has no receipt: pass a message as it was received; nothing was done with it"
        raise BadArgument(msg)

    @property
    def log_fields(self) -> dict[str, str | None]:
        """The caller's own names for the message, as fields of a log record."""
        return {"correlation_id": self.correlation_id, "payload_hash": self.payload_hash}

    def lasts(self, now: float) -> bool | None:
        """Whether the lease still lasts at `now`. None: not known."""
        return None if self.deadline is None else now < self.deadline


def _kind(message: object) -> str:
    if isinstance(message, Mapping):
        return f"a message with the keys {sorted(map(str, message))}"
    return f"a {type(message).__name__}"
