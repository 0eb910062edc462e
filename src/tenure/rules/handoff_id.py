"""The id of a hand-off: derived from the message that hands it on, so that a repeated run names the same message.

Made by `runtime/handoff.py` where a handler submits; `client/operations/children.py` finds the children by it.
"""

import hashlib

from tenure.rules.send_id import send_id


def handoff_id(parent_id: str, sent_at: float, generation: int, place: int) -> str:
    """The id of hand-off number `place` of a message, in this generation of this send."""
    # Without the send, what a parent hands on after its id was sent again would be taken for the earlier hand-off.
    parts = f"{send_id(parent_id, sent_at) or parent_id}\x1f{generation}\x1f{place}"
    # The parent's time comes first, so that the id sorts beside it in every index.
    return parent_id[:12] + hashlib.sha256(parts.encode()).hexdigest()[:20]
