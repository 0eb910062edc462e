"""The plot as SVG, written by hand: a panel for each measure, a bar for each policy; over time, where workers scale.

It carries its own style, with colours for a light and a dark page, and needs nothing else: no script, no font, no link.
"""

from collections.abc import Sequence
from html import escape
from textwrap import wrap

from tenure.simulation.chart import HEIGHT, ChartScale, chart
from tenure.simulation.measure import Measure, drawn_for
from tenure.simulation.pricing import Pricing
from tenure.simulation.result import Result

_PANEL_WIDTH, _COLUMNS = 440, 2
_LEFT, _TOP, _GAP = 20, 28, 24
_WIDTH = _COLUMNS * _PANEL_WIDTH + _GAP
_ROW, _HEAD = 26, 30
_FIGURE_WIDTH = 78
#: The widest of the usual fonts, at 13 pixels.
_LETTER = 7.4
_LINE = 18

_STYLE = """
  svg { color-scheme: light dark; }
  .page { fill: #ffffff; } .ink { fill: #1f2933; } .faint { fill: #52606d; } .rule { stroke: #cbd2d9; }
  .b0 { fill: #9a6700; } .b1 { fill: #b3372f; } .b2 { fill: #1a7f5a; } .b3 { fill: #2563a8; } .b4 { fill: #7048a8; }
  .b5 { fill: #52606d; }
  .area { fill-opacity: 0.45; } .line { fill: none; stroke: #1f2933; stroke-width: 1.6; }
  text { font: 13px system-ui, sans-serif; } .title { font-size: 17px; font-weight: 600; }
  .head { font-weight: 600; } .figure { font-variant-numeric: tabular-nums; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14181d; } .ink { fill: #e4e7eb; } .faint { fill: #9aa5b1; } .rule { stroke: #3e4c59; }
    .b0 { fill: #d9a441; } .b1 { fill: #ef7b72; } .b2 { fill: #4fc295; } .b3 { fill: #6ea8e8; } .b4 { fill: #b394e6; }
    .b5 { fill: #9aa5b1; }
    .line { stroke: #e4e7eb; }
  }
"""
_COLOURS = 6


def svg(results: Sequence[Result], pricing: Pricing, title: str, subtitle: str) -> str:
    """The whole document."""
    drawn = drawn_for(results, pricing)
    about = escape(_about(drawn, results, pricing))
    parts, below = _head(title, subtitle)
    height = _HEAD + _ROW * len(results)
    for place, measure in enumerate(drawn):
        left = _LEFT + place % _COLUMNS * (_PANEL_WIDTH + _GAP)
        parts += _panel(measure, results, pricing, left, below + place // _COLUMNS * (height + _GAP))
    below += -(-len(drawn) // _COLUMNS) * (height + _GAP)
    scale = ChartScale.of(results)
    for place, result in enumerate(results):
        if result.seen:
            parts += chart(result, scale, f"b{place % _COLOURS}", _LEFT, below, _WIDTH)
            below += HEIGHT
    box = f'viewBox="0 0 {_WIDTH + 2 * _LEFT} {below}" width="{_WIDTH + 2 * _LEFT}" height="{below}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-labelledby="title about">',
            f'<title id="title">{escape(title)}</title><desc id="about">{about}</desc>',
            f"<style>{_STYLE}</style>",
            '<rect class="page" width="100%" height="100%"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def _head(title: str, subtitle: str) -> tuple[list[str], int]:
    """The title, what was simulated in as many lines as it needs, and where the rest begins."""
    parts = [f'<text class="ink title" x="{_LEFT}" y="{_TOP}">{escape(title)}</text>']
    below = _TOP + 2
    for line in wrap(subtitle, int(_WIDTH / _LETTER)):
        below += _LINE
        parts.append(f'<text class="faint" x="{_LEFT}" y="{below}">{escape(line)}</text>')
    return parts, below + 16


def _about(drawn: Sequence[Measure], results: Sequence[Result], pricing: Pricing) -> str:
    """Describe the chart in words, for readers who cannot see it."""
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
