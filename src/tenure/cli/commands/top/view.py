"""The view: what the person at the terminal looks at, and what each key does to it. Pure.

A view is a value; `press` answers with the next one. `live.py` reads keys and acts on `is_over` and `opened`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.cli.commands.top.tables import begins_ascending, holder, tables
from tenure.client.operations.overview.rows import Overview

#: In the order in which tab goes through them; `all` shows the first rows of each.
TABS = ("all", "queues", "tasks", "leases", "workers")
SECTIONS = TABS[1:]
_PAGE = 10
_TURNS = ("tab", "back-tab", *(str(number) for number in range(1, len(TABS) + 1)))
_ORDERS = ("left", "right", "<", ">", "r")
_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "page-up": -_PAGE, "page-down": _PAGE, "home": 0, "end": 0}


class Order(msgspec.Struct, frozen=True):
    """The column and the direction by which a table is sorted."""

    by: str
    ascending: bool


class TopView(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked at."""

    tab: str = "all"
    #: By the name of a table; where it is missing, the table's own.
    orders: dict[str, Order] = {}
    filter: str = ""
    is_typing: bool = False
    #: The row under the bar: its table, and its identity. Empty: none is chosen.
    section: str = "queues"
    row: str = ""
    is_paused: bool = False
    is_help: bool = False
    #: The message that is open; empty: none.
    opened: str = ""
    #: The first line of it that is shown.
    scroll: int = 0
    is_over: bool = False

    def order_of(self, name: str, own: str) -> Order:
        """The order of a table, whose own is by column `own`."""
        return self.orders.get(name) or Order(own, begins_ascending(own))


def shown_rows(view: TopView, overview: Overview, now: float) -> list[tuple[str, list[Any]]]:
    """The tables of this tab, each with all its rows that pass the filter, in order."""
    names = SECTIONS if view.tab == "all" else (view.tab,)
    known = tables(overview, now)
    found = []
    for name in names:
        table, rows = known[name]
        order = view.order_of(name, table.order)
        found.append((name, table.ordered(table.chosen(rows, view.filter), order.by, ascending=order.ascending)))
    return found


def press(view: TopView, key: str, overview: Overview, now: float) -> TopView:
    """The view after a key."""
    if view.is_typing or view.is_help or view.opened:
        return _aside(view, key)
    if key in _TURNS:
        return _turned(view, key)
    if key in _STEPS:
        return _moved(view, key, overview, now)
    if key in _ORDERS:
        return _ordered(view, key, overview, now)
    return _entered(view, overview) if key == "enter" else _switched(view, key)


def _aside(view: TopView, key: str) -> TopView:
    """While something else than tables has the keys."""
    if view.is_typing:
        return _typed(view, key)
    if view.is_help:
        return msgspec.structs.replace(view, is_help=False, is_over=key == "q")
    return _in_message(view, key)


def _switched(view: TopView, key: str) -> TopView:
    match key:
        case "q":
            return msgspec.structs.replace(view, is_over=True)
        case "?":
            return msgspec.structs.replace(view, is_help=True)
        case "p":
            return msgspec.structs.replace(view, is_paused=not view.is_paused)
        case "/":
            return msgspec.structs.replace(view, is_typing=True)
        case "escape":
            return msgspec.structs.replace(view, filter="", row="")
    return view


def _typed(view: TopView, key: str) -> TopView:
    match key:
        case "enter":
            return msgspec.structs.replace(view, is_typing=False)
        case "escape":
            return msgspec.structs.replace(view, is_typing=False, filter="")
        case "backspace":
            return msgspec.structs.replace(view, filter=view.filter[:-1])
    return msgspec.structs.replace(view, filter=view.filter + key) if len(key) == 1 and key.isprintable() else view


def _in_message(view: TopView, key: str) -> TopView:
    if key in ("q", "escape", "enter", "left", "backspace"):
        return msgspec.structs.replace(view, opened="", scroll=0)
    if key == "home":
        return msgspec.structs.replace(view, scroll=0)
    step = _PAGE if key == " " else _STEPS.get(key, 0)
    return msgspec.structs.replace(view, scroll=max(0, view.scroll + step)) if key != "end" else view


def _turned(view: TopView, key: str) -> TopView:
    if key.isdigit():
        tab = TABS[int(key) - 1]
    else:
        tab = TABS[(TABS.index(view.tab) + (1 if key == "tab" else -1)) % len(TABS)]
    section = view.section if tab == "all" else tab
    return msgspec.structs.replace(view, tab=tab, section=section, row=view.row if section == view.section else "")


def _ordered(view: TopView, key: str, overview: Overview, now: float) -> TopView:
    """Order by the column beside, or the other way round; on the first tab it is the table with the bar."""
    table = tables(overview, now)[view.section][0]
    order = view.order_of(view.section, table.order)
    if key == "r":
        new = Order(order.by, not order.ascending)
    else:
        at = table.orders.index(order.by) + (1 if key in ("right", ">") else -1)
        by = table.orders[at % len(table.orders)]
        new = Order(by, begins_ascending(by))
    return msgspec.structs.replace(view, orders={**view.orders, view.section: new})


def _moved(view: TopView, key: str, overview: Overview, now: float) -> TopView:
    known = tables(overview, now)
    places = [(name, known[name][0].identity(row)) for name, rows in shown_rows(view, overview, now) for row in rows]
    if not places:
        return view
    here = (view.section, view.row)
    at = places.index(here) if here in places else None
    section, row = places[_step(key, at, len(places))]
    return msgspec.structs.replace(view, section=section, row=row)


def _step(key: str, at: int | None, number: int) -> int:
    if key == "home" or at is None:
        return number - 1 if key == "end" else 0
    return number - 1 if key == "end" else max(0, min(number - 1, at + _STEPS[key]))


def _entered(view: TopView, overview: Overview) -> TopView:
    """Open the message of a lease; of anything else, show the leases that belong to it."""
    if not view.row:
        return view
    match view.section:
        case "leases":
            return msgspec.structs.replace(view, opened=view.row, scroll=0)
        case "queues":
            return _leases_of(view, view.row)
        case "workers":
            return _leases_of(view, holder(view.row))
    task = next((one.task for one in overview.tasks if f"{one.task} {one.queue}" == view.row), "")
    return _leases_of(view, task)


def _leases_of(view: TopView, text: str) -> TopView:
    return msgspec.structs.replace(view, tab="leases", section="leases", row="", filter=text)


def shares(wanted: Sequence[int], free: int) -> list[int]:
    """Return how many lines each table gets: all that it needs if that fits, else as much as the others."""
    given = [0] * len(wanted)
    while free > 0 and any(have < want for have, want in zip(given, wanted, strict=True)):
        for at, want in enumerate(wanted):
            if free > 0 and given[at] < want:
                given[at] += 1
                free -= 1
    return given
