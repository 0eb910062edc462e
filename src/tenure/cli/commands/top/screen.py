"""The screen of `tenure top`: overview and view → exactly as many lines as the terminal has. Pure.

title                                              how often · time
the headline: is work flowing, what is stuck, since when
figures of all queues
tabs, filter, order
tables
keys
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.text import Text

from tenure.cli.commands.top.layout import fit, header, line, sized
from tenure.cli.commands.top.tables import BAD, FAINT, SOON, Grid, tables
from tenure.cli.commands.top.view import TABS, TopView, shares, shown_rows
from tenure.cli.terminal.moment import local
from tenure.cli.terminal.plain import one_line
from tenure.client.operations.overview.format import age, rate, share, span, sparkline, whole
from tenure.client.operations.overview.rows import Headline, Mood, Overview

#: Lines around the tables: title, headline, figures, tabs; keys.
_ABOVE, _BELOW = 4, 1
#: Terminals that are lower show no blank line between tables, and no workers on the first tab.
_HIGH = 30
#: Steps of ten seconds that are shown of the course of all queues, and the fewest that are worth it.
_COURSE, _LEAST_COURSE = 30, 6
_MOODS = {Mood.WELL: "", Mood.SOON: SOON, Mood.BAD: f"bold {BAD}"}
_KEYS = (("tab", "view"), ("↑↓", "choose"), ("enter", "open"), ("←→", "order"), ("/", "filter"), ("p", "pause"),
         ("?", "help"), ("q", "quit"))  # fmt: skip
_MESSAGE_KEYS = (("↑↓", "scroll"), ("esc", "back"))
_HELP = (
    ("tab, shift-tab, 1–5", "next view, the one before, or this one"),
    ("↑ ↓ PgUp PgDn Home End", "choose a row (j and k too)"),
    ("enter", "open the message of a lease, or the row's leases"),
    ("← →", "order by the column beside (< and > too)"),
    ("r", "reverse the order"),
    ("/", "filter by a text; enter keeps it, esc drops it"),
    ("p", "pause the display, and go on"),
    ("q, Ctrl-C", "quit"),
    ("", ""),
    ("in/s, out/s", "messages a second, sent and ended, last minute"),
    ("oldest", "how long the oldest waiting message has been ready"),
    ("drains", "until nothing waits, at this pace"),
    ("p50, p95", "50 % and 95 % of the runs took no longer"),
    ("errors", "the part of the runs that failed"),
    ("lease", "p95 of the runs against the lease; > 100 %: renewed"),
    ("left", "until the lease ends; negative: overdue"),
    ("–", "cannot be known"),
)


class ScreenFrame(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn once."""

    overview: Overview
    headline: Headline
    view: TopView
    #: What is looked at: an app or a URL.
    target: str
    #: How often the store is asked.
    every_seconds: float
    #: Unix seconds by the store's clock, now; the overview may be older.
    now: float
    #: Why the store gives no answer, and for how long; empty: it does.
    outage: str = ""
    away_seconds: float = 0.0
    #: The message that is open.
    message: tuple[Text, ...] = ()


def draw(frame: ScreenFrame, width: int, height: int) -> list[Text]:
    """The whole screen: exactly `height` lines of at most `width` columns."""
    if frame.view.is_help:
        body = _help()
    elif frame.view.opened:
        body = _message(frame, height - 3)
        return _whole([_title(frame, width), _headline(frame), *body], _keys(_MESSAGE_KEYS), width, height)
    else:
        body = _tables(frame, width - 1, height - _ABOVE - _BELOW)
    lines = [_title(frame, width), _headline(frame), _figures(frame, width), _tabs(frame, width), *body]
    return _whole(lines, _filter_line(frame) if frame.view.is_typing else _keys(_KEYS), width, height)


def snapshot(frame: ScreenFrame, width: int, height: int) -> list[Text]:
    """The same without keys and tabs, and no longer than it needs to be."""
    lines = [_title(frame, width), _headline(frame), _figures(frame, width), *_tables(frame, width - 1, height)]
    for one in lines:
        one.truncate(width, overflow="ellipsis")
        one.rstrip()
    return lines


def _whole(lines: Sequence[Text], last: Text, width: int, height: int) -> list[Text]:
    shown = [*lines][: max(0, height - 1)]
    shown += [Text()] * (height - 1 - len(shown))
    shown.append(last)
    for one in shown:
        one.no_wrap = True
        one.truncate(width, overflow="ellipsis")
    return shown[-height:] if height > 0 else []


# -- above the tables ------------------------------------------------------------------------------


def _title(frame: ScreenFrame, width: int) -> Text:
    moment = local(frame.overview.now)[11:19]
    sweep = f"next sweep {_sweep(frame)} · "
    if frame.view.is_paused:
        right = Text.assemble(("paused", SOON), f" at {moment} ")
    elif frame.every_seconds > 1:
        right = Text(f"{sweep}asks every {span(frame.every_seconds)} · {moment} ", style=FAINT)
    else:
        right = Text(f"{sweep}{moment} ", style=FAINT)
    name = Text.assemble(" ", ("tenure top", "bold"), "  ")
    name.append(sized(frame.target, max(4, width - len(name) - len(right) - 1)).rstrip(), style=FAINT)
    return Text.assemble(name, " " * max(1, width - name.cell_len - right.cell_len), right)


def _sweep(frame: ScreenFrame) -> str:
    """By the store's clock; unknown where no sweep has run."""
    at = frame.overview.next_sweep_at
    if at is None:
        return "–"
    return f"in {age(at - frame.now + 0.5)}" if at > frame.now else "now"


def _headline(frame: ScreenFrame) -> Text:
    if frame.outage:
        stale = f"figures of {local(frame.overview.now)[11:19]}"
        text = f" No answer from the store for {age(frame.away_seconds)}; {stale}. {one_line(frame.outage)}"
        return Text(text, style=_MOODS[Mood.BAD])
    return Text(f" {one_line(frame.headline.text)}", style=_MOODS[frame.headline.mood])


def _figures(frame: ScreenFrame, width: int) -> Text:
    """Of all queues; what does not fit is left out, and the course of the last minutes takes the rest of the line."""
    overview, flow = frame.overview, frame.overview.total.flow
    text = Text(" ")
    for name, figure, style in (
        ("in", _per_second(flow.in_per_second), ""),
        ("out", _per_second(flow.out_per_second), ""),
        ("waiting", whole(overview.total.waiting), ""),
        ("running", whole(overview.total.running), ""),
        ("errors", share(flow.error_share), ""),
        ("dead", whole(overview.total.dead), BAD if overview.total.dead else ""),
    ):
        more = Text.assemble("  " if len(text) > 1 else "", (f"{name} ", FAINT), (figure, style))
        if text.cell_len + more.cell_len <= width:
            text.append_text(more)
    free = min(_COURSE, width - text.cell_len - 3)
    return Text.assemble(text, "  ", (sparkline(flow.history, free).lstrip(), FAINT)) if free >= _LEAST_COURSE else text


def _per_second(number: float | None) -> str:
    return "–" if number is None else f"{rate(number)}/s"


def _tabs(frame: ScreenFrame, width: int) -> Text:
    view = frame.view
    text = Text(" ")
    for tab in TABS:
        text.append(f" {tab} ", style="reverse" if tab == view.tab else FAINT)
    right = Text()
    if view.filter or view.is_typing:
        right = Text.assemble((" filter ", FAINT), one_line(view.filter), " ")
        right.truncate(max(0, width - text.cell_len), overflow="ellipsis")
    return Text.assemble(text, " " * max(0, width - text.cell_len - right.cell_len), right)


def _filter_line(frame: ScreenFrame) -> Text:
    hint = ("   enter keeps it · esc drops it", FAINT)
    return Text.assemble(" filter: ", (one_line(frame.view.filter), "bold"), ("▏", "bold"), hint)


def _keys(keys: Sequence[tuple[str, str]]) -> Text:
    text = Text(" ")
    for key, does in keys:
        text.append("  " if len(text) > 1 else "").append(key, style="bold").append(f" {does}", style=FAINT)
    return text


# -- the tables ------------------------------------------------------------------------------------


def _tables(frame: ScreenFrame, width: int, height: int) -> list[Text]:
    """The tables of this tab, one below the other, in this many lines."""
    found = shown_rows(frame.view, frame.overview, frame.now)
    is_low = height < _HIGH
    if frame.view.tab == "all" and is_low:
        found = [(name, rows) for name, rows in found if name != "workers"]
    blank = 1 if len(found) > 1 else 0
    free = height - len(found) - blank * len(found)
    given = shares([max(1, len(rows)) for _, rows in found], max(len(found), free))
    known = tables(frame.overview, frame.now)
    lines: list[Text] = []
    for (name, rows), number in zip(found, given, strict=True):
        lines += [Text()] * blank
        lines += _table(frame, known[name][0], rows, number, width)
    return lines


def _table(frame: ScreenFrame, table: Grid[Any], rows: Sequence[Any], number: int, width: int) -> list[Text]:
    view = frame.view
    at = next((at for at, row in enumerate(rows) if view.section == table.name and table.identity(row) == view.row), -1)
    first = max(0, at - number + 1)
    shown = rows[first : first + number]
    heading = (
        table.noun
        if len(shown) == len(rows)
        else f"{table.noun} {first + 1}–{first + len(shown)} of {_many(frame, table, rows)}"
    )
    fitted = fit(table.columns, shown, width, heading)
    order = view.order_of(table.name, table.order)
    lines = [_indented(header(fitted, heading, order.by, ascending=order.ascending))]
    if not rows:
        why = f"No {table.noun} matches the filter." if view.filter else table.empty
        return [*lines, Text(f" {why}", style=FAINT)]
    for place, row in enumerate(shown, first):
        lines.append(_indented(line(fitted, row), "reverse" if place == at else ""))
    return lines


def _many(frame: ScreenFrame, table: Grid[Any], rows: Sequence[Any]) -> str:
    more = "+" if table.name == "leases" and frame.overview.leases_cut else ""
    return f"{len(rows):,}{more}"


def _indented(text: Text, style: str = "") -> Text:
    shown = Text.assemble(" ", text)
    if style:
        shown.stylize(style)
    return shown


# -- instead of the tables -------------------------------------------------------------------------


def _message(frame: ScreenFrame, height: int) -> list[Text]:
    if not frame.message:
        return [Text(), Text(f" {one_line(frame.view.opened)}: reading …", style=FAINT)]
    first = min(frame.view.scroll, max(0, len(frame.message) - height + 1))
    return [Text(), *(_indented(one) for one in frame.message[first : first + height])]


def _help() -> list[Text]:
    wide = max(len(key) for key, _ in _HELP)
    lines = [Text()]
    for key, does in _HELP:
        lines.append(Text.assemble("  ", (sized(key, wide), "bold"), "  ", does))
    return lines
