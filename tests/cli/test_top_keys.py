"""`tenure top`: what keys do."""

import pytest

from tenure.cli.commands.top.keys import keys_in
from tenure.cli.commands.top.view import Order, TopView, press, shares, shown_rows
from tenure.client.operations.overview.rows import Flow, Overview, QueueOverview, TaskOverview, WorkerOverview
from tenure.query import HeldLease

NOW = 1_000.0


def _overview() -> Overview:
    def queue(name: str, waiting: int | None) -> QueueOverview:
        return QueueOverview(queue=name, waiting=waiting, delayed=0, running=0, dead=0)

    def lease(id: str, left: float, task: str) -> HeldLease:
        return HeldLease(
            id=id, queue="b", task=task, owner="w1/00", fence=1, attempt=1, leased_at=NOW, deadline=NOW + left,
            deadline_in=left, seconds=30.0,
        )  # fmt: skip

    return Overview(
        now=NOW,
        queues=(queue("a", 1), queue("b", 5), queue("c", None)),
        tasks=(TaskOverview(queue="b", task="send", running=1, flow=Flow(out_per_second=1.0)),),
        leases=(lease("m1", 20, "send"), lease("m2", 5, "other")),
        workers=(WorkerOverview(id="w1/00", name="w1"),),
    )


def _pressed(*keys: str, view: TopView | None = None) -> TopView:
    view = TopView() if view is None else view
    for key in keys:
        view = press(view, key, _overview(), NOW)
    return view


def _ids(view: TopView) -> list[list[str]]:
    return [[getattr(row, "id", None) or row.queue for row in rows] for _, rows in shown_rows(view, _overview(), NOW)]


def test_q_ends_it() -> None:
    assert _pressed("q").is_over
    assert _pressed("?", "q").is_over


def test_tab_goes_round_and_numbers_go_straight() -> None:
    assert [_pressed(*["tab"] * times).tab for times in range(6)] == [
        "all", "queues", "tasks", "leases", "workers", "all",
    ]  # fmt: skip
    assert _pressed("back-tab").tab == "workers"
    assert _pressed("4").tab == "leases"


def test_rows_are_ordered_by_a_column_and_the_unknown_comes_last() -> None:
    assert _ids(TopView(tab="queues")) == [["b", "a", "c"]]
    reversed_ = _pressed("2", "r")
    assert reversed_.orders["queues"] == Order("waiting", ascending=True)
    assert _ids(reversed_) == [["a", "b", "c"]]
    assert _ids(_pressed("4")) == [["m2", "m1"]]


def test_left_and_right_go_through_the_columns_and_round() -> None:
    columns = [_pressed("2", *["right"] * times).orders.get("queues") for times in range(1, 14)]
    names = [order.by for order in columns if order is not None]
    assert names[0] == "oldest"
    assert set(names) >= {"queue", "in/s", "out/s", "running", "waiting", "p50", "p95", "errors", "lease"}
    assert _pressed("2", "right", "left").orders["queues"] == Order("waiting", ascending=False)


def test_the_filter_takes_letters_until_enter() -> None:
    view = _pressed("2", "/", "q", "?", "backspace", "backspace", "b", "enter")
    assert (view.filter, view.is_typing, view.is_over) == ("b", False, False)
    assert _ids(view) == [["b"]]
    assert _pressed("/", "x", "escape").filter == ""
    assert _pressed("escape", view=view).filter == ""


def test_arrows_go_through_the_rows_of_all_tables() -> None:
    view = TopView()
    seen = []
    for _ in range(9):
        view = press(view, "down", _overview(), NOW)
        seen.append(view.row)
    assert seen == ["b", "a", "c", "send b", "m2", "m1", "w1/00", "w1/00", "w1/00"]
    assert _pressed("up", view=view).row == "m1"
    assert _pressed("home", view=view).row == "b"
    assert _pressed("end").row == "w1/00"
    assert _pressed("down", view=TopView(filter="nothing")).row == ""


def test_enter_opens_a_message_and_escape_closes_it() -> None:
    view = _pressed("4", "down", "enter")
    assert view.opened == "m2"
    assert _pressed("down", "down", "up", view=view).scroll == 1
    closed = _pressed("escape", view=view)
    assert (closed.opened, closed.row) == ("", "m2")


@pytest.mark.parametrize(("tab", "text"), [("2", "b"), ("3", "send"), ("5", "w1")])
def test_enter_on_anything_else_shows_its_leases(tab: str, text: str) -> None:
    view = _pressed(tab, "down", "enter")
    assert (view.tab, view.filter, view.opened) == ("leases", text, "")


def test_enter_without_a_row_does_nothing() -> None:
    assert _pressed("enter") == TopView()


def test_p_pauses_and_goes_on() -> None:
    assert _pressed("p").is_paused
    assert not _pressed("p", "p").is_paused


def test_an_unknown_key_does_nothing() -> None:
    assert _pressed("x", "é", "page-down-or-so") == TopView()


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"q", ["q"]), (b"\x1b[A\x1b[B", ["up", "down"]), (b"\x1bOC", ["right"]), (b"\x1b", ["escape"]),
        (b"\t\x1b[Z\r\n\x7f", ["tab", "back-tab", "enter", "enter", "backspace"]), ("é".encode(), ["é"]),
        (b"\x1b[5~\x1b[6~", ["page-up", "page-down"]), (b"\x1b[200~x\x1b[1;5C", ["x"]),
        (b"\x00\x01", []), (b"\xff", []),
    ],
)  # fmt: skip
def test_bytes_of_a_terminal_are_keys(sent: bytes, keys: list[str]) -> None:
    assert keys_in(sent) == keys


def test_tables_share_the_lines_that_there_are() -> None:
    assert shares([2, 10, 10], 12) == [2, 5, 5]
    assert shares([2, 3], 12) == [2, 3]
    assert shares([9, 9], 3) == [2, 1]
