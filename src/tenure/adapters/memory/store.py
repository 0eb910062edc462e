"""The store: plain data, one lock, and one place where a message changes its state.

`step()` is the only way in. What happens inside one step happens at once for every thread and event loop: that is
what "atomic" means here. The acts themselves are in the files named after them (`sending.py`, `lending.py`, …); they
are plain functions that run inside a step.
"""

import asyncio
import math
import threading
from collections import defaultdict, deque
from types import TracebackType

from tenure.act import StoredAct
from tenure.adapters.memory.agenda import Agenda
from tenure.adapters.memory.announcing import Announcements
from tenure.adapters.memory.entry import MemoryEntry, Unique
from tenure.adapters.memory.keys import KeyTable
from tenure.adapters.memory.retention import PROMISED_SECONDS, Retention
from tenure.adapters.memory.sleepers import EARLY, Sleeper, Sleepers
from tenure.broker import BrokerTraits
from tenure.clock import Clock
from tenure.event import StoredEvent
from tenure.key_value import KeyValue
from tenure.message import MessageState
from tenure.notice import Pause, Post, Tick
from tenure.owner import Owner
from tenure.rules.limits import Bucket
from tenure.sample import StoredSample
from tenure.state import KEPT_SAMPLES
from tenure.tally import Tally

WAITING = frozenset({MessageState.READY, MessageState.DELAYED})
#: In the order of `Depth`.
OPEN = (MessageState.READY, MessageState.DELAYED, MessageState.LEASED, MessageState.DEAD)
FINISHED = frozenset({MessageState.COMPLETED, MessageState.CANCELLED})


class MemoryQueue:
    """One queue: its messages by state, and the orders in which they are lent and fall due."""

    def __init__(self, turn: int = 0) -> None:
        """Start empty."""
        self.by_state: dict[MessageState, dict[str, MemoryEntry]] = {state: {} for state in MessageState}
        #: For each level of priority, in the order of arrival.
        self.ready: defaultdict[int, Agenda] = defaultdict(Agenda)
        self.delayed = Agenda()
        #: How many were lent so far; fairness counts by it.
        self.lent = 0
        #: When it was last served among others, as a number that rises with each time.
        self.turn = turn
        #: False: it was forgotten, and only what has ended is left of it.
        self.is_listed = False

    def has_waiting(self) -> bool:
        """Whether something is ready or delayed."""
        return bool(self.by_state[MessageState.READY] or self.by_state[MessageState.DELAYED])

    def is_empty(self) -> bool:
        """Whether nothing is ready, delayed, leased or dead."""
        return not any(self.by_state[state] for state in OPEN)

    def seconds_until_ready(self, now: float) -> float:
        """0: something can be leased. Otherwise until the next delayed message is due; infinite if none."""
        if self.by_state[MessageState.READY]:
            return 0.0
        first = self.delayed.first()
        return max(0.0, first[0][0] - now) if first else math.inf


class LimitedQueues:
    """What is kept of queues with a limit."""

    def __init__(self) -> None:
        """Begin with none."""
        #: Of queues whose starts are limited.
        self.buckets: dict[str, Bucket] = {}
        #: Queues in which a limited number may run: the end of a lease wakes those who wait.
        self.watched: set[str] = set()


class Members:
    """The roster's data: who joined, who was heard when, who said goodbye, and who was declared dead."""

    def __init__(self) -> None:
        """Empty: no owner has joined."""
        self.joined: dict[str, Owner] = {}
        #: When each one joined. 0: it was put back by a beat.
        self.since: dict[str, float] = {}
        self.heard: dict[str, float] = {}
        self.left: set[str] = set()
        self.killed: set[str] = set()
        #: Declared dead, and perhaps not all that it held is returned.
        self.retiring: dict[str, Owner] = {}
        #: Retired for ever; an owner comes back under a new nonce.
        self.banned: set[str] = set()

    def add(self, owner: Owner, now: float, since: float) -> None:
        """Put an owner on the roster, heard now."""
        self.joined[owner.id] = owner
        self.since.setdefault(owner.id, since)
        self.heard[owner.id] = now

    def ban(self, owner: str, *, left: bool) -> bool:
        """Begin a retirement. False: that was done before."""
        if owner in self.banned:
            return False
        self.banned.add(owner)
        self.retiring[owner] = self.joined.get(owner) or Owner.of_id(owner)
        self.drop(owner)
        if left:
            self.left.add(owner)
        return True

    def drop(self, owner: str) -> None:
        """Remove an owner from the roster."""
        self.joined.pop(owner, None)
        self.since.pop(owner, None)
        self.heard.pop(owner, None)
        self.left.discard(owner)
        self.killed.discard(owner)

    def finish(self, owner: str) -> None:
        """Forget an owner whose messages are all returned."""
        self.retiring.pop(owner, None)
        self.left.discard(owner)


class MemoryDatabase:
    """Everything that one `memory://name` knows."""

    def __init__(self, *, clock: Clock, traits: BrokerTraits, keep_records: int, keep_seconds: float) -> None:
        """Start empty, on `clock`."""
        self.clock = clock
        self.traits = traits
        self.keep = (keep_records, keep_seconds)
        self.lock = threading.RLock()

        self.entries: dict[str, MemoryEntry] = {}
        self.lines: dict[str, MemoryQueue] = {}
        #: Queues in which something is ready or delayed: only these are asked.
        self.busy: dict[str, MemoryQueue] = {}
        #: Queues on the list in which nothing is, and since when (monotonic).
        self.empty_since: dict[str, float] = {}
        self.by_owner: dict[str, dict[str, MemoryEntry]] = {}
        self.deadlines = Agenda()
        #: Lent without a deadline; the next sweep adopts them.
        self.undated: set[str] = set()
        self.keys = KeyTable(limit=keep_records, seconds=keep_seconds)
        #: Waiting messages (ready or delayed) with a `unique` value.
        self.uniques: defaultdict[Unique, dict[str, MemoryEntry]] = defaultdict(dict)
        self.members = Members()
        #: Endings that wait to be announced.
        self.announcements = Announcements()
        self.events: list[StoredEvent] = []
        #: No event that is kept is older.
        self.oldest_event = math.inf
        self.last_event = 0
        self.limited = LimitedQueues()
        self.tallies: dict[tuple[int, int, str, int], Tally] = {}
        self.acts: list[StoredAct] = []
        self.last_act = 0
        self.pauses: dict[str, Pause] = {}
        #: By kind and name.
        self.posts: dict[tuple[str, str], Post] = {}
        self.key_values: dict[tuple[str, str], KeyValue] = {}
        self.ticks: dict[str, Tick] = {}
        #: Who does something, and until when.
        self.turns: dict[str, tuple[str, float]] = {}
        #: The newest of each queue and task.
        self.samples = defaultdict[tuple[str, str], deque[StoredSample]](lambda: deque(maxlen=KEPT_SAMPLES))
        self.last_sample = 0
        #: How many leased messages were ever cancelled.
        self.cancels = 0
        self.cancelled: tuple[str, ...] = ()
        #: Monotonic. None: never swept.
        self.last_sweep: float | None = None
        #: What the last sweep said of the time until the next.
        self.sweep_seconds = 0.0
        self.sleepers = Sleepers()
        #: Who waits for events.
        self.readers: dict[Sleeper, None] = {}

        self._finished: Retention[str] = Retention(limit=keep_records, seconds=keep_seconds)
        self._deleted: Retention[str] = Retention(limit=keep_records, seconds=PROMISED_SECONDS)
        #: Records whose time is over, but which an announcement needs; and queues that messages were moved into.
        self._spared, self._stirred = set[str](), set[str]()
        self._seq = self._fence = self._turn = 0

    def step(self) -> "MemoryStep":
        """`async with store.step() as now:` what is inside happens at once, at `now`."""
        return MemoryStep(self)

    def line(self, queue: str) -> MemoryQueue:
        """The queue of that name, made when something enters it. A new one is served after those that wait."""
        line = self.lines.get(queue)
        if line is None:
            line = self.lines[queue] = MemoryQueue(self._turn)
        return line

    def tidy_line(self, queue: str) -> None:
        """Drop what is kept of a queue, as far as nothing is in it."""
        line = self.lines[queue]
        if line.is_listed:
            return
        self.empty_since.pop(queue, None)
        if not any(line.by_state.values()):
            del self.lines[queue]

    def waiting(self, queue: str) -> int:
        """How many messages of a queue are ready or delayed."""
        line = self.lines.get(queue)
        return 0 if line is None else sum(len(line.by_state[state]) for state in WAITING)

    def next_seq(self) -> int:
        """The next place in the order of arrival."""
        self._seq += 1
        return self._seq

    def next_fence(self) -> int:
        """Higher than every fence before it, of leases and of claims."""
        self._fence += 1
        return self._fence

    def next_turn(self) -> int:
        """Higher than every turn before: the queue that gets it is served after the others."""
        self._turn += 1
        return self._turn

    def knows(self, id: str) -> bool:
        """Whether a message of that id was sent before, however it ended."""
        return id in self.entries or id in self._deleted

    def held_by(self, owner: str) -> list[MemoryEntry]:
        """Return the leases that `owner` holds, in the order in which they were lent."""
        return list(self.by_owner.get(owner, {}).values())

    def add(self, entry: MemoryEntry) -> None:
        """A new message, in the state it is in."""
        self.entries[entry.id] = entry
        self._enter(entry)
        self._list(entry.queue)

    def place(self, entry: MemoryEntry, state: MessageState, now: float) -> None:
        """Move a message to another state. Set its `due`, `deadline` or `owner` before."""
        self._leave(entry)
        entry.state = state
        self._enter(entry)
        if state in FINISHED:
            for id in self._finished.keep(entry.id, now):
                if self.announcements.needs_record(id):
                    self._spared.add(id)
                else:
                    self._forget(id)
            self._note_empty(entry.queue, now)
        elif entry.queue in self.empty_since:
            self._list(entry.queue)

    def spare_no_more(self) -> None:
        """Forget the records whose time was over and which only an announcement needed."""
        for id in [id for id in self._spared if not self.announcements.needs_record(id)]:
            self._spared.discard(id)
            self._forget(id)

    def _forget(self, id: str) -> None:
        forgotten = self.entries.pop(id)
        self._leave(forgotten)
        self.tidy_line(forgotten.queue)

    def erase(self, queue: str) -> int:
        """Forget the messages of a queue that have ended, and the keys of those that are not open; how many."""
        line = self.lines.get(queue)
        ended = [id for state in FINISHED for id in line.by_state[state]] if line is not None else []
        gone = [id for id in ended if not self.announcements.needs_record(id)]
        for id in gone:
            self._finished.drop(id)
            self._forget(id)
        self.keys.erase(queue, self.entries)
        return len(gone)

    def delete(self, entry: MemoryEntry, now: float) -> None:
        """Remove a message without a record; its id stays known for as long as `send` promises."""
        self._leave(entry)
        del self.entries[entry.id]
        self._deleted.keep(entry.id, now)
        self._note_empty(entry.queue, now)

    def date(self, entry: MemoryEntry, deadline: float | None) -> None:
        """Set the deadline of a leased message."""
        entry.deadline = deadline
        if deadline is None:
            self.deadlines.remove(entry.id)
            self.undated.add(entry.id)
        else:
            self.undated.discard(entry.id)
            self.deadlines.put(entry.id, (deadline, entry.seq))

    def promote(self, queue: str, now: float) -> None:
        """Make delayed messages that are due ready."""
        line = self.lines[queue]
        while (first := line.delayed.first()) and first[0][0] <= now + EARLY:
            self.place(self.entries[first[1]], MessageState.READY, now)

    def wake_sleepers(self) -> None:
        """Wake those who wait for the queues that this step moved messages into."""
        if self._stirred:
            self.sleepers.wake(self._stirred)
            self._stirred.clear()

    def _list(self, queue: str) -> None:
        """Put a queue on the list of those there are."""
        self.lines[queue].is_listed = True
        self.empty_since.pop(queue, None)

    def _note_empty(self, queue: str, now: float) -> None:
        if queue in self.busy:  # as nearly always
            return
        line = self.lines[queue]
        if line.is_listed and line.is_empty():
            self.empty_since[queue] = now

    def _enter(self, entry: MemoryEntry) -> None:
        line = self.line(entry.queue)
        line.by_state[entry.state][entry.id] = entry
        if entry.unique is not None and entry.state in WAITING:
            self.uniques[entry.unique][entry.id] = entry
        if entry.state is MessageState.READY:
            line.ready[entry.level].put(entry.id, (entry.seq,))
            self._stirred.add(entry.queue)
        elif entry.state is MessageState.DELAYED:
            line.delayed.put(entry.id, (entry.due, entry.seq))
            self._stirred.add(entry.queue)
        if entry.state in WAITING:
            self.busy[entry.queue] = line
        elif entry.state is MessageState.LEASED and entry.owner is not None:
            self.by_owner.setdefault(entry.owner, {})[entry.id] = entry
            self.date(entry, entry.deadline)

    def _leave(self, entry: MemoryEntry) -> None:
        """Take the message out of every index of its state, and let go of what only that state has."""
        line = self.line(entry.queue)
        del line.by_state[entry.state][entry.id]
        if entry.unique is not None and entry.state in WAITING:
            del self.uniques[entry.unique][entry.id]
            if not self.uniques[entry.unique]:
                del self.uniques[entry.unique]
        if entry.state is MessageState.READY:
            line.ready[entry.level].remove(entry.id)
        elif entry.state is MessageState.DELAYED:
            line.delayed.remove(entry.id)
        if entry.state in WAITING:
            if not line.has_waiting():
                del self.busy[entry.queue]
        elif entry.state is MessageState.LEASED and entry.owner is not None:
            if entry.queue in self.limited.watched:
                self._stirred.add(entry.queue)
            del self.by_owner[entry.owner][entry.id]
            if not self.by_owner[entry.owner]:
                del self.by_owner[entry.owner]
            self.deadlines.remove(entry.id)
            self.undated.discard(entry.id)
            entry.owner = entry.fence = entry.request_id = entry.deadline = None


class MemoryStep:
    """One step under the store's lock. Its body must not await, since the lock is a thread's, not a task's."""

    def __init__(self, store: MemoryDatabase) -> None:
        """Take the store, for one `async with`."""
        self._store = store

    async def __aenter__(self) -> float:
        """Take the lock; the store's time."""
        # A real broker is never answered without a pause. Without this one, a worker that always finds
        # work would never let its own handlers run. To be cancelled here is harmless: nothing was done.
        await asyncio.sleep(0)
        self._store.lock.acquire()
        return self._store.clock.monotonic()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wake those who wait for what was moved, and let the next one in."""
        try:
            self._store.wake_sleepers()
        finally:
            self._store.lock.release()
