"""Parts of a whole, as people write them ("0.01", "1%"), and how often workers die ("1%" of runs, "0.5/h")."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _Parameter = click.ParamType[float]
    _Pair = click.ParamType[tuple[float, float]]
else:
    _Parameter = _Pair = click.ParamType  # not generic before click 8.2


def _part(text: str) -> float | None:
    """Between 0 and 1; None: it is no such thing."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 and not rest else None


class Share(_Parameter):
    """An option that takes a part of a whole."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Between 0 and 1."""
        if isinstance(value, int | float):
            return float(value)
        part = _part(str(value))
        if part is None:
            self.fail(f"{value!r} is not a fraction; write 0.01 or 1%", param, ctx)
        return part


class CrashRate(_Pair):
    """An option that takes a part of all runs, or this many an hour for each worker."""

    name = "share|rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """The part of the runs, and how often in an hour; one of them is 0."""
        if isinstance(value, tuple):
            return value
        text = str(value).strip()
        if text.endswith("/h"):
            try:
                hourly = float(text.removesuffix("/h"))
            except ValueError:
                hourly = -1.0
            if 0.0 <= hourly <= MOST_AN_HOUR:
                return 0.0, hourly
        part = _part(text)
        if part is None or part >= 1.0:
            self.fail(f"{value!r} is neither a part of the runs (1%) nor a rate for each worker (0.5/h)", param, ctx)
        return part, 0.0


#: A worker that dies more often does nothing else.
MOST_AN_HOUR = 600.0
SHARE = Share()
CRASH_RATE = CrashRate()
