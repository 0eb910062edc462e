"""Moments as people write them, "2030-01-31T09:00+01:00", and as they read them."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from tenure.cli.terminal.duration import DURATION
from tenure.errors import BadArgument

if TYPE_CHECKING:
    _Moment = click.ParamType[datetime]
    _Either = click.ParamType[datetime | float]
else:
    _Moment = _Either = click.ParamType  # not generic before click 8.2


class Moment(_Moment):
    """An option that takes a point in time: ISO 8601, with its offset."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The moment; raises `BadArgument` for one without an offset, which could mean several."""
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(str(value).strip())
        except ValueError:
            self.fail(f"{value!r} is not a moment; write 2030-01-31T09:00+01:00 or 2030-01-31T08:00Z", param, ctx)
        if moment.utcoffset() is None:
            # Written out from what was read: an offset after "2030-01-31" or "2030-W05" would be refused in turn.
            written = moment.isoformat(timespec="auto" if moment.second or moment.microsecond else "minutes")
            raise BadArgument(
                f"{value!r} has no offset, so the moment is ambiguous; write {written}Z for UTC, or {written}+01:00. "
                "Nothing was done"
            )
        return moment


class DurationOrMoment(_Either):
    """An option that takes a span from now, or a point in time."""

    name = "duration or moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime | float:
        """Seconds, or the moment."""
        looks_like_a_date = isinstance(value, str) and value.strip()[4:5] == "-"
        return (MOMENT if looks_like_a_date else DURATION).convert(value, param, ctx)


MOMENT = Moment()
DURATION_OR_MOMENT = DurationOrMoment()


def moment_of(when: datetime | float | None, wall: float) -> float | None:
    """Wall time of a moment, or of this many seconds before `wall`."""
    if when is None:
        return None
    return when.timestamp() if isinstance(when, datetime) else wall - when


def local(wall: float | None, *, precise: bool = False) -> str:
    """Date, time and offset of this machine's time zone. None, what cannot be known, is a dash."""
    if wall is None:
        return "–"
    moment = datetime.fromtimestamp(wall).astimezone()
    return moment.isoformat(sep=" ", timespec="milliseconds" if precise else "seconds")
