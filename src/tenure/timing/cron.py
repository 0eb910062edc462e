"""A cron line: moments that are named by the clocks of a time zone.

Five fields (minute, hour, day of month, month, day of week) with `*`, lists, ranges, steps and English names; `L`
is the last day of the month, `LW` its last working day, `FRI#2` the second Friday, `5L` the last Friday; `@daily`
and the like mean such a line. As in Vixie's cron, a day must fit both day fields if one of them begins with
`*`, else one of the two.

When clocks are changed:

- A line whose minute and hour both begin with something else than `*` names times of day ("30 2 * * *"). Each
  comes once a day: at the first moment at which clocks show it, or a later time. So what falls into an hour that
  is left out runs right after it, all of it as one tick, and in an hour that comes twice it runs the first time.
- Every other line ("*/15 * * * *", "0 * * * *") ticks whenever clocks show a time that fits it: not at all in an
  hour that is left out, and in both of two equal ones.

The calendar is cronsim's, walked as if clocks were never changed; what their changes mean is worked out here, for
changes of any size and to either side. Moments are wall times (Unix seconds). Pure. Used by `tasks/schedule.py`.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from tenure.errors import BadSchedule

if TYPE_CHECKING:
    from collections.abc import Iterator

_NICKNAMES = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_FIELDS = (
    "a minute (0-59)", "an hour (0-23)", "a day of the month (1-31)", "a month (1-12, JAN-DEC)",
    "a day of the week (0-7, SUN-SAT)",
)  # fmt: skip
_EXAMPLE = "as in '30 3 * * MON-FRI', at 03:30 on working days"
_LONGEST_LINE = 1000

#: No zone sets its clocks back by more than this at once.
_FOLD = timedelta(hours=4)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Cron:
    """The moments that a cron line names in a time zone."""

    line: str
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        """Refuse a line that cannot be read or never fires, and a zone that is not known."""
        object.__setattr__(self, "line", _readable(self.line))
        _zone(self.timezone)

    @property
    def spec(self) -> str:
        """The line for people: "0 3 * * * Europe/Berlin"."""
        return f"{self.line} {self.timezone}"

    def iso(self, moment: float) -> str:
        """The moment as ISO 8601, with the zone's offset."""
        return datetime.fromtimestamp(moment, _zone(self.timezone)).isoformat()

    def next_after(self, wall: float) -> float:
        """The first tick after `wall`. Infinite: none for fifty years."""
        found = self._nearest(wall, ahead=True)
        return math.inf if found is None else found

    def last_between(self, after: float, until: float) -> float | None:
        """The last tick after `after` that is not after `until`. None: there is none."""
        found = self._nearest(until, ahead=False)
        return found if found is not None and found > after else None

    def _nearest(self, wall: float, *, ahead: bool) -> float | None:
        """The first tick after `wall`, or the last one that is not after it.

        Clock times are walked in their order, which is the order of their moments except where clocks are set
        back. Only near such a place must we begin earlier, and look on behind the first hit.
        """
        zone = _zone(self.timezone)
        here = datetime.fromtimestamp(math.floor(wall), zone)
        near = {datetime.fromtimestamp(wall + side * _FOLD.total_seconds(), zone).utcoffset() for side in (-1, 1)}
        slack = timedelta() if near == {here.utcoffset()} else _FOLD
        local = here.replace(tzinfo=None, fold=0)
        best: float | None = None
        hit = local
        for shown in _walk(self.line, local - slack if ahead else local + slack + timedelta(seconds=1), ahead=ahead):
            if best is not None and abs(shown - hit) > slack:
                break
            for moment in self._moments(shown, zone):
                if (moment > wall) is ahead and (best is None or (moment < best) is ahead):
                    hit = shown if best is None else hit
                    best = moment
        return best

    def _moments(self, shown: datetime, zone: tzinfo) -> list[float]:
        """Return the ticks for the time `shown` by clocks; where clocks change, as the module says."""
        minute, hour = self.line.split()[:2]
        if minute.startswith("*") or hour.startswith("*"):
            found = {_moment(shown, zone, fold) for fold in (0, 1)}
            return sorted(moment for moment in found if moment is not None)
        while (moment := _moment(shown, zone, 0)) is None:
            shown += _MINUTE
        return [moment]


# --- reading a line ---------------------------------------------------------------------------------------


def _readable(line: object) -> str:
    """The line in its plain form, if it can be read and ever fires."""
    if not isinstance(line, str) or len(line) > _LONGEST_LINE:
        msg = f"cron={line!r:.80} is not a cron line, {_EXAMPLE}; nothing was registered"
        raise BadSchedule(msg)
    fields = _NICKNAMES.get(line.strip().lower(), line).split()
    if len(fields) != len(_FIELDS):
        hint = "; for seconds, use every=" if len(fields) > len(_FIELDS) else ""
        msg = f"cron={line!r} has {len(fields)} fields and not five, {_EXAMPLE}{hint}; nothing was registered"
        raise BadSchedule(msg)
    for place, field in enumerate(fields):
        alone = ["*"] * len(_FIELDS)
        alone[place] = field
        if not _fires(" ".join(alone)):
            msg = f"cron={line!r}: {field!r} does not say {_FIELDS[place]}, {_EXAMPLE}; nothing was registered"
            raise BadSchedule(msg)
    plain = " ".join(fields)
    if not _fires(plain):
        msg = f"cron={line!r} never fires: no such day comes in its months; nothing was registered"
        raise BadSchedule(msg)
    return plain


def _fires(line: str) -> bool:
    from cronsim import CronSimError  # noqa: PLC0415 - only who has schedules pays for it

    try:
        return next(_walk(line, datetime(2000, 1, 1), ahead=True), None) is not None  # noqa: DTZ001 - any will do
    except CronSimError:
        return False


def _walk(line: str, start: datetime, *, ahead: bool) -> Iterator[datetime]:
    """The clock times that fit the line, beginning after or before `start`, as if clocks were never changed."""
    from cronsim import CronSim  # noqa: PLC0415

    return iter(CronSim(line, start, reverse=not ahead))


# --- clocks -----------------------------------------------------------------------------------------------


def _moment(shown: datetime, zone: tzinfo, fold: int) -> float | None:
    """Return the first (0) or last (1) moment at which clocks show that time. None: clocks leave it out."""
    moment = shown.replace(tzinfo=zone, fold=fold).timestamp()
    return moment if datetime.fromtimestamp(moment, zone).replace(tzinfo=None, fold=0) == shown else None


def _zone(name: object) -> tzinfo:
    """The zone; UTC needs no database."""
    import zoneinfo  # noqa: PLC0415 - only who has schedules pays for it

    if name == "UTC":
        return UTC
    if isinstance(name, str) and name:
        try:
            return zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass  # reported below, with the known names
    known = zoneinfo.available_timezones()
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = "there is no time zone database here: pip install tzdata"
    if known:
        hint = f"did you mean {near[0]!r}?" if near else "zones have names like 'Europe/Berlin'"
    msg = f"timezone={name!r} is not known; {hint}. Nothing was registered"
    raise BadSchedule(msg)
