"""The scheduler: sends the messages of schedules, one a tick however many workers run it.

There is no leader. Every worker works out the same ticks, and sends a tick's message under an id that follows from
the schedule's name and the moment, so the broker keeps one copy. Then the tick is noted on the board: nothing at or
before the newest noted tick of a schedule is sent. Send first, note second: a crash between the two repeats the send,
which changes nothing; the other order would lose the tick. Only a worker that is frozen just before its send, for
longer than the broker remembers ids, can send a tick again.

The time is the store's (`State.wall`), so a worker whose own clock is wrong sends nothing early or late. A noted tick
ahead of the store's time comes from a clock that was wrong: an earlier Tenure's, or the store's own. It is logged and
forgotten, and the schedule goes on with its next tick. What was sent early is not sent a second time: the broker
knows its id for as long as it keeps what is finished.

A tick is missed if it is older than `GRACE_SECONDS` when a worker comes to it, or if a later one has come too. At
most one message is sent for all that was missed, and none for the time before the schedule, or its present line,
was first seen.

While a schedule is paused (a post on the board), its ticks are noted and no message is sent for them; nothing of that
is made up for later.

Runs in every worker, beside the sweeper. Before: `app.schedule`. Next: `Broker.send`.
"""

import asyncio
import hashlib
import logging
import math
from collections.abc import Callable, Sequence
from typing import Protocol

from tenure.broker import Sent
from tenure.clock import Clock
from tenure.errors import BadMessage, BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.message import Outgoing
from tenure.notice import PostKind, Tick
from tenure.runtime.outage import OutageBackoff
from tenure.state import Board
from tenure.tasks.schedule import Schedule, message_of

logger = logging.getLogger("tenure.scheduling")

#: A tick may be so late and still be on time: a start, a short outage, a clock that is set.
GRACE_SECONDS = 60.0

#: Sleeps end this often, because the wall clock may have jumped meanwhile; and never spin.
_LOOK_SECONDS = 1.0
_LEAST_SECONDS = 0.001

#: A noted tick that is further ahead of the store's time was noted by a wrong clock.
_AHEAD_SECONDS = 2.0

Publish = Callable[[Sequence[Event]], None]


class Sender(Protocol):
    """The part of a broker that the scheduler uses."""

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages, idempotent by id."""
        ...


class Scheduler:
    """Sends what is due, until cancelled."""

    def __init__(
        self,
        schedules: Sequence[Schedule],
        broker: Sender,
        board: Board,
        clock: Clock,
        publish: Publish,
        *,
        wall: Callable[[], float],
        client: str | None = None,
    ) -> None:
        """Send on behalf of `client`; call `publish` for ticks that this worker was the first to note.

        `wall` is the store's wall time.
        """
        self._schedules = tuple(schedules)
        self._broker = broker
        self._board = board
        self._clock = clock
        self._wall = wall
        self._publish = publish
        self._client = client
        #: By name: the newest tick that is settled as far as we know, and the next one. Missing: not looked at yet.
        self._floor: dict[str, float] = {}
        self._next: dict[str, float] = {}

    async def run(self) -> None:
        """Check the clock once a second, and when a tick is due, until cancelled."""
        backoff = OutageBackoff(self._clock)
        while True:
            try:
                await self.look()
                backoff.succeeded(logger, "scheduling")
            except BrokerUnavailable as error:
                backoff.failed(logger, "scheduling", error)
                await backoff.pause()
                continue
            wait = min(self._next.values(), default=math.inf) - self._wall()
            await asyncio.sleep(min(_LOOK_SECONDS, max(_LEAST_SECONDS, wait)))

    async def look(self) -> None:
        """Settle every tick that is due now."""
        now = self._wall()
        due = [schedule for schedule in self._schedules if self._is_due(schedule.name, now)]
        if due:
            # Asked again at each tick: most often another worker was faster, and there is nothing to send.
            known = {tick.schedule: tick for tick in await self._board.ticks()}
            posts = (await self._board.read()).posts
            paused = {post.name for post in posts if post.kind is PostKind.PAUSED_SCHEDULE}
            for schedule in due:
                await self._settle(schedule, known.get(schedule.name), now, is_paused=schedule.name in paused)

    def _is_due(self, name: str, now: float) -> bool:
        """Whether to ask the board: a tick has come, or the store's clock was set back behind the last one."""
        floor = self._floor.get(name)
        return floor is None or self._next[name] <= now or floor - now > _AHEAD_SECONDS

    async def _settle(self, schedule: Schedule, known: Tick | None, now: float, *, is_paused: bool) -> None:
        is_first_look = schedule.name not in self._floor
        if known is not None and known.at - now > _AHEAD_SECONDS:
            known = await self._go_back(schedule, known, now)
        if known is None or (is_first_look and known.spec != _spec(schedule)):
            await self._board.tick(_tick(schedule, now, "", first_seen=True))
            self._plan(schedule, now)
            return
        at = schedule.moments.last_between(known.at, now)
        if at is None:
            self._plan(schedule, known.at)
            return
        is_late = now - at > GRACE_SECONDS
        missed = is_late or schedule.moments.next_after(known.at) < at
        if is_paused:
            logger.info("schedule %s is paused: no message is sent for %s", schedule.name, _iso(schedule, at))
            sent_id = ""
        elif is_late and schedule.missed == "skip":
            logger.warning("schedule %s: the tick of %s was missed and is skipped", schedule.name, _iso(schedule, at))
            sent_id = ""
        else:
            sent_id = await self._send(schedule, at, now)
        if await self._board.tick(_tick(schedule, at, sent_id)):
            self._publish([_event(schedule, at, sent_id, now=now, missed=missed, paused=is_paused)])
        self._plan(schedule, at)

    async def _send(self, schedule: Schedule, at: float, now: float) -> str:
        """Send the message of a tick; the id of the stored message. Empty: it was refused.

        A refusal would be the same at every try, so the tick is given up and the next one gets its chance.
        """
        try:
            message = message_of(schedule, id=tick_id(schedule.name, at), at=at, client=self._client, sent_at=now)
            (sent,) = await self._broker.send([message])
            refusal = sent.refusal.text if sent.refusal is not None else None
        except BadMessage as error:
            refusal = str(error)
        else:
            if refusal is None:
                return self._accepted(schedule, at, message, sent)
        logger.error(
            "schedule %s: the tick of %s is lost, its message was refused: %s",
            schedule.name,
            _iso(schedule, at),
            refusal,
        )
        return ""

    def _accepted(self, schedule: Schedule, at: float, message: Outgoing, sent: Sent) -> str:
        if sent.id != message.message.id:
            logger.info(
                "schedule %s: at %s message %s of an earlier tick was still waiting; no second one was sent",
                schedule.name,
                _iso(schedule, at),
                sent.id,
            )
        return sent.id

    def _plan(self, schedule: Schedule, floor: float) -> None:
        self._floor[schedule.name] = floor
        self._next[schedule.name] = schedule.moments.next_after(floor)

    async def _go_back(self, schedule: Schedule, known: Tick, now: float) -> Tick:
        """Forget a tick in the future; returns the one to go on from: the last known one, or now.

        Several workers may do so at once: each notes a moment that has come, and a tick that is sent again for it has
        the same id.
        """
        logger.error(
            "schedule %s: a tick is noted for %s, which by the store's clock is %.1f min ahead: a clock is or was "
            "wrong. The schedule goes on from now; what was sent early is not sent again",
            schedule.name,
            _iso(schedule, known.at),
            (known.at - now) / 60,
        )
        at = min(self._floor.get(schedule.name, now), now)
        await self._board.forget(schedule.name)
        back = _tick(schedule, at, "")
        await self._board.tick(back)
        return back


def tick_id(name: str, at: float) -> str:
    """The id of a tick's message: as `new_id`, but the same wherever it is worked out."""
    millis = round(at * 1000)
    return f"{millis:012x}{hashlib.sha256(f'{millis}:{name}'.encode()).hexdigest()[:20]}"


def _tick(schedule: Schedule, at: float, message_id: str, *, first_seen: bool = False) -> Tick:
    task, next_at = schedule.call.task, schedule.moments.next_after(at)
    return Tick(
        schedule=schedule.name,
        at=at,
        message_id=message_id,
        spec=_spec(schedule),
        task=task.name,
        queue=task.queue,
        next_at=next_at if math.isfinite(next_at) else None,
        first_seen=first_seen,
    )


def _event(schedule: Schedule, at: float, message_id: str, *, now: float, missed: bool, paused: bool) -> Event:
    task = schedule.call.task
    data = {"schedule": schedule.name, "scheduled_for": _iso(schedule, at), "missed": missed}
    data |= {"paused": True} if paused else {}
    return Event(EventKind.TICKED, now, queue=task.queue, task=task.name, message_id=message_id or None, data=data)


def _spec(schedule: Schedule) -> str:
    return schedule.moments.spec


def _iso(schedule: Schedule, at: float) -> str:
    return schedule.moments.iso(at)
