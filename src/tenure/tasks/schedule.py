"""A schedule: a call that is sent again and again, at moments that every worker works out alike.

The moments are those of a cron line in a time zone (`timing/cron.py`, which says what happens when clocks are
changed) or of an interval (`timing/interval.py`). Every mistake in a schedule is reported when it is made.

Pure. Made by `app.schedule`; next: `runtime/background/scheduler.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, cast, get_args

from tenure.errors import BadMessage, BadSchedule
from tenure.message import Outgoing
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Call, Options
from tenure.timing.cron import Cron
from tenure.timing.interval import Every

#: What to do about ticks that were missed because no worker ran: one message for all of them, or none.
Missed = Literal["once", "skip"]

#: Headers of the message of a tick.
SCHEDULE_HEADER = "tenure-schedule"
SCHEDULED_FOR_HEADER = "tenure-scheduled-for"

#: The same for every tick, so only the first one would ever run.
_ONE_USE = ("id", "key", "at")


@dataclass(frozen=True)
class Schedule:
    """A call and the moments at which it is sent. The name is unique within one state."""

    name: str
    call: Call[object]
    moments: Cron | Every
    missed: Missed
    options: Options

    def next_after(self, moment: datetime) -> datetime:
        """The first tick after a moment that has a time zone, in UTC."""
        return datetime.fromtimestamp(self.moments.next_after(moment.timestamp()), UTC)


def message_of(schedule: Schedule, *, id: str, at: float, client: str | None, sent_at: float) -> Outgoing:
    """The message of a schedule for one moment."""
    options = {**schedule.call.options, **schedule.options}
    headers = cast("dict[str, str]", options.get("headers") or {})
    own = {SCHEDULE_HEADER: schedule.name, SCHEDULED_FOR_HEADER: schedule.moments.iso(at)}
    # Unique: while no worker runs, ticks do not pile up.
    merged = {"unique": f"schedule:{schedule.name}", **options, "headers": headers | own}
    return outgoing(schedule.call, cast("Options", merged), id=id, client=client, sent_at=sent_at)


def schedule_from(
    name: str,
    call: Call[object],
    *,
    cron: str | None = None,
    every: float | timedelta | None = None,
    timezone: str = "UTC",
    missed: Missed = "once",
    options: Options | None = None,
) -> Schedule:
    """A schedule as the user wrote it; everything that is wrong with it is said now, not at its first tick."""
    try:
        _check_words(name, missed)
        return Schedule(name, call, _moments(cron, every, timezone), missed, _fitting(call, options or {}))
    except BadSchedule as error:
        msg = f"schedule {name!r}: {error}"
        raise BadSchedule(msg) from None


def _check_words(name: object, missed: object) -> None:
    if not isinstance(name, str) or not name.strip():
        msg = "its name must be a non-empty text; nothing was registered"
        raise BadSchedule(msg)
    if missed not in get_args(Missed):
        msg = f"missed={missed!r} is neither 'once' nor 'skip'; nothing was registered"
        raise BadSchedule(msg)


def _moments(cron: str | None, every: float | timedelta | None, timezone: str) -> Cron | Every:
    if (cron is None) == (every is None):
        which = "neither was given" if cron is None else "both were given"
        msg = f"give either cron= or every=: {which}; nothing was registered"
        raise BadSchedule(msg)
    if cron is not None:
        return Cron(cron, timezone)
    if timezone != "UTC":
        msg = "an interval has no time zone: leave timezone= out, or use cron=; nothing was registered"
        raise BadSchedule(msg)
    return Every(every.total_seconds() if isinstance(every, timedelta) else cast("float", every))


def _fitting(call: Call[object], options: Options) -> Options:
    """The options, if a message can be made with them at every tick."""
    given: object = call
    if not isinstance(given, Call):
        msg = f"{given!r} is not a call: bind the task's arguments, as in task.bind(…); nothing was registered"
        raise BadSchedule(msg)
    merged = {**call.options, **options}
    fixed = [name for name in _ONE_USE if name in merged]
    if isinstance(merged.get("expires"), datetime):
        fixed.append("expires")
    if fixed:
        msg = f"{fixed[0]}= would be the same for every tick, so only the first could run; nothing was registered"
        raise BadSchedule(msg)
    try:
        outgoing(call, cast("Options", {"unique": "any", **merged}), id="any", client=None, sent_at=0.0)
    except BadMessage as error:
        raise BadSchedule(str(error)) from error
    return options
