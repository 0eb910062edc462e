"""Ids for messages that a handler hands on: derived, so that a repeated run names the same message."""

import hashlib

from tenure.message import Message
from tenure.rules.send_id import send_id


def derived_id(parent: Message, place: int) -> str:
    """The id of hand-off number `place` of `parent`, in this generation of this send."""
    # Without the send, what a parent hands on after its id was sent anew would be taken for the earlier hand-off.
    parts = f"{send_id(parent.id, parent.sent_at) or parent.id}\x1f{parent.generation}\x1f{place}"
    # The parent's time comes first, so that the id sorts beside it in every index.
    return parent.id[:12] + hashlib.sha256(parts.encode()).hexdigest()[:20]
