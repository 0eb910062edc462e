"""The part of the picture that shows workers and messages over time, where workers scale.

Workers are an area in the colour of their column, messages a line, so that they can be distinguished without colours.
All charts of a picture have the same scales, in time as well; a column that never came to its end is shown for as
long as the others took. Drawn by `svg.py`.
"""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise, takewhile

import msgspec

from tenure.simulation.fleet import FleetView
from tenure.simulation.measure import span
from tenure.simulation.result import Result

HEIGHT = 200
_HEAD, _FOOT = 30, 30
_ROOM = HEIGHT - _HEAD - _FOOT
#: The widest of the usual fonts, at 13 pixels.
_LETTER = 7.4
_SWATCH = 24
#: Up to this many messages for each worker, both are drawn to one scale; beyond, workers would be a thin line.
_COMPARABLE = 3


class ChartScale(msgspec.Struct, frozen=True):
    """The ends of the axes, the same in every chart."""

    seconds: float
    workers: int
    messages: int

    @classmethod
    def of(cls, results: Sequence[Result]) -> "ChartScale":
        """Scale to the longest that ended; if none did, to the longest."""
        ended = [result for result in results if not result.stuck] or results
        seconds = max((result.seconds for result in ended), default=0.0)
        seen = [glance for result in results for glance in result.seen if glance.at <= seconds]
        workers = max((glance.workers for glance in seen), default=0) or 1
        messages = max((glance.ready + glance.leased for glance in seen), default=0) or 1
        if messages <= _COMPARABLE * workers:
            workers = messages = max(workers, messages)
        return cls(max(seconds, 1.0), workers, messages)


def chart(result: Result, scale: ChartScale, colour: str, left: float, top: float, width: float) -> list[str]:
    """The chart of one column, `HEIGHT` high."""
    seen = list(takewhile(lambda glance: glance.at <= scale.seconds, result.seen))
    base = top + HEIGHT - _FOOT
    end = min(result.seconds, scale.seconds)

    def points(parts: Iterable[float]) -> str:
        """Steps: what was seen holds until the next look."""
        placed = [
            (left + width * glance.at / scale.seconds, base - _ROOM * part)
            for glance, part in zip(seen, parts, strict=True)
        ]
        placed.append((left + width * end / scale.seconds, placed[-1][1]))
        steps = [placed[0]]
        for (_, before), (x, y) in pairwise(placed):
            steps += [(x, before), (x, y)] if y != before else [(x, y)]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in steps)

    area = points(glance.workers / scale.workers for glance in seen)
    line = points((glance.ready + glance.leased) / scale.messages for glance in seen)
    last = area.rpartition(" ")[2].partition(",")[0]
    shown = f"the first {span(end)} of {span(result.seconds)}" if end < result.seconds else span(end)
    return [
        f'<text class="ink head" x="{left}" y="{top + 14}">{escape(result.policy)}</text>',
        *_legend(seen, colour, left + width, top + 14),
        f'<polygon class="{colour} area" points="{left:.1f},{base:.1f} {area} {last},{base:.1f}"/>',
        f'<polyline class="line" points="{line}"/>',
        f'<path class="rule" d="M{left} {base}H{left + width}"/>',
        f'<text class="faint" x="{left}" y="{base + 16}">0</text>',
        f'<text class="faint" text-anchor="end" x="{last}" y="{base + 16}">{shown}</text>',
    ]


def _legend(seen: Sequence[FleetView], colour: str, right: float, y: float) -> list[str]:
    """Draw the legend: each curve's name and its maximum; ends at `right`."""
    messages = f"messages that wait or run, at most {max(glance.ready + glance.leased for glance in seen):,}"
    workers = f"workers, at most {max(glance.workers for glance in seen)}"
    second = right - len(messages) * _LETTER
    first = second - 2 * _SWATCH - len(workers) * _LETTER
    return [
        f'<rect class="{colour} area" x="{first - _SWATCH:.1f}" y="{y - 10}" width="18" height="10"/>',
        f'<text class="faint" x="{first:.1f}" y="{y}">{workers}</text>',
        f'<polyline class="line" points="{second - _SWATCH:.1f},{y - 5} {second - _SWATCH + 18:.1f},{y - 5}"/>',
        f'<text class="faint" x="{second:.1f}" y="{y}">{messages}</text>',
    ]
