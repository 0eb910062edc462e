"""Schedules: what is sent by itself, when it was last, when it is next; run one now, pause, resume, forget."""

import math

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.naming import near
from tenure.client.operations.operations import Operations
from tenure.errors import UnknownSchedule
from tenure.message import MessageState, new_id
from tenure.notice import PostKind, Tick
from tenure.rules.rejections import error_of
from tenure.tasks.schedule import Schedule, message_of


class SchedulePause(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule for whose ticks no message is sent."""

    at: float
    by: str


class ScheduleStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One schedule, as far as it is known."""

    name: str
    spec: str
    task: str
    queue: str
    #: Whether the app's code has it. None: there is no code to ask.
    in_app: bool | None
    #: The newest tick. None: there was none yet.
    last_at: float | None = None
    #: The message of that tick. None: the tick was skipped, or there was none.
    message_id: str | None = None
    #: None: it has none, or its record has expired.
    message_state: MessageState | None = None
    next_at: float | None = None
    paused: SchedulePause | None = None


class ScheduleList(msgspec.Struct, frozen=True, kw_only=True):
    """Every schedule of the code or of the store, by name."""

    schedules: tuple[ScheduleStatus, ...]


class ScheduleRun(msgspec.Struct, frozen=True, kw_only=True):
    """The message of a schedule that was run by hand."""

    name: str
    message_id: str
    #: Nothing new was stored: a message of this schedule was waiting already.
    duplicate: bool = False


class ScheduleChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a schedule."""

    name: str
    #: False: it was so before.
    changed: bool


class ScheduleOperations(Operations):
    """Operations on schedules. All acts raise `UnknownSchedule`."""

    async def schedules(self) -> ScheduleList:
        """Return the schedules with their last and next ticks."""
        access = await self._opened()
        known = await _known(access)
        pauses = await _paused(access)
        return ScheduleList(
            schedules=tuple([await _status(access, name, known[name], pauses.get(name)) for name in sorted(known)])
        )

    async def run_schedule(self, name: str) -> ScheduleRun:
        """Send one message of a schedule now, outside its ticks. Needs the app's code.

        As with its ticks, nothing new is stored while an earlier message of it waits.
        """
        access = await self._opened()
        full, _ = await self._named(name, "nothing was sent")
        schedule = access.schedules.get(full)
        if schedule is None:
            msg = f"schedule {full!r} is not in the code of this app, so its message is not known; nothing was sent"
            raise UnknownSchedule(msg)
        wall = access.state.wall()
        client = access.registry.client
        (sent,) = await access.client.send(
            [message_of(schedule, id=new_id(wall), at=wall, client=client, sent_at=wall)], within_quota=False
        )
        if sent.refusal is not None:
            raise error_of(sent.refusal)
        if not sent.duplicate:
            await access.operator().ran_schedule(full, schedule.call.task.queue, sent.id)
        return ScheduleRun(name=full, message_id=sent.id, duplicate=sent.duplicate)

    async def pause_schedule(self, name: str) -> ScheduleChange:
        """Let no message be sent for the ticks of a schedule, until it is resumed; they are not made up for."""
        access = await self._opened()
        full, queue = await self._named(name, "nothing was paused")
        return ScheduleChange(name=full, changed=await access.operator().pause_schedule(full, queue))

    async def resume_schedule(self, name: str) -> ScheduleChange:
        """Let a schedule go on, with its next tick."""
        access = await self._opened()
        full, queue = await self._named(name, "nothing was resumed")
        if full in await _paused(access):
            await _skip_until_now(access, full)
        return ScheduleChange(name=full, changed=await access.operator().resume_schedule(full, queue))

    async def forget_schedule(self, name: str) -> ScheduleChange:
        """Forget the last tick of a schedule; one in the code starts over."""
        access = await self._opened()
        full, queue = await self._named(name, "nothing was forgotten")
        return ScheduleChange(name=full, changed=await access.operator().forget(full, queue))

    async def _named(self, name: str, consequence: str) -> tuple[str, str]:
        """The whole name of a schedule that is known, and its queue."""
        access = self._access
        known = await _known(access)
        full = name if name in known or access.namespace is None else f"{access.namespace}/{name}"
        found = known.get(full)
        if found is None:
            msg = f"no schedule {name!r} is known{near(full, known)}; {consequence}"
            raise UnknownSchedule(msg)
        return full, found.queue


class _KnownSchedule(msgspec.Struct, frozen=True):
    """A schedule as the code or the store knows it; at least one of them does."""

    schedule: Schedule | None
    tick: Tick | None

    @property
    def queue(self) -> str:
        """The queue to which its messages go."""
        return self.schedule.call.task.queue if self.schedule is not None else self.tick.queue if self.tick else ""


async def _known(access: Access) -> dict[str, _KnownSchedule]:
    """The schedules that are there for this identity."""
    own = "" if access.namespace is None else f"{access.namespace}/"
    ticks = {tick.schedule: tick for tick in await access.state.board.ticks() if tick.schedule.startswith(own)}
    known = {name: _KnownSchedule(access.schedules.get(name), ticks.get(name)) for name in {*access.schedules, *ticks}}
    return {name: one for name, one in known.items() if access.sees_every_queue or access.sees(one.queue)}


async def _paused(access: Access) -> dict[str, SchedulePause]:
    posts = (await access.state.board.read()).posts
    return {one.name: SchedulePause(at=one.at, by=one.by) for one in posts if one.kind is PostKind.PAUSED_SCHEDULE}


async def _status(access: Access, name: str, known: _KnownSchedule, pause: SchedulePause | None) -> ScheduleStatus:
    tick, schedule, now = known.tick, known.schedule, access.state.wall()
    if schedule is not None:
        moments, task = schedule.moments, schedule.call.task.name
        following = moments.next_after(now if tick is None else min(tick.at, now))
        spec, next_at = moments.spec, following if math.isfinite(following) else None
    else:
        spec, task, next_at = (tick.spec, tick.task, tick.next_at) if tick else ("", "", None)
    in_app = schedule is not None if access.tasks else None
    found = ScheduleStatus(
        name=name, spec=spec, task=task, queue=known.queue, in_app=in_app, next_at=next_at, paused=pause
    )
    if tick is None or tick.first_seen:
        return found
    state = await _state(access, tick)
    return msgspec.structs.replace(found, last_at=tick.at, message_id=tick.message_id or None, message_state=state)


async def _state(access: Access, tick: Tick) -> MessageState | None:
    record = await access.state.records.get(tick.message_id) if tick.message_id else None
    return None if record is None else record.state


async def _skip_until_now(access: Access, name: str) -> None:
    """Ticks of the pause at which no worker ran are noted as skipped: a resumed schedule goes on with its next one."""
    now = access.state.wall()
    tick = next((one for one in await access.state.board.ticks() if one.schedule == name), None)
    if tick is None or tick.at >= now:
        return
    schedule = access.schedules.get(name)
    following = tick.next_at if schedule is None else schedule.moments.next_after(now)
    next_at = following if following is not None and math.isfinite(following) else None
    await access.state.board.tick(msgspec.structs.replace(tick, at=now, message_id="", next_at=next_at))
