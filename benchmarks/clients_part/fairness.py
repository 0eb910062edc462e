"""The picture of fairness in the docs: how long each of two clients was worked for, with shared time and in turn.

    python -m benchmarks.clients_part.fairness measure | draw

`measure` lets one worker with four slots on SQLite work for two clients that have both sent more than it can do: tasks
of 0.5 s for `acme`, of 0.02 s for `globex`. It writes `fairness.json`. `draw` makes docs/pictures/fairness.svg of that;
a test compares them.
"""

import asyncio
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import driving
from benchmarks.clients_part.sending import message
from benchmarks.sqlite_part.measure import address
from tenure import Tenure

DATA = Path(__file__).parent / "fairness.json"
PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "fairness.svg"
#: Seconds that a task of each client takes, and how many are sent.
CLIENTS = {"acme": (0.5, 400), "globex": (0.02, 6_000)}
SECONDS = 15.0
SLOTS = 4
_TITLES = {"in-turn": "A lease call for each queue in turn", "fair": "Shared by work time"}

_WIDTH, _HEIGHT, _LEFT, _TOP, _PANEL, _GAP, _DEPTH = 760, 330, 56, 56, 300, 72, 200
_STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 14px }
  .small { font-size: 12px; fill: #57606a }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .axis { stroke: #57606a; stroke-width: 1 }
  .acme, .globex { fill: none; stroke-width: 2.5; stroke-linejoin: round }
  .acme { stroke: #0550ae } .globex { stroke: #bc4c00; stroke-dasharray: 7 4 }
  .of-acme { fill: #0550ae; font-weight: 600 } .of-globex { fill: #bc4c00; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9da7b3 } .grid { stroke: #30363d } .axis { stroke: #9da7b3 }
    .acme { stroke: #79c0ff } .globex { stroke: #ffa657 } .of-acme { fill: #79c0ff } .of-globex { fill: #ffa657 }
  }
"""


def measure() -> dict[str, Any]:
    """Seconds of work for each client, by half seconds, in both ways."""
    return {how: _worked(how) for how in _TITLES}


def _worked(how: str) -> dict[str, list[float]]:
    with address() as url:
        asyncio.run(_load(url))
        args = ("benchmarks.clients_part.fair_worker", "share", SECONDS, how)
        answer = driving.last_line(driving.run(*args, env=driving.environment(url)))
    steps = [number / 2 for number in range(int(SECONDS * 2) + 1)]
    return {
        client: [
            round(sum(worked for at, of, worked in answer["ended"] if of == client and at <= step), 2) for step in steps
        ]
        for client in CLIENTS
    }


async def _load(url: str) -> None:
    async with Tenure(url) as app:
        for client, (seconds, count) in CLIENTS.items():
            body = msgspec.Raw(msgspec.json.encode({"seconds": seconds}))
            for _ in range(0, count, 1_000):
                await app.send([message(client, "work", body) for _ in range(min(count, 1_000))])


def draw(data: dict[str, dict[str, list[float]]]) -> str:
    """The picture, as SVG that is readable on light and on dark ground."""
    title = (
        f"Work time of two clients over {SECONDS:.0f} seconds, measured on one worker. "
        f"In turn: {_told(data['in-turn'])}. Shared by work time: {_told(data['fair'])}."
    )
    note = (
        f"Seconds of work since the start. One worker with {SLOTS} slots; acme sends tasks of 0.5 s, globex of 0.02 s, "
        "both more than it can do."
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        f'<text class="small" x="{_LEFT}" y="18">{note}</text>',
    ]
    most = _round_up(max(values[-1] for lines in data.values() for values in lines.values()))
    for number, (how, title) in enumerate(_TITLES.items()):
        parts += _panel(_LEFT + number * (_PANEL + _GAP), title, data[how], most)
    return "\n".join([*parts, "</svg>", ""])


def _told(lines: dict[str, list[float]]) -> str:
    return ", ".join(f"{client} {values[-1]:.0f} s" for client, values in lines.items())


def _round_up(value: float) -> int:
    return -int(-value // 20) * 20


def _panel(left: int, title: str, lines: dict[str, list[float]], most: int) -> Iterable[str]:
    bottom = _TOP + _DEPTH
    yield f'<text class="title" x="{left}" y="{_TOP - 14}">{title}</text>'
    for mark in range(0, most + 1, 20):
        y = bottom - mark / most * _DEPTH
        yield f'<line class="{"grid" if mark else "axis"}" x1="{left}" y1="{y:.1f}" x2="{left + _PANEL}" y2="{y:.1f}"/>'
        yield f'<text class="small" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{mark} s</text>'
    for second in range(0, int(SECONDS) + 1, 5):
        x = left + second / SECONDS * _PANEL
        yield f'<text class="small" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{second} s</text>'
    ends = {client: bottom - values[-1] / most * _DEPTH for client, values in lines.items()}
    for client, values in lines.items():
        points = " ".join(
            f"{left + number / (len(values) - 1) * _PANEL:.1f},{bottom - value / most * _DEPTH:.1f}"
            for number, value in enumerate(values)
        )
        yield f'<polyline class="{client}" points="{points}"/>'
        # The labels stand apart also where the lines do not.
        is_upper = client == min(ends, key=lambda one: (ends[one], one))
        y = ends[client] + (-12 if is_upper or ends[client] + 34 > bottom else 34)
        place = f'x="{left + _PANEL}" y="{y:.1f}" text-anchor="end"'
        yield f'<text class="of-{client}" {place}>{client} {values[-1]:.0f} s</text>'


def main() -> None:
    """Measure, or draw what was measured."""
    if sys.argv[1:] == ["measure"]:
        DATA.write_text(json.dumps(measure()) + "\n", encoding="utf-8")
    elif sys.argv[1:] != ["draw"]:
        sys.exit(__doc__)
    PICTURE.write_text(draw(json.loads(DATA.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
