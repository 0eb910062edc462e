"""Ids for messages that a handler hands on: derived, so that a repeated run names the same message."""

import hashlib

from tenure.message import Message


def derived_id(parent: Message, place: int) -> str:
    """The id of hand-off number `place` of `parent`, in this generation."""
    parts = f"{parent.id}\x1f{parent.generation}\x1f{place}"
    # The parent's time comes first, so that the id sorts beside it in every index.
    return parent.id[:12] + hashlib.sha256(parts.encode()).hexdigest()[:20]
