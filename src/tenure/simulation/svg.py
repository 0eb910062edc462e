"""The plot as SVG, written by hand: a panel for each measure, a bar for each policy; over time, where workers scale.

It carries its own style, with colours for a light and a dark page, and needs nothing else: no script, no font, no link.
"""

from collections.abc import Sequence
from html import escape

from tenure.simulation.crew import Glance
from tenure.simulation.measure import Measure, drawn_for
from tenure.simulation.pricing import Pricing
from tenure.simulation.result import Result

_PANEL_WIDTH, _COLUMNS = 440, 2
_LEFT, _TOP, _GAP = 20, 64, 24
_ROW, _HEAD = 26, 30
_FIGURE_WIDTH = 78
_LETTER = 7.4
_CHART_HEIGHT = 150

_STYLE = """
  svg { color-scheme: light dark; }
  .page { fill: #ffffff; } .ink { fill: #1f2933; } .faint { fill: #52606d; } .rule { stroke: #cbd2d9; }
  .b0 { fill: #9a6700; } .b1 { fill: #b3372f; } .b2 { fill: #1a7f5a; } .b3 { fill: #2563a8; } .b4 { fill: #7048a8; }
  .b5 { fill: #52606d; }
  .l0 { stroke: #1a7f5a; } .l1 { stroke: #9a6700; } .line { fill: none; stroke-width: 1.6; }
  text { font: 13px system-ui, sans-serif; } .title { font-size: 17px; font-weight: 600; }
  .head { font-weight: 600; } .figure { font-variant-numeric: tabular-nums; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14181d; } .ink { fill: #e4e7eb; } .faint { fill: #9aa5b1; } .rule { stroke: #3e4c59; }
    .b0 { fill: #d9a441; } .b1 { fill: #ef7b72; } .b2 { fill: #4fc295; } .b3 { fill: #6ea8e8; } .b4 { fill: #b394e6; }
    .b5 { fill: #9aa5b1; }
    .l0 { stroke: #4fc295; } .l1 { stroke: #d9a441; }
  }
"""
_COLOURS = 6


def svg(results: Sequence[Result], pricing: Pricing, title: str, subtitle: str) -> str:
    """The whole document."""
    drawn = drawn_for(results, pricing)
    height = _HEAD + _ROW * len(results)
    rows = -(-len(drawn) // _COLUMNS)
    below = _TOP + rows * (height + _GAP)
    parts: list[str] = []
    for place, measure in enumerate(drawn):
        left = _LEFT + place % _COLUMNS * (_PANEL_WIDTH + _GAP)
        parts += _panel(measure, results, pricing, left, _TOP + place // _COLUMNS * (height + _GAP))
    for result in results:
        if result.seen:
            parts += _chart(result, below)
            below += _CHART_HEIGHT + _HEAD + _GAP
    width = 2 * _LEFT + _COLUMNS * _PANEL_WIDTH + _GAP
    about = escape(_about(drawn, results, pricing))
    box = f'viewBox="0 0 {width} {below}" width="{width}" height="{below}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-labelledby="title about">',
        f'<title id="title">{escape(title)}</title><desc id="about">{about}</desc>',
        f"<style>{_STYLE}</style>",
        '<rect class="page" width="100%" height="100%"/>',
        f'<text class="ink title" x="{_LEFT}" y="28">{escape(title)}</text>',
        f'<text class="faint" x="{_LEFT}" y="48">{escape(subtitle)}</text>',
    ]
    return "\n".join([*head, *parts, "</svg>", ""])


def _about(drawn: Sequence[Measure], results: Sequence[Result], pricing: Pricing) -> str:
    """In words, for whoever does not see it."""
    told = [
        f"{measure.label}: "
        + ", ".join(f"{result.policy} {measure.tell(measure.value(result, pricing))}" for result in results)
        for measure in drawn
    ]
    return "; ".join(told)


def _panel(measure: Measure, results: Sequence[Result], pricing: Pricing, left: float, top: float) -> list[str]:
    values = [measure.value(result, pricing) for result in results]
    most = max((value for value in values if value is not None), default=0.0)
    names = max(len(result.policy) for result in results) * _LETTER + 10
    start, room = left + names, _PANEL_WIDTH - names - _FIGURE_WIDTH
    parts = [f'<text class="ink head" x="{left}" y="{top + 14}">{escape(measure.label)}</text>']
    for place, (result, value) in enumerate(zip(results, values, strict=True)):
        y = top + _HEAD + place * _ROW
        wide = room * value / most if value and most > 0.0 else 0.0
        shown = max(1.5, wide) if value else 0.0
        parts += [
            f'<text class="ink" x="{left}" y="{y + 13}">{escape(result.policy)}</text>',
            f'<rect class="b{place % _COLOURS}" x="{start:.1f}" y="{y}" width="{shown:.1f}" height="17" rx="2"/>',
            f'<text class="faint figure" x="{start + shown + 6:.1f}" y="{y + 13}">{escape(measure.tell(value))}</text>',
        ]
    rule = top + _HEAD - 4
    parts.append(f'<path class="rule" d="M{start:.1f} {rule}V{rule + _ROW * len(results)}"/>')
    return parts


def _chart(result: Result, top: float) -> list[str]:
    """Workers and messages over time."""
    seen = result.seen
    last = max(seen[-1].at, 1.0)
    width = 2 * _PANEL_WIDTH + _GAP
    workers = max(glance.workers for glance in seen) or 1
    messages = max(glance.ready + glance.leased for glance in seen) or 1
    base = top + _HEAD + _CHART_HEIGHT - 20

    def line(name: str, height: "list[float]") -> str:
        points = " ".join(
            f"{_LEFT + width * glance.at / last:.1f},{base - (_CHART_HEIGHT - 30) * part:.1f}"
            for glance, part in zip(seen, height, strict=True)
        )
        return f'<polyline class="line {name}" points="{points}"/>'

    green, amber = f"green: workers, at most {workers}", f"amber: messages that wait or run, at most {messages:,}"
    return [
        f'<text class="ink head" x="{_LEFT}" y="{top + 14}">{escape(result.policy)}</text>',
        f'<text class="faint" x="{_LEFT + 190}" y="{top + 14}">{green}; {amber}; over {last / 3600:.1f} h</text>',
        f'<path class="rule" d="M{_LEFT} {base}H{_LEFT + width}"/>',
        line("l1", [(glance.ready + glance.leased) / messages for glance in seen]),
        line("l0", _parts(seen, workers)),
    ]


def _parts(seen: Sequence[Glance], most: int) -> list[float]:
    return [glance.workers / most for glance in seen]
