"""Hand-offs that were judged when their handlers gave them, with their envelopes: so each is read and encoded once.

`ctx.submit` asks whether `send` would refuse a message, and the ack of its parent stores it, most often a moment later.
A message that is not known any more is judged again. Used by `broker.py` and `sending.py`.
"""

from tenure import envelope
from tenure.message import Outgoing
from tenure.rules.rejections import of_size
from tenure.rules.sendable import unsendable
from tenure.verdict import Reason

#: So many are known at most, of so many bytes each: those of runs that failed are not asked for again.
_MOST = 1000
_LARGEST = 4096


class Judged:
    """What `send` would take, by the message itself: an equal one is another."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[int, tuple[Outgoing, bytes]] = {}

    def refusal(self, outgoing: Outgoing, body_limit: int) -> Reason | None:
        """Why `send` would refuse it, whatever the file says. None: it would not, and it is known from now on."""
        refused = unsendable(outgoing)
        if refused is not None:
            return refused
        raw = envelope.encode(outgoing.message)
        refused = of_size(outgoing.message, len(raw), body_limit)
        if refused is None and len(raw) <= _LARGEST:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[id(outgoing)] = (outgoing, raw)
        return refused

    def take(self, outgoing: Outgoing) -> bytes | None:
        """Its envelope. None: it is not known, and must be judged."""
        known = self._known.pop(id(outgoing), None)
        return None if known is None or known[0] is not outgoing else known[1]
