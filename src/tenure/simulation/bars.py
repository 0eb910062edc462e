"""Bars for a terminal: a few measures, one bar a policy, in block characters; never over 80 columns or its width."""

from collections.abc import Sequence

from tenure.simulation.measure import Measure, drawn_for
from tenure.simulation.pricing import Pricing
from tenure.simulation.result import Result

WIDTH = 80
_FIGURE_WIDTH = 11
#: Shorter bars would all look alike.
_LEAST_ROOM = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"


def bars(results: Sequence[Result], pricing: Pricing, width: int = WIDTH) -> list[str]:
    """Lines of text, for a terminal of that width."""
    widest = max(len(result.policy) for result in results)
    lines: list[str] = []
    for measure in drawn_for(results, pricing):
        lines += ["", measure.label, *_group(measure, results, pricing, widest, min(width, WIDTH))]
    return lines


def _group(measure: Measure, results: Sequence[Result], pricing: Pricing, widest: int, width: int) -> list[str]:
    values = [measure.value(result, pricing) for result in results]
    room = max(_LEAST_ROOM, width - widest - _FIGURE_WIDTH - 4)
    most = max((value for value in values if value is not None), default=0.0)
    return [
        f"  {result.policy:<{widest}} {measure.tell(value):>{_FIGURE_WIDTH}} {bar(value, most, room)}".rstrip()
        for result, value in zip(results, values, strict=True)
    ]


def bar(value: float | None, most: float, room: int) -> str:
    """A bar of at most `room` characters; what is more than nothing shows."""
    if not value or most <= 0.0:
        return ""
    eighths = max(1, round(value / most * room * 8))
    return _FULL * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
