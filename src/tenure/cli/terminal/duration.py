"""Durations, as people write them ("30", "30s", "5m", "2h") and as they read them ("12 s", "Overdue 3 s")."""

from typing import TYPE_CHECKING, Any

import click

from tenure.timing.span import EXAMPLES, seconds_in

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


if TYPE_CHECKING:
    _Parameter = click.ParamType[float]
else:
    _Parameter = click.ParamType  # not generic before click 8.2


class Duration(_Parameter):
    """An option that takes a time span; the command gets seconds."""

    name = "duration"

    def __init__(self, least: float = 0.0) -> None:
        """Refuse less than `least` seconds."""
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds, from a number with or without a unit."""
        if isinstance(value, int | float):
            return float(value)
        seconds = seconds_in(str(value))
        if seconds is None:
            self.fail(f"{value!r} is not a duration; write {EXAMPLES}", param, ctx)
        if seconds < self._least:
            self.fail(f"{value!r} is too short; at least {spoken(self._least)}", param, ctx)
        return seconds


DURATION = Duration()


def watch_seconds(every: float | None, default: float, *, watch: bool) -> float:
    """How often --watch looks. Refuses --every where nothing is watched."""
    if every is not None and not watch:
        raise click.UsageError("--every is for --watch: add --watch")
    return default if every is None else every


def spoken(seconds: float | None) -> str:
    """A span of time in at most two units. None (not known) is a dash."""
    if seconds is None:
        return "–"
    seconds = max(0.0, seconds)
    if seconds < 10:  # noqa: PLR2004 - below ten a tenth matters
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 2 * _MINUTE:
        return f"{whole} s"
    if whole < 2 * _HOUR:
        return _two(whole, _MINUTE, "min", 1, "s") if whole < 10 * _MINUTE else f"{whole // _MINUTE} min"
    return _two(whole, _HOUR, "h", _MINUTE, "min") if whole < 2 * _DAY else _two(whole, _DAY, "d", _HOUR, "h")


def stated(seconds: float) -> str:
    """A duration from a setting, or a part of one: 3 s is not said as 3.0 s, nor a third of 4 s as 1.33333 s."""
    return f"{seconds:.3g} s" if seconds < 10 else spoken(seconds)  # noqa: PLR2004 - as in `spoken`


def exact(seconds: float | None) -> str:
    """Format how long something took: as `spoken`, but below a second in milliseconds."""
    if seconds is None or seconds >= 1:
        return spoken(seconds)
    millis = max(0.0, seconds) * 1000
    return f"{millis:.0f} ms" if millis >= 1 else "<1 ms"


def countdown(seconds: float | None) -> str:
    """The time left of a lease: "12 s", or "Overdue 3 s"."""
    if seconds is None:
        return "–"
    if seconds < 0:
        return f"Overdue {_whole_below_minutes(-seconds)}"
    return _whole_below_minutes(seconds)


def _whole_below_minutes(seconds: float) -> str:
    return f"{round(seconds)} s" if seconds < 2 * _MINUTE else spoken(seconds)


def _two(seconds: int, big: int, big_name: str, small: int, small_name: str) -> str:
    rest = seconds % big // small
    return f"{seconds // big} {big_name}" + (f" {rest} {small_name}" if rest else "")
