"""The measures of the table, in its order: what each is called, and how it is shown.

One list for the table, the plots and the tests, so that they cannot say different things.
"""

from collections.abc import Callable, Sequence

import msgspec

from tenure.simulation.pricing import Pricing
from tenure.simulation.result import Measures, Result

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_TENTHS_BELOW = 10.0


class Measure(msgspec.Struct, frozen=True):
    """One row of the table."""

    name: str
    label: str
    value: Callable[[Result, Pricing], float | None]
    tell: Callable[[float | None], str]
    #: Among the few that are drawn.
    is_drawn: bool = False


def share(value: float | None) -> str:
    """A part of a whole. A part above 0 is never shown as 0."""
    if value is None:
        return "–"
    if 0.0 < value < 0.0001:  # noqa: PLR2004 - a hundredth of a percent
        return "<0.01 %"
    return f"{value * 100:.2f} %" if value < 0.1 else f"{value * 100:.1f} %"  # noqa: PLR2004 - three digits


def span(seconds: float | None) -> str:
    """A span of time, in one unit."""
    if seconds is None:
        return "–"
    if seconds < _TENTHS_BELOW:
        return f"{seconds:.1f} s"
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.1f} min" if seconds < 100 * _MINUTE else f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < 2 * _DAY else f"{seconds / _DAY:.1f} d"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _of(read: Callable[[Measures], float | None]) -> Callable[[Result, Pricing], float | None]:
    return lambda result, _: read(result.measures)


MEASURES = (
    Measure("duplicate_share", "run to the end twice", _of(lambda m: m.duplicate_share), share, is_drawn=True),
    Measure("overlap_share", "two runs at once", _of(lambda m: m.overlap_share), share),
    Measure("given_up_share", "dead", _of(lambda m: m.given_up_share), share),
    Measure("recovery_p50", "recovery, p50", _of(lambda m: m.recovery_p50), span),
    Measure("recovery_p99", "recovery, p99", _of(lambda m: m.recovery_p99), span, is_drawn=True),
    Measure("wasted_share", "work in vain", _of(lambda m: m.wasted_share), share, is_drawn=True),
    Measure("requests_a_message", "requests a message", lambda r, _: r.requests_a_message, _figure),
    Measure("polls_a_message", "… of them empty polls", lambda r, _: r.polls_a_message, _figure),
    Measure("writes_a_message", "state writes a message", lambda r, _: r.writes_a_message, _figure),
    Measure("dollars_a_million", "dollars a million", lambda r, p: p.dollars_a_million(r), _figure, is_drawn=True),
    Measure("drain_seconds", "all finished after", lambda r, _: r.drain_seconds, span),
    Measure("oldest_seconds", "longest until done", lambda r, _: r.oldest_seconds, span),
)

#: Beside these, where workers are scaled.
SCALED = (
    Measure("worker_hours", "worker hours", lambda r, _: r.worker_seconds / _HOUR, _figure, is_drawn=True),
    Measure("interrupted", "runs cut by scale-down", lambda r, _: float(r.interrupted), _whole),
)


def drawn_for(results: Sequence[Result], pricing: Pricing) -> list[Measure]:
    """Return the rows worth a picture: those with a figure above zero."""
    return [
        measure
        for measure in measures_for(results)
        if measure.is_drawn and any(measure.value(result, pricing) for result in results)
    ]


def measures_for(results: Sequence[Result]) -> tuple[Measure, ...]:
    """The rows for these columns."""
    return (*MEASURES, *SCALED) if any(result.seen for result in results) else MEASURES
