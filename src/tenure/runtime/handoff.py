"""Ids for messages that a handler hands on: derived, so that a repeated run names the same message."""

from tenure.message import Message
from tenure.rules.handoff_id import handoff_id


def derived_id(parent: Message, place: int) -> str:
    """The id of hand-off number `place` of `parent`, in this generation of this send."""
    return handoff_id(parent.id, parent.sent_at, parent.generation, place)
