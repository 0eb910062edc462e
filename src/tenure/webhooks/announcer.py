"""The announcer: reads announcements and makes of each what was asked for, then forgets it.

    read a page   begin its kinds   enter into windows   send   put aside   note what is half done   forget

Killed between any two of these it begins anew, and makes the same messages under the same ids, which the broker
recognises. Endings of one lane go out in their order. A lane that has no room (`TargetKind.room`) holds up no other:
its endings are passed over, and read again from the first of them when it has room. So 10,000 endings that wait for a
disabled endpoint cost nothing but the pages of a look from the start, now and then.

One turn at a time saves work; two announcers at once do no harm. Run by the worker and the server. Before:
`Broker.announcements`. After: `deliver.py`, for webhooks.
"""

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from tenure.announcement import READ_LIMIT, Announcement
from tenure.broker import Broker, Refused, Sent
from tenure.clock import Clock
from tenure.message import Outgoing
from tenure.webhooks.half_done import HalfDone
from tenure.webhooks.target_kind import NOTHING, TargetKind
from tenure.webhooks.window import TakenOver

logger = logging.getLogger("tenure.webhooks")

#: Endings of different queues may be out of order by a few seconds, so everything is looked at again this often.
LOOK_SECONDS = 60.0
#: A long look is repeated less often: this many seconds for each page of it.
_LOOK_SECONDS_A_PAGE = 25.0
#: One call reads so many pages at most.
_MOST_PAGES = 10
#: When to call again: after something was made and more waits for its window; and when nothing waits. In between, a
#: call that made nothing doubles the pause.
_SOON, _IDLE = 0.02, 1.0

Lane = tuple[str, str]
Send = Callable[[Sequence[Outgoing]], Awaitable[list[Sent]]]


class Announced(msgspec.Struct, frozen=True):
    """The result of one call."""

    #: Announcements that were read.
    read: int = 0
    #: Messages that were sent, some of them perhaps a second time.
    sent: int = 0
    #: Messages that became dead letters.
    aside: int = 0
    #: Announcements that were forgotten: all that asked have them.
    done: int = 0
    #: Lanes whose endings wait.
    waiting: tuple[str, ...] = ()
    #: Call again after so many seconds at the earliest; in the cloud, where a call is paid for, later.
    again_seconds: float = _IDLE


class _Page:
    """What is to be done for one page."""

    def __init__(self) -> None:
        self.sends: list[Outgoing] = []
        self.aside: list[Refused] = []
        self.reserve: dict[Lane, list[str]] = defaultdict(list)
        self.done: list[Announcement] = []
        #: Some targets of it have theirs with this page, others wait.
        self.half: list[tuple[Announcement, list[str]]] = []


class _Counts:
    """What one call did."""

    def __init__(self) -> None:
        self.pages = self.read = self.sent = self.aside = self.done = 0
        #: The lanes that got something.
        self.moved: set[Lane] = set()


class Announcer:
    """Makes messages of endings. For one loop; not for several calls at once."""

    def __init__(
        self, broker: Broker, kinds: Mapping[str, TargetKind], send: Send, half_done: HalfDone, clock: Clock, *,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:  # fmt: skip
        """`kinds` by the word before a target's colon. `send` sends messages, also large ones."""
        self._broker = broker
        self._kinds = kinds
        self._send = send
        self._half_done = half_done
        self._clock = clock
        self._look_seconds = look_seconds
        #: Everything up to here was looked at.
        self._place = ""
        #: For a lane whose endings wait: the place behind which the first of them is.
        self._behind: dict[Lane, str] = {}
        self._last_pause = _IDLE
        self._look_began: float | None = None
        #: Full pages that were read since then.
        self._look_pages = 0
        self._unknown: set[str] = set()

    async def run_once(self) -> Announced:
        """Do what can be done now, within bounds. Raises `BrokerUnavailable`; what was done stays done."""
        counts = _Counts()
        try:
            more = await self._run(counts)
        except TakenOver:
            logger.info("another announcer is at work; looking again")
            self._begin()
            more = False
        again = 0.0 if more else self._pause(counts)
        waiting = tuple(sorted(f"{kind}:{lane}" for kind, lane in self._behind))
        return Announced(counts.read, counts.sent, counts.aside, counts.done, waiting, again)

    def _pause(self, counts: _Counts) -> float:
        """Seconds until the next call."""
        pause = _IDLE
        # What is sent to others says nothing about those that wait: one that is disabled is not looked at all the time.
        if counts.moved & self._behind.keys():
            pause = _SOON
        elif self._behind:
            pause = min(_IDLE, self._last_pause * 2)
        self._last_pause = pause
        return pause

    async def _run(self, counts: _Counts) -> bool:
        """Whether more could be done at once."""
        now = self._clock.monotonic()
        seconds = max(self._look_seconds, self._look_pages * _LOOK_SECONDS_A_PAGE)
        if self._look_began is None or now - self._look_began >= seconds:
            self._begin()
            self._look_began, self._look_pages = now, 0
        for lane in list(self._behind):
            if counts.pages < _MOST_PAGES and await self._kinds[lane[0]].room(lane[1]) > 0:
                await self._catch_up(lane, counts)
        while counts.pages < _MOST_PAGES:
            page = await self._read(self._place, counts)
            await self._announce(page, self._place, counts)
            if page:
                self._place = page[-1].place
            if len(page) < READ_LIMIT:
                return False
            self._look_pages += 1
        return True

    def _begin(self) -> None:
        """Look from the start."""
        self._place = ""
        self._behind.clear()
        self._half_done.read_again()

    async def _catch_up(self, lane: Lane, counts: _Counts) -> None:
        """Go on with a lane that has room again, from the first ending that waits for it."""
        place = self._behind.pop(lane)
        try:
            while counts.pages < _MOST_PAGES and lane not in self._behind:
                page = await self._read(place, counts)
                await self._announce(page, place, counts)
                if page:
                    place = page[-1].place
                if len(page) < READ_LIMIT:
                    self._place = place
                    return
        except BaseException:
            self._behind[lane] = place
            raise
        self._behind.setdefault(lane, place)

    async def _read(self, place: str, counts: _Counts) -> list[Announcement]:
        page = await self._broker.announcements(place, READ_LIMIT)
        counts.pages += 1
        counts.read += len(page)
        return page

    async def _announce(self, page: Sequence[Announcement], start: str, counts: _Counts) -> None:
        """Do all that can be done for one page."""
        behind = dict(self._behind)
        await self._begin_kinds(page)
        todo = await self._plan(page, start)
        try:
            for (kind, lane), ids in todo.reserve.items():
                await self._kinds[kind].reserve(lane, ids)
            aside = todo.aside + await self._send_all(todo.sends)
            if aside:
                await self._broker.put_aside(aside)
            for ending, targets in todo.half:
                await self._half_done.note(ending, targets)
            if todo.done:
                await self._broker.announced(todo.done)
                await self._half_done.forget(todo.done)
        except BaseException:
            self._behind = behind  # this page is read again
            raise
        counts.sent += len(todo.sends)
        counts.moved.update(todo.reserve)
        counts.aside += len(aside)
        counts.done += len(todo.done)

    async def _begin_kinds(self, page: Sequence[Announcement]) -> None:
        """Show each kind what the page has for it."""
        by_kind: dict[str, list[tuple[Announcement, str]]] = defaultdict(list)
        for ending in page:
            for target in ending.targets:
                by_kind[target.partition(":")[0]].append((ending, target))
        for name, own in by_kind.items():
            if name in self._kinds:
                await self._kinds[name].begin(own)

    async def _plan(self, page: Sequence[Announcement], start: str) -> _Page:
        todo = _Page()
        rooms: dict[Lane, int] = {}
        before = start
        for ending in page:
            targets = ending.targets
            if len(targets) == 1:  # nearly always
                if await self._take(ending, targets[0], before, rooms, todo):
                    todo.done.append(ending)
            else:
                await self._plan_targets(ending, before, rooms, todo)
            before = ending.place
        return todo

    async def _plan_targets(self, ending: Announcement, before: str, rooms: dict[Lane, int], todo: _Page) -> None:
        had = await self._half_done.targets(ending)
        left = [target for target in ending.targets if target not in had]
        now = [target for target in left if await self._take(ending, target, before, rooms, todo)]
        if len(now) == len(left):
            todo.done.append(ending)
        elif now:
            todo.half.append((ending, now))

    async def _take(self, ending: Announcement, target: str, before: str, rooms: dict[Lane, int], todo: _Page) -> bool:
        """Make what one target asked for. False: it waits."""
        name = target.partition(":")[0]
        kind = self._kinds.get(name)
        if kind is None:
            # A newer Tenure knows it. What is thrown away here cannot be brought back.
            if name not in self._unknown:
                self._unknown.add(name)
                logger.warning("endings wait for targets %s:…, which this Tenure does not know; upgrade it", name)
            return False
        where = await kind.lane(ending, target)
        lane = None if where is None else (name, where)
        if lane is not None and lane in self._behind:  # others of it wait, and were first
            return False
        made = await kind.make(ending, target)
        if made is NOTHING:
            return True
        if made.outgoing is not None:
            if lane is not None and not await self._has_place(lane, made.outgoing.message.id, rooms, todo):
                self._behind[lane] = before
                return False
            todo.sends.append(made.outgoing)
        if made.aside is not None:
            todo.aside.append(made.aside)
        return True

    async def _has_place(self, lane: Lane, id: str, rooms: dict[Lane, int], todo: _Page) -> bool:
        """Whether a message of this lane may be sent now."""
        kind, name = self._kinds[lane[0]], lane[1]
        if await kind.is_reserved(name, id):
            return True  # by an announcer that was killed before it had sent it, or told that it had
        if lane not in rooms:
            rooms[lane] = await kind.room(name)
        if rooms[lane] <= 0:
            return False
        rooms[lane] -= 1
        todo.reserve[lane].append(id)
        return True

    async def _send_all(self, sends: Sequence[Outgoing]) -> list[Refused]:
        """Send; those that are refused after all become dead letters."""
        if not sends:
            return []
        answers = await self._send(sends)
        return [
            Refused(out.message, sent.refusal)
            for out, sent in zip(sends, answers, strict=True)
            if sent.refusal is not None
        ]
