"""A broker in a hundred lines, on plain dictionaries: what the state machine compares the real ones with.

It knows no batches, no order and no connections; it only knows where each message is, and why.
"""

from dataclasses import dataclass, field

from tenure.lease import Lease
from tenure.message import Counters, MessageState
from tenure.settlement import Outcome

READY, DELAYED, LEASED = MessageState.READY, MessageState.DELAYED, MessageState.LEASED
COMPLETED, DEAD, CANCELLED = MessageState.COMPLETED, MessageState.DEAD, MessageState.CANCELLED

#: Losses after which a holder without presence gives up.
_MAX_LOST = 10


@dataclass
class Entry:
    """One message."""

    state: MessageState
    due: float = 0.0
    owner: str | None = None
    fence: int | None = None
    deadline: float = 0.0
    seconds: float = 0.0
    has_presence: bool = False
    #: It got a fresh window, and was not touched since.
    graced: bool = False
    generation: int = 0
    endings: list[str] = field(default_factory=list)
    deliveries: int = 0
    attempts: int = 0
    crashes: int = 0
    lost: int = 0

    @property
    def counters(self) -> Counters:
        """As the port tells them."""
        return Counters(self.deliveries, self.attempts, self.crashes, self.lost)

    def is_held_under(self, lease: Lease) -> bool:
        """Whether this lease still counts."""
        return self.state == LEASED and (self.owner, self.fence) == (lease.owner, lease.fence)

    def is_due(self, now: float) -> bool:
        """Whether its delay is over, though nobody may have looked."""
        return self.state == DELAYED and self.due <= now

    def put_back(self, now: float, delay: float = 0.0) -> None:
        """Into its queue again."""
        self.state, self.due = (DELAYED, now + delay) if delay else (READY, 0.0)
        self.owner = self.fence = None

    def finish(self, state: MessageState) -> None:
        """Nobody holds it any more."""
        self.state = state
        self.owner = self.fence = None


class Model:
    """All messages, and the last sweep."""

    def __init__(self, max_attempts: int, interval: float) -> None:
        """Start empty."""
        self.entries: dict[str, Entry] = {}
        self.present: set[str] = set()
        self.max_attempts = max_attempts
        self.interval = interval
        self.last_sweep: float | None = None
        self.highest_fence = 0
        self.cancels = 0

    def leasable(self, now: float) -> set[str]:
        """What may be lent now."""
        return {id for id, one in self.entries.items() if one.state == READY or one.is_due(now)}

    def unfinished(self) -> int:
        """How many messages are still to be done."""
        return sum(one.state in {READY, DELAYED, LEASED} for one in self.entries.values())

    def lent(self, lease: Lease, now: float, seconds: float) -> None:
        """The broker lent it."""
        entry = self.entries[lease.id]
        entry.state, entry.owner, entry.fence = LEASED, lease.owner, lease.fence
        entry.deadline, entry.seconds = now + seconds, seconds
        entry.has_presence, entry.graced = lease.owner in self.present, False
        entry.deliveries += 1

    def stale(self, lease: Lease) -> Outcome | None:
        """What a stale holder must be told. None: it is not stale."""
        entry = self.entries[lease.id]
        if entry.is_held_under(lease):
            return None
        return Outcome.TAKEN_OVER if entry.state == LEASED else Outcome.ALREADY_GONE

    def settled(self, how: str, entry: Entry, now: float, delay: float) -> None:
        """The holder settled it."""
        if how == "ack":
            entry.finish(COMPLETED)
        elif how == "give_back":
            entry.put_back(now, delay)
        elif how == "nack":
            entry.attempts += 1
            entry.endings.append("failed")
            entry.put_back(now, delay)
        else:
            entry.attempts += 1
            entry.endings.append("dead")
            entry.finish(DEAD)

    def delete(self, id: str) -> bool:
        """Only what nobody holds is removed."""
        entry = self.entries[id]
        if entry.state not in {READY, DELAYED, DEAD}:
            return False
        entry.endings.append("cancelled")
        entry.finish(CANCELLED)
        return True

    def cancel(self, id: str) -> MessageState | None:
        """Whoever holds it; the state in which it was met."""
        entry = self.entries[id]
        met = entry.state
        if met not in {READY, DELAYED, LEASED}:
            return None
        self.cancels += met == LEASED
        entry.endings.append("cancelled")
        entry.finish(CANCELLED)
        return met

    def held_by(self, owner: str) -> set[str]:
        """What `owner` holds."""
        return {id for id, one in self.entries.items() if one.owner == owner}

    def sweep(self, now: float, limit: int) -> tuple[bool, list[str], list[str]]:
        """Whether any lease got a fresh window; what is returned, and what dies."""
        leased = {id: one for id, one in self.entries.items() if one.state == LEASED}
        gap = self.last_sweep is None or now - self.last_sweep > 2 * self.interval
        self.last_sweep = now
        fresh = [one for one in leased.values() if gap and not one.graced and one.deadline < now + one.seconds]
        for one in fresh:
            one.deadline, one.graced = now + one.seconds, True
        overdue = sorted((one.deadline, id) for id, one in leased.items() if one.deadline < now)
        returned: list[str] = []
        dead: list[str] = []
        for _, id in overdue[:limit]:
            (returned if self._return(self.entries[id], now) else dead).append(id)
        return bool(fresh), returned, dead

    def _return(self, entry: Entry, now: float) -> bool:
        if entry.has_presence:
            entry.lost += 1
            entry.endings.append("lost")
        else:
            entry.attempts += 1
            entry.endings.append("failed")
            if entry.attempts >= self.max_attempts or entry.lost >= _MAX_LOST:
                entry.endings.append("dead")
                entry.finish(DEAD)
                return False
        entry.put_back(now)
        return True

    def retire(self, owner: str, now: float, *, crashed: bool) -> set[str]:
        """Everything it holds is free."""
        self.present.discard(owner)
        held = self.held_by(owner)
        for id in held:
            entry = self.entries[id]
            if crashed:
                entry.crashes += 1
                entry.endings.append("crashed")
            entry.put_back(now)
        return held
