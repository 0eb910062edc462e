"""Pages: put together from rows of a store that is a dict here, under every bound."""

from itertools import product
from typing import Any

import msgspec
import pytest

from tenure.clock import SystemClock
from tenure.errors import BadArgument
from tenure.message import NO_COUNTERS, MessageState
from tenure.query import Browsed, Page, Query
from tenure.rules import paging
from tenure.rules.paging import PagedRow, Pager, Part

READY, DEAD, LEASED = MessageState.READY, MessageState.DEAD, MessageState.LEASED
SHOWN = frozenset({READY, DEAD})

CLOCK = SystemClock()

Rows = dict[tuple[MessageState, str], list[str]]


def _message(state: MessageState, queue: str, id: str) -> Browsed:
    task = "even" if int(id) % 2 == 0 else "odd"
    return Browsed(
        id=id, queue=queue, state=state, envelope=b"body", counters=NO_COUNTERS, task=task,
        sent_at=float(id), finished_at=float(id) + 0.5,
    )  # fmt: skip


def _pager(rows: Rows, query: Query) -> Pager:
    def queues_of(state: MessageState) -> list[str]:
        return sorted(queue for one, queue in rows if one is state)

    return Pager(query, queues_of, clock=CLOCK, ended_filters=frozenset({"task"}), visible=SHOWN)


def _read(rows: Rows, part: Part) -> tuple[list[PagedRow], bool]:
    ids = rows.get((part.state, part.queue), [])
    behind = [id for id in ids if not part.after or int(id) > int(part.after)]
    found = [PagedRow(_message(part.state, part.queue, id), id) for id in behind[: part.limit]]
    return found, len(behind) <= part.limit


def _page(rows: Rows, query: Query) -> Page:
    pager = _pager(rows, query)
    while (part := pager.next_part()) is not None:
        assert part.limit >= 1
        found, is_end = _read(rows, part)
        pager.take(found, is_end=is_end)
    return pager.page()


def _pages(rows: Rows, query: Query) -> list[Page]:
    pages = [_page(rows, query)]
    while pages[-1].cursor is not None:
        assert len(pages) < 1000, "it never ends"
        pages.append(_page(rows, msgspec.structs.replace(query, cursor=pages[-1].cursor)))
    return pages


def _ids(pages: list[Page]) -> list[str]:
    return [one.id for page in pages for one in page.messages]


ROWS: Rows = {
    (READY, "a"): ["1", "2", "3"],
    (READY, "b"): [],
    (READY, "c"): ["4", "5", "6", "7", "8"],
    (READY, "d"): ["9"],
    (DEAD, "b"): ["10", "11"],
    (DEAD, "e"): ["12"],
}
IN_ORDER = [str(number) for number in range(1, 13)]


@pytest.mark.parametrize(("limit", "look_at"), list(product([1, 2, 3, 5, 100], [1, 2, 3, 7, 100])))
def test_every_row_comes_once_under_every_bound(limit: int, look_at: int) -> None:
    pages = _pages(ROWS, Query(states=(READY, DEAD), limit=limit, look_at=look_at))
    assert _ids(pages) == IN_ORDER
    assert all(len(page.messages) <= limit and page.looked_at <= look_at for page in pages)
    assert sum(page.looked_at for page in pages) == len(IN_ORDER)


@pytest.mark.parametrize(("limit", "look_at"), list(product([1, 2, 100], [1, 3, 100])))
def test_a_filter_passes_rows_over(limit: int, look_at: int) -> None:
    pages = _pages(ROWS, Query(states=(READY, DEAD), task="even", limit=limit, look_at=look_at))
    assert _ids(pages) == [id for id in IN_ORDER if int(id) % 2 == 0]
    assert all(len(page.messages) <= limit and page.looked_at <= look_at for page in pages)


def test_states_come_in_the_order_of_the_query() -> None:
    assert _ids(_pages(ROWS, Query(states=(DEAD, READY), limit=2))) == [*IN_ORDER[9:], *IN_ORDER[:9]]


def test_one_page_ends_where_the_rows_end() -> None:
    page = _page(ROWS, Query(states=(READY, DEAD), limit=12))
    assert (len(page.messages), page.cursor) == (12, None)


def test_an_empty_store_is_one_empty_page() -> None:
    assert _page({}, Query(states=(READY,))) == Page(messages=(), cursor=None, looked_at=0, looked_until=None)


def test_a_page_says_how_far_it_looked() -> None:
    ready = _page(ROWS, Query(states=(READY,), task="even", look_at=3))
    assert (_ids([ready]), ready.looked_at, ready.looked_until) == (["2"], 3, 3.0)
    dead = _page(ROWS, Query(states=(DEAD,), look_at=1))
    assert dead.looked_until == 10.5


def test_bodies_are_left_out() -> None:
    (bare, *_) = _page(ROWS, Query(states=(READY,), bodies=False)).messages
    (whole, *_) = _page(ROWS, Query(states=(READY,))).messages
    assert (bare.envelope, whole.envelope) == (b"", b"body")


def test_a_store_of_one_order_is_one_part_for_all_queues() -> None:
    """Rows of queues that were not asked for count as read, and are passed over."""
    rows = [_message(READY, queue, str(number)) for number, queue in enumerate(["a", "b", "a", "c", "b-x", "a"], 1)]
    query = Query(states=(READY,), queues=("a", "b-*"), limit=2)
    pages: list[Page] = []
    while not pages or pages[-1].cursor is not None:
        cursor = (pages[-1].cursor or "") if pages else ""
        asked = msgspec.structs.replace(query, cursor=cursor)
        pager = Pager(asked, lambda _: ("",), clock=CLOCK, ended_filters=frozenset(), visible=SHOWN)
        while (part := pager.next_part()) is not None:
            assert part.queue == ""
            behind = [one for one in rows if not part.after or one.id > part.after]
            pager.take([PagedRow(one, one.id) for one in behind[: part.limit]], is_end=len(behind) <= part.limit)
        pages.append(pager.page())
    assert _ids(pages) == ["1", "3", "5", "6"]


def test_a_queue_that_went_does_not_stop_the_pages() -> None:
    first = _page(ROWS, Query(states=(READY,), limit=4))
    assert _ids([first]) == IN_ORDER[:4]
    left = {place: ids for place, ids in ROWS.items() if place != (READY, "c")}
    rest = _pages(left, Query(states=(READY,), limit=4, cursor=first.cursor or ""))
    assert _ids(rest) == ["9"]


def test_a_queue_that_came_behind_is_read() -> None:
    first = _page(ROWS, Query(states=(READY,), limit=4))
    more = ROWS | {(READY, "cc"): ["20"], (READY, "0"): ["30"]}
    rest = _pages(more, Query(states=(READY,), limit=100, cursor=first.cursor or ""))
    assert _ids(rest) == ["5", "6", "7", "8", "20", "9"]


def test_filters_and_bounds_may_change_between_pages() -> None:
    first = _page(ROWS, Query(states=(READY,), limit=2))
    rest = _page(ROWS, Query(states=(READY,), task="even", limit=50, look_at=70, cursor=first.cursor or ""))
    assert _ids([rest]) == ["4", "6", "8"]


OTHERS: dict[str, dict[str, Any]] = {
    "other states": {"states": (DEAD,)},
    "more states": {"states": (READY, DEAD)},
    "other queues": {"queues": ("c",)},
    "the other direction": {"backwards": True},
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_cursor_of_another_query_is_refused(what: str) -> None:
    query = Query(states=(READY,), limit=2)
    first = _page(ROWS, query)
    other = msgspec.structs.replace(query, cursor=first.cursor, **OTHERS[what])
    with pytest.raises(BadArgument, match="belongs to another query"):
        _pager(ROWS, other)


def test_what_is_no_cursor_is_refused() -> None:
    with pytest.raises(BadArgument, match="was not made by this store"):
        _pager(ROWS, Query(states=(READY,), cursor="garbled"))


def test_a_state_that_is_not_shown_is_refused() -> None:
    with pytest.raises(BadArgument, match="leased messages cannot be listed"):
        _pager(ROWS, Query(states=(READY, LEASED)))


def test_rows_of_other_states_are_passed_over_within_the_bound() -> None:
    """A store that finds the state of a row only by reading it."""
    states = [READY if number % 3 == 0 else DEAD for number in range(1, 31)]
    query = Query(states=(READY,), limit=4, look_at=7)
    pages: list[Page] = []
    while not pages or pages[-1].cursor is not None:
        cursor = (pages[-1].cursor or "") if pages else ""
        asked = msgspec.structs.replace(query, cursor=cursor)
        pager = Pager(asked, lambda _: ["a"], clock=CLOCK, ended_filters=frozenset(), visible=SHOWN)
        while (part := pager.next_part()) is not None:
            start = int(part.after or 0)
            numbers = range(start + 1, min(start + part.limit, 30) + 1)
            rows = [PagedRow(_message(READY, "a", str(one)), str(one)) for one in numbers if states[one - 1] is READY]
            end = numbers[-1] if numbers else 30
            pager.take(rows, is_end=end == 30, passed=len(numbers) - len(rows), mark=str(end))
        pages.append(pager.page())
    assert _ids(pages) == [str(number) for number in range(3, 31, 3)]
    assert all(page.looked_at <= 7 for page in pages)
    assert sum(page.looked_at for page in pages) == 30


def test_a_store_that_reads_nothing_and_sees_no_end_is_stopped() -> None:
    pager = _pager(ROWS, Query(states=(READY,)))
    pager.next_part()
    with pytest.raises(RuntimeError, match="no rows and no end"):
        pager.take([], is_end=False)


def test_rows_without_a_part_are_a_mistake() -> None:
    with pytest.raises(RuntimeError, match="take without next_part"):
        _pager(ROWS, Query(states=(READY,))).take([], is_end=True)


def test_a_full_page_knows_of_another_match_that_was_read() -> None:
    for task, limit, knows in (
        (None, 2, True),
        (None, 3, False),
        ("even", 1, False),
        ("odd", 1, True),
        (None, 100, False),
    ):
        page = _page(ROWS, Query(states=(READY,), task=task, limit=limit))
        assert page.has_more is knows, (task, limit)


def test_rows_that_the_store_left_out_count_as_read_up_to_the_last_one_taken() -> None:
    """Odd ones are left out, and the page has room for two even ones."""
    pager = _pager({(READY, "a"): []}, Query(states=(READY,), task="even", limit=2))
    part = pager.next_part()
    assert part is not None
    assert part.wanted == 3
    rows = [PagedRow(_message(READY, "a", str(number)), str(number), passed=1) for number in (2, 4, 6)]
    pager.take(rows, is_end=False, passed=4, mark="10", moment=10.0)
    page = pager.page()
    assert (_ids([page]), page.looked_at, page.looked_until, page.has_more) == (["2", "4"], 4, 4.0, True)


def test_rows_that_the_store_left_out_behind_the_last_match_are_looked_at_too() -> None:
    pager = _pager({(READY, "a"): []}, Query(states=(READY,), task="even", limit=2, look_at=7))
    pager.next_part()
    pager.take([PagedRow(_message(READY, "a", "2"), "2", passed=1)], is_end=False, passed=5, mark="7", moment=7.0)
    page = pager.page()
    assert (_ids([page]), page.looked_at, page.looked_until, page.has_more) == (["2"], 7, 7.0, False)


def test_queues_that_turn_out_to_be_empty_are_passed_over() -> None:
    pager = _pager(ROWS, Query(states=(READY, DEAD)))
    parts: list[Part] = []
    while (part := pager.next_part()) is not None:
        if part == (READY, "a", *part[2:]) and not parts:
            parts.append(part)
            pager.pass_over(["c", "d"])
            continue
        parts.append(part)
        pager.take([], is_end=True)
    assert [(part.state, part.queue) for part in parts] == [
        (READY, "a"),
        (READY, "c"),
        (READY, "d"),
        (DEAD, "b"),
        (DEAD, "e"),
    ]


def test_a_page_ends_when_its_time_is_over_and_some_rows_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "_ROWS_AT_ONCE", 2)
    assert [page.looked_at for page in _pages(ROWS, Query(states=(READY,), task="none", seconds=0.0))] == [2, 3, 2, 2]
    assert [page.looked_at for page in _pages(ROWS, Query(states=(READY,), task="none", seconds=60.0))] == [9]


def test_many_rows_are_read_in_steps_where_a_filter_passes_most_over() -> None:
    part = _pager(ROWS, Query(states=(READY,), task="even", limit=2)).next_part()
    assert part is not None
    assert part.limit == paging._ROWS_AT_ONCE
    part = _pager(ROWS, Query(states=(READY,), limit=2)).next_part()
    assert part is not None
    assert (part.limit, part.wanted) == (3, 3), "one more, to know whether there is another"


def test_a_thousand_queues_are_looked_up_quickly() -> None:
    looks = 0

    class Counted(list[str]):
        def __getitem__(self, index: Any) -> Any:
            nonlocal looks
            looks += 1
            return super().__getitem__(index)

    names = Counted(f"{number:04}" for number in range(1000))
    rows: Rows = {(READY, name): [name.lstrip("0") or "0"] for name in names}
    asked = Query(states=(READY,), limit=1000)
    pager = Pager(asked, lambda _: names, clock=CLOCK, ended_filters=frozenset(), visible=SHOWN)
    while (part := pager.next_part()) is not None:
        found, is_end = _read(rows, part)
        pager.take(found, is_end=is_end)
    assert len(pager.page().messages) == 1000
    assert looks < 50_000
