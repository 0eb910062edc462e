"""Figures in at most six characters, so that a column keeps its width whatever happens. None is a dash. Pure."""

import math
from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
#: Seconds in a unit, its name, and from how many seconds on the next one is used.
_UNITS = ((1, "s", 120), (60, "min", 7_200), (3_600, "h", 172_800), (86_400, "d", 9_999 * 86_400))


def whole(number: float | None, *, estimated: bool = False) -> str:
    """Format a count: `0`, `1,204`, `99,999`, `120 k`, `1.2 M`."""
    if number is None:
        return "–"
    mark = "~" if estimated else ""
    if number < 99_999.5:  # noqa: PLR2004 - the largest that fits with its comma
        return f"{mark}{round(number):,}"
    for unit, name in ((1e3, "k"), (1e6, "M"), (1e9, "G")):
        if number < unit * 999.5:
            scaled = number / unit
            return f"{mark}{scaled:.1f} {name}" if scaled < 10 and unit > 1e3 else f"{mark}{scaled:.0f} {name}"  # noqa: PLR2004
    return f"{mark}>1 T"


def rate(per_second: float | None) -> str:
    """A rate: `0`, `0.02`, `3.2`, `312`, `9,812`, `120 k`."""
    if per_second is None:
        return "–"
    if per_second < 0.005:  # noqa: PLR2004 - it would be written 0.00
        return "0"
    if per_second < 0.095:  # noqa: PLR2004 - a message in ten seconds and less
        return f"{per_second:.2f}"
    return f"{per_second:.1f}" if per_second < 9.95 else whole(per_second)  # noqa: PLR2004 - below ten a tenth matters


def span(seconds: float | None) -> str:
    """A span of time in one unit: `<1 ms`, `340 ms`, `3.4 s`, `42 s`, `12 min`, `27 h`, `3 d`."""
    if seconds is None or math.isinf(seconds) or seconds >= 0.9995:  # noqa: PLR2004 - it would be written 1000 ms
        is_small = seconds is not None and seconds < 9.95  # noqa: PLR2004 - below ten a tenth matters
        return f"{seconds:.1f} s" if is_small else age(seconds)
    if seconds <= 0:
        return "0 s"
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.0005 else "<1 ms"  # noqa: PLR2004 - it would be written 0 ms


def age(seconds: float | None) -> str:
    """Format a waiting or running time: as `span`, but in whole seconds."""
    if seconds is None:
        return "–"
    if math.isinf(seconds):
        return "grows"
    for unit, name, until in _UNITS:
        if seconds < until:
            return f"{max(0, int(seconds)) if unit == 1 else round(seconds / unit)} {name}"
    return ">27 y"


def left(seconds: float | None) -> str:
    """The rest of a lease: `12 s`, or how long it is overdue: `-3 s`."""
    if seconds is None:
        return "–"
    return f"-{age(-seconds)}" if seconds <= -1 else age(seconds)


def share(part: float | None) -> str:
    """A part of a whole: `0 %`, `0.3 %`, `12 %`, `>999 %`."""
    if part is None:
        return "–"
    percent = 100 * part
    if percent == 0:
        return "0 %"
    if percent < 9.95:  # noqa: PLR2004 - below ten a tenth matters
        return "<0.1 %" if percent < 0.05 else f"{percent:.1f} %"  # noqa: PLR2004 - it would be written 0.0
    return f"{percent:.0f} %" if percent < 999.5 else ">999 %"  # noqa: PLR2004 - six characters


def sparkline(values: Sequence[float], width: int) -> str:
    """The last `width` values as bars, against the highest of them; padded on the left."""
    shown = list(values)[-width:] if width > 0 else []
    most = max(shown, default=0.0)
    if most <= 0:
        return ("▁" * len(shown)).rjust(width)
    top = len(_BARS) - 1
    return "".join(_BARS[0 if value <= 0 else max(1, round(value / most * top))] for value in shown).rjust(width)
