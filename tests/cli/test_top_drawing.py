"""`tenure top`, drawn: whatever the place holds, the screen is as large as the terminal and no figure is cut."""

import io
import math
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Group

from tenure.cli.commands.top.layout import sized
from tenure.cli.commands.top.screen import ScreenFrame, draw, snapshot
from tenure.cli.commands.top.view import Order, TopView
from tenure.cli.terminal.screen import Screen
from tenure.client.operations.overview.format import age, left, rate, share, span, sparkline, whole
from tenure.client.operations.overview.headline import headline
from tenure.client.operations.overview.rows import (
    Flow,
    Mood,
    Overview,
    QueueOverview,
    TaskOverview,
    WorkerOverview,
    total_of,
)
from tenure.notice import Pause
from tenure.query import HeldLease
from tenure.record import Progress

NOW = 1_800_000_000.0
FLOW = Flow(
    in_per_second=312.0, out_per_second=310.0, p50_seconds=0.021, p95_seconds=0.34, error_share=0.003, lease_use=0.011,
    history=tuple(float(number) for number in range(30)),
)  # fmt: skip


def _queue(name: str = "mail-tasks", **more: object) -> QueueOverview:
    fields = {"waiting": 1_204, "delayed": 3, "running": 12, "dead": 0, "oldest_seconds": 2.3, "workers": 4}
    return QueueOverview(queue=name, **{**fields, "drains_in_seconds": 602.0, "flow": FLOW, **more})  # type: ignore[arg-type]


def _lease(id: str = "0192", left: float = 20.0, **more: object) -> HeldLease:
    fields = {"queue": "mail-tasks", "task": "send", "owner": "worker-1/ab12cd34", "fence": 1, "attempt": 1}
    moments = {"leased_at": NOW - 10, "deadline": NOW + left, "deadline_in": left, "seconds": 30.0}
    return HeldLease(id=id, **{**fields, **moments, **more})  # type: ignore[arg-type]


def _worker(name: str = "worker-1", **more: object) -> WorkerOverview:
    fields: dict[str, object] = {"queues": ("mail-tasks",), "slots": 10, "silent_seconds": 0.2, "host": "build-7"}
    return WorkerOverview(id=f"{name}/ab12cd34", name=name, **{**fields, **more})  # type: ignore[arg-type]


def _overview(**more: object) -> Overview:
    fields: dict[str, object] = {
        "queues": (_queue(),), "tasks": (TaskOverview(queue="mail-tasks", task="send", running=12, flow=FLOW),),
        "leases": (_lease(),), "workers": tuple(_worker(f"worker-{number}") for number in range(4)),
        "last_sweep_at": NOW - 3, "next_sweep_at": NOW + 2, "total": FLOW,
    }  # fmt: skip
    fields |= more
    fields["total"] = total_of(fields["queues"], fields["workers"], fields["total"])  # type: ignore[arg-type]
    return Overview(now=NOW, **fields)  # type: ignore[arg-type]


def _frame(overview: Overview, **more: object) -> ScreenFrame:
    fields: dict[str, object] = {"view": TopView(), "target": "jobs:app", "every_seconds": 1.0, "now": NOW}
    return ScreenFrame(overview=overview, headline=headline(overview), **{**fields, **more})  # type: ignore[arg-type]


def _large() -> Overview:
    """Everything that makes a screen burst."""
    long = "a-queue-with-a-very-long-name-that-nobody-can-read-anyway-tasks"
    return _overview(
        queues=(
            _queue(long, waiting=12_345_678, dead=123_456, oldest_seconds=1e9, drains_in_seconds=None, grows=True),
            _queue("日本語のとても長いキューの名前です", paused=Pause("x", NOW - 90, "ada")),
            _queue("evil\x1b[2J\nqueue", waiting=None, delayed=None, running=None, dead=None, flow=Flow()),
            *(_queue(f"client-{number}-tasks", estimated=True) for number in range(1_000)),
        ),
        tasks=tuple(TaskOverview(queue=long, task=f"{long}{number}", running=None, flow=FLOW) for number in range(50)),
        leases=tuple(
            _lease(f"{number:032x}", 5.0 * number - 40, task=None if number % 7 == 0 else long, beats=123_456,
                   progress=Progress(0.5, "frame\n12\x1b[31m"), predicted_seconds=41.0)
            for number in range(300)
        ),
        leases_cut=True,
        workers=tuple(_worker(f"{long}-{number}", host=long, pid=4_194_304) for number in range(40)),
    )  # fmt: skip


@pytest.mark.parametrize("tab", ["all", "queues", "tasks", "leases", "workers"])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (120, 24), (200, 60), (60, 15), (40, 10), (20, 5)])
def test_the_screen_is_as_large_as_the_terminal(tab: str, width: int, height: int) -> None:
    for overview in (_large(), _overview(), Overview(now=NOW)):
        lines = draw(_frame(overview, view=TopView(tab=tab, section="queues" if tab == "all" else tab)), width, height)
        assert len(lines) == height
        out = Screen(width=width, force_terminal=True, file=io.StringIO())
        out.print(Group(*lines))  # as it is drawn for people
        for line in lines:
            assert line.cell_len <= width, line.plain
            assert line.plain.isprintable(), repr(line.plain)


@pytest.mark.parametrize("width", [80, 120])
def test_names_give_way_and_no_figure_does(width: int) -> None:
    lines = [line.plain for line in draw(_frame(_large(), view=TopView(tab="queues")), width, 24)]
    row = next(line for line in lines if line.startswith(" a-queue-"))
    for figure in ("312", "310", "12 M", "340 ms", "0.3 %"):
        assert f" {figure}" in row
    header = next(line for line in lines if "out/s" in line)
    assert header.index("out/s") + len("out/s") == row.index("310") + len("310")


def test_at_80_columns_the_usual_place_is_shown_without_a_cut() -> None:
    lines = [line.plain for line in draw(_frame(_overview()), 80, 24)]
    assert not [line for line in lines if "…" in line]
    assert lines[1] == " All well: 312/s in, 310/s out, oldest 2 s, 4 workers, swept 3 s ago"
    assert "next sweep in 2 s" in lines[0]


def test_at_120_columns_there_is_more() -> None:
    text = "\n".join(line.plain for line in draw(_frame(_overview()), 120, 40))
    for column in ("p50", "drains", "lease", "dead", "5 min", "worker", "beats", "usual"):
        assert column in text


def test_a_healthy_screen_has_no_colours() -> None:
    styles = {str(span.style) for line in draw(_frame(_overview()), 120, 40) for span in line.spans}
    assert not [style for style in styles if "red" in style or "yellow" in style]


def test_overdue_is_red_and_negative() -> None:
    lines = draw(_frame(_overview(leases=(_lease(left=-4.0),)), view=TopView(tab="leases", section="leases")), 120, 24)
    row = next(line for line in lines if "-4 s" in line.plain)
    assert next(row.plain[span.start : span.end].strip() for span in row.spans if span.style == "red") == "-4 s"


def test_what_cannot_be_known_is_a_dash_and_none_is_zero() -> None:
    queue = _queue(waiting=None, running=0, flow=Flow(), drains_in_seconds=None, oldest_seconds=None)
    lines = [line.plain for line in draw(_frame(_overview(queues=(queue,)), view=TopView(tab="queues")), 80, 24)]
    row = next(line for line in lines if line.startswith(" mail-tasks"))
    assert row.split() == ["mail-tasks", "–", "–", "0", "–", "–", "–", "–"]


def test_the_chosen_row_is_in_sight_and_marked() -> None:
    queues = tuple(_queue(f"q{number:03}", waiting=1_000 - number) for number in range(100))
    view = TopView(tab="queues", section="queues", row="q070")
    lines = draw(_frame(_overview(queues=queues), view=view), 80, 24)
    marked = [line.plain for line in lines if any("reverse" in str(span.style) for span in line.spans)]
    assert any("q070" in line for line in marked)
    assert any("of 100" in line.plain for line in lines)


def test_an_outage_says_how_old_the_figures_are() -> None:
    lines = draw(_frame(_overview(), outage="connection refused", away_seconds=12.0), 80, 24)
    assert lines[1].plain.startswith(" No answer from the store for 12 s; figures of ")


def test_a_slow_look_and_a_pause_are_said() -> None:
    assert "asks every 15 s" in draw(_frame(_overview(), every_seconds=15.0), 80, 24)[0].plain
    assert "paused at " in draw(_frame(_overview(), view=TopView(is_paused=True)), 80, 24)[0].plain


def test_the_filter_is_on_screen_while_it_is_typed_and_after() -> None:
    typing = draw(_frame(_overview(), view=TopView(filter="ma", is_typing=True)), 80, 24)
    assert typing[-1].plain.startswith(" filter: ma▏")
    kept = draw(_frame(_overview(), view=TopView(filter="nothing like it")), 80, 24)
    assert "filter nothing like it" in kept[3].plain
    assert any("No queue matches the filter." in line.plain for line in kept)


def test_the_order_is_marked() -> None:
    view = TopView(tab="queues", section="queues", orders={"queues": Order("queue", ascending=True)})
    header = draw(_frame(_overview(), view=view), 80, 24)[4].plain
    assert header.startswith(" queue▴")
    by_length = TopView(tab="queues", section="queues", orders={"queues": Order("p95", ascending=False)})
    assert draw(_frame(_overview(), view=by_length), 80, 24)[4].plain.startswith(" queue  ")
    assert "▾waiting" in draw(_frame(_overview(), view=TopView(tab="queues")), 80, 24)[4].plain


def test_the_help_and_a_message_fit() -> None:
    shown = draw(_frame(_overview(), view=TopView(is_help=True)), 80, 24)
    assert not [line.plain for line in shown if "…" in line.plain]
    opened = draw(_frame(_overview(), view=TopView(opened="0192")), 80, 24)
    assert any("reading" in line.plain for line in opened)


def test_a_snapshot_has_no_keys_and_no_trailing_blanks() -> None:
    lines = [line.plain for line in snapshot(_frame(_overview()), 120, 60)]
    assert not [line for line in lines if line != line.rstrip() or "quit" in line]


# -- the sentence ----------------------------------------------------------------------------------

_UNSERVED: dict[str, Any] = {"workers": 0, "running": 0}
SENTENCES = [
    (_overview(), Mood.WELL, "All well: 312/s in, 310/s out, oldest 2 s, 4 workers, swept 3 s ago"),
    (
        _overview(queues=(), tasks=(), leases=(), workers=(_worker(),), total=Flow(), last_sweep_at=NOW - 1),
        Mood.WELL,
        "All well: nothing waits, nothing runs, 1 worker, swept 1 s ago",
    ),
    (
        _overview(queues=(), tasks=(), leases=(), workers=(), total=Flow(), last_sweep_at=None),
        Mood.WELL,
        "Idle: nothing waits, nothing runs, 0 workers",
    ),
    (
        _overview(leases=(_lease(left=-42.0), _lease("b", -2.0))),
        Mood.BAD,
        "2 leases are overdue, for 42 s: send on worker-1; next sweep in 2 s",
    ),
    (
        _overview(queues=(_queue(**_UNSERVED),), workers=()),
        Mood.BAD,
        "No worker is alive and 1,204 messages wait, for 2 s",
    ),
    (
        _overview(queues=(_queue(), _queue("slow", waiting=1, **_UNSERVED))),
        Mood.BAD,
        "No worker serves slow: 1 message waits there, for 2 s",
    ),
    (
        _overview(workers=(_worker(), _worker("b", gone="killed by signal 9", holds=3))),
        Mood.SOON,
        "Worker b is gone (killed by signal 9) and held 3 messages; next sweep in 2 s",
    ),
    (
        _overview(
            total=Flow(out_per_second=1.0, error_share=0.25),
            tasks=(TaskOverview(queue="q", task="fax", running=0, flow=Flow(out_per_second=1.0, error_share=0.9)),),
        ),
        Mood.SOON,
        "90 % of the runs of fax failed in the last minute",
    ),
    (
        _overview(queues=(_queue(oldest_seconds=200.0, drains_in_seconds=None, grows=True),)),
        Mood.SOON,
        "mail-tasks grows: 312/s in, 310/s out, 1,204 waiting, oldest 3 min",
    ),
    (
        _overview(queues=(_queue(paused=Pause("mail-tasks", NOW - 90, "ada")),)),
        Mood.SOON,
        "mail-tasks is paused by ada for 90 s: 1,204 messages wait",
    ),
    (
        _overview(last_sweep_at=NOW - 65, next_sweep_at=NOW - 60),
        Mood.SOON,
        "The last sweep was 65 s ago: overdue leases are not returned",
    ),
    (_overview(workers=(_worker(), _worker("b", silent_seconds=30.0))), Mood.SOON, "Worker b was silent for 30 s"),
]


@pytest.mark.parametrize(
    ("overview", "mood", "text"), SENTENCES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_headline(overview: Overview, mood: Mood, text: str) -> None:
    told = headline(overview)
    assert (told.mood, told.text) == (mood, text)


def test_the_worst_comes_first_and_the_rest_is_counted() -> None:
    queue = _queue(paused=Pause("mail-tasks", NOW - 90, "ada"))
    told = headline(_overview(queues=(queue,), leases=(_lease(left=-5.0),)))
    assert told.mood is Mood.BAD
    assert told.text.endswith("(+1)")


# -- figures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (whole(None), "–"), (whole(0), "0"), (whole(99_999), "99,999"), (whole(123_456), "123 k"),
        (whole(1_204_332), "1.2 M"), (whole(12_345_678), "12 M"), (whole(5, estimated=True), "~5"),
        (rate(None), "–"), (rate(0.0), "0"), (rate(0.02), "0.02"), (rate(3.21), "3.2"), (rate(312.4), "312"),
        (rate(9_812.0), "9,812"), (span(None), "–"), (span(0.0), "0 s"), (span(0.0001), "<1 ms"),
        (span(0.34), "340 ms"),
        (span(0.9996), "1.0 s"), (span(3.44), "3.4 s"), (span(9.99), "9 s"), (span(42.0), "42 s"),
        (span(720), "12 min"),
        (span(97_200.0), "27 h"), (span(300_000.0), "3 d"), (span(math.inf), "grows"), (age(2.9), "2 s"),
        (left(12.2), "12 s"), (left(-3.9), "-3 s"), (left(-0.4), "0 s"), (share(None), "–"), (share(0.0), "0 %"),
        (share(0.0001), "<0.1 %"), (share(0.003), "0.3 %"), (share(0.12), "12 %"), (share(20.0), ">999 %"),
        (sparkline([0, 1, 2], 3), "▁▅█"), (sparkline([0, 0], 4), "  ▁▁"), (sparkline([], 3), "   "),
        (sparkline([9, 0, 1], 2), "▁█"),
    ],
)  # fmt: skip
def test_figures(shown: str, text: str) -> None:
    assert shown == text


@pytest.mark.parametrize("number", [0, 9, 99.9, 1_234, 99_999.4, 99_999.6, 999_499, 1e6, 9.96e6, 1e9, 1e12])
def test_a_figure_has_six_characters_at_most(number: float) -> None:
    for shown in (whole(number), rate(number), span(number), age(number), share(number / 1_000), left(number)):
        assert len(shown) <= 6, shown


@pytest.mark.parametrize("width", range(8))
def test_a_text_takes_exactly_its_width(width: int) -> None:
    for text in ("", "a", "abcdef", "日本語", "a\nb"):
        for keeps_end in (False, True):
            assert cell_len(sized(text, width, keeps_end=keeps_end)) == width, (text, keeps_end)
