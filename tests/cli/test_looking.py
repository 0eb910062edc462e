"""`queues` and `messages`: looking changes nothing, and what cannot be known is not called 0."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from rich.console import Console

from tenure.broker import Browsed
from tenure.cli.commands.queues import table
from tenure.cli.terminal.message_table import table as message_table
from tenure.client.operations.listed_message import listed
from tenure.client.operations.queues import QueueList, QueueStatus
from tenure.message import Counters, MessageState
from tenure.notice import Pause
from tenure.verdict import Reason

from .conftest import URL, Run, answer, worked


def _drawn(renderable: object, width: int = 80) -> str:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def test_unknown_is_a_dash_and_none_is_zero() -> None:
    depth = QueueStatus(
        queue="q", ready=0, delayed=None, leased=12_345, dead=1, oldest_age_seconds=None, estimated=True
    )
    row = _drawn(table(QueueList(queues=(depth,)), 0.0)).splitlines()[-1]
    assert row.split() == ["q", "~0", "–", "~12,345", "~1", "–"]


def test_only_the_figure_of_dead_letters_is_red() -> None:
    console = Console(width=80, force_terminal=True, color_system="standard", highlight=False)
    rows = table(QueueList(queues=(_depth("q", dead=3), _depth("r", dead=0))), 0.0)
    with console.capture() as capture:
        console.print(rows)
    red = re.findall("\x1b\\[31m([^\x1b]*)", capture.get())
    assert [text.strip() for text in red] == ["3"]


def test_in_a_narrow_terminal_names_give_way_and_no_figure_of_a_queue_does() -> None:
    depth = QueueStatus(
        queue="mail-outgoing-transactional-europe",
        ready=12_345_678,
        delayed=1_234,
        leased=567,
        dead=89,
        oldest_age_seconds=100_000.0,
        paused=Pause("mail", -7_300.0, "somebody-with-a-long-name@a-long-host"),
    )
    found = QueueList(queues=(depth,))
    for width in (60, 80, 140):
        text = _drawn(table(found, 0.0, width), width)
        for figure in ("12,345,678", "1,234", "567", "89", "27 h 46 min", "mail-"):
            assert figure in text, (width, text)
        assert all(len(line) <= width for line in text.splitlines())
        assert len(text.splitlines()) == 3
    assert "somebody-with-a-long-name@a-long-host" in _drawn(table(found, 0.0, 140), 140)


def _depth(queue: str, dead: int) -> QueueStatus:
    return QueueStatus(queue=queue, ready=12, delayed=0, leased=0, dead=dead, oldest_age_seconds=5.0)


def test_queues_counts_by_state(tenure: Run) -> None:
    for options in ([], ["--delay", "1h"], ["--queue", "other", "--yes"]):
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', *options)
    queues = answer(tenure("queues", "jobs:app", "--json"))["queues"]
    counts = {queue["queue"]: (queue["ready"], queue["delayed"], queue["leased"], queue["dead"]) for queue in queues}
    assert counts == {"default-tasks": (1, 1, 0, 0), "other": (1, 0, 0, 0)}
    assert "default-tasks" in tenure("queues", "jobs:app").stdout


def test_messages_are_filtered_by_queue_and_state_and_cut_at_the_limit(tenure: Run) -> None:
    for number in range(3):
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", f"ready-{number}")
    tenure(
        "submit", "jobs:app", "resize", '{"image": "a"}', "--id", "later", "--delay", "1h", "--queue", "other", "--yes"
    )

    def ids(*words: str) -> tuple[list[str], object]:
        shown = answer(tenure("messages", "jobs:app", "--json", *words))
        return [message["id"] for message in shown["messages"]], shown["more"]

    assert ids() == (["ready-0", "ready-1", "ready-2", "later"], False)
    assert ids("--state", "delayed") == (["later"], False)
    assert ids("--queue", "other") == (["later"], False)
    assert ids("--limit", "2") == (["ready-0", "ready-1"], True)
    assert "--limit shows more" in tenure("messages", "jobs:app", "--limit", "2").stdout
    assert tenure("messages", "jobs:app", "--queue", "slow").stdout == "No message in queue 'slow'.\n"


def test_a_queue_that_nobody_knows_is_no_empty_queue(tenure: Run) -> None:
    for words in ([], ["--state", "completed"]):
        result = tenure("messages", "jobs:app", "--queue", "slwo", *words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            "error[unknown_queue]: there is no queue 'slwo': it holds no message, and no task or worker uses it; "
            "did you mean 'slow'?\n"
        )


def test_a_table_in_a_pipe_is_not_cut(tenure: Run) -> None:
    id = "x" * 90
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", id)
    assert id in tenure("messages", "jobs:app").stdout


def test_a_rule_in_a_pipe_is_not_as_long_as_the_longest_row(tenure: Run) -> None:
    id = "x" * 300
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", id)
    _, rule, row = tenure("messages", "jobs:app").stdout.splitlines()
    assert rule == "─" * 100
    assert id in row


def test_long_names_give_way_at_120_columns_and_the_id_does_not() -> None:
    browsed = Browsed(
        id="0" * 32, queue="a-queue-with-a-long-name", state=MessageState.DELAYED, envelope=b"?",
        counters=Counters(3, 2, 1, 0), due_in=30.0, reason=Reason("max_attempts", "x" * 200),
    )  # fmt: skip
    for width in (110, 120, 140):
        header, _, row, *_ = _drawn(message_table([listed(browsed, 0.0)], 0.0, width), width).splitlines()
        assert row.startswith("0" * 32)
        assert ("a-queue-with-a-long-name " if width == 140 else "a-queue-with-… ") in row
        assert row.endswith("x…")
        assert "30 s" in row
        assert header.rstrip().endswith("owner, reason")


def test_an_unreadable_message_is_shown_all_the_same(tenure: Run, folder: Path) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "damaged")
    with closing(sqlite3.connect(folder / "jobs.db")) as db:
        db.execute("UPDATE message SET envelope = X'00FF00'")
        db.commit()
    (message,) = answer(tenure("messages", "jobs:app", "--json"))["messages"]
    assert message["readable"] is False
    assert message["task"] is None
    assert message["age_seconds"] is None
    assert "damaged" in tenure("messages", "jobs:app").stdout
    shown = tenure("dead", "show", "jobs:app", "damaged")
    assert "b'\\x00\\xff\\x00'" in shown.stdout
    assert answer(tenure("dead", "show", "jobs:app", "damaged", "--json"))["raw"] == "AP8A"


def _leased(deadline_in: float) -> Browsed:
    return Browsed(
        id="0" * 32, queue="q", state=MessageState.LEASED, envelope=b"?", counters=Counters(3, 2, 1, 0),
        owner="worker-1/abc", fence=7, deadline_in=deadline_in, reason=Reason("error", "it failed\nbadly"),
    )  # fmt: skip


def test_a_lease_is_counted_down_and_an_overdue_one_says_so() -> None:
    seen = [listed(_leased(12.0), 0.0), listed(_leased(-3.0), 0.0)]
    for width in (80, 110, 120, 169, 200):
        text = _drawn(message_table(seen, 0.0, width), width)
        for word in ("12 s", "Overdue 3 s", "0" * 32, "worker-1/abc", "error: it"):
            assert word in text, (width, word)
        rows = [line for line in text.splitlines() if "0" * 32 in line]
        assert [("worker-1/abc" in row) for row in rows] == [width >= 110] * 2, "one line a row, where there is room"
        assert all(len(line) <= width for line in text.splitlines())
        assert "badly" not in text


def test_an_empty_place_says_so_in_plain_words(tenure: Run) -> None:
    assert tenure("messages", "jobs:app").stdout == "No messages: nothing waits, runs or is dead here.\n"
    shown = tenure("messages", "jobs:app", "--state", "dead", "--task", "nap", "--queue", "slow").stdout
    assert shown == "No dead message of task 'nap' in queue 'slow'.\n"


def test_messages_are_filtered_by_task(tenure: Run) -> None:
    for number in range(3):
        tenure("submit", "jobs:app", "nap", '{"seconds": 1}', "--id", f"nap-{number}")
        tenure("submit", "jobs:app", "stuck", '{"seconds": 1}', "--id", f"stuck-{number}")
    shown = answer(tenure("messages", URL, "--task", "stuck", "--limit", "2", "--json"))
    assert [message["id"] for message in shown["messages"]] == ["stuck-0", "stuck-1"]
    assert shown["more"] is True


def test_what_is_finished_is_shown_the_newest_first(tenure: Run) -> None:
    for id in ("a", "b", "c"):
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", id)
        worked(id)
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}', "--id", "d")
    tenure("cancel", URL, "d")

    def rows(*words: str) -> list[tuple[str, str]]:
        messages = answer(tenure("messages", URL, "--json", *words))["messages"]
        return [(message["id"], message["task"]) for message in messages]

    # Nothing lies in these queues any more: their names come from the journal.
    assert rows("--state", "completed") == [("c", "resize"), ("b", "resize"), ("a", "resize")]
    assert rows("--state", "completed", "--limit", "1") == [("c", "resize")]
    assert rows("--state", "cancelled", "--queue", "slow") == [("d", "nap")]
    assert rows("--state", "completed", "--task", "nap") == []
    assert "ended ago" in tenure("messages", URL, "--state", "completed").stdout


def test_nothing_is_padded_or_coloured_in_a_pipe(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}', "--id", "a")
    for words in (["queues"], ["messages"], ["show", "a"]):
        shown = tenure(words[0], "jobs:app", *words[1:]).stdout
        assert "\x1b" not in shown
        assert not [line for line in shown.splitlines() if line != line.rstrip()]


def test_an_app_with_a_namespace_sees_its_own_queues_only(tenure: Run, folder: Path) -> None:
    (folder / "shop.py").write_text((folder / "jobs.py").read_text().replace('jobs.db"', 'jobs.db", namespace="shop"'))
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}', "--id", "mine")
    tenure("submit", "shop:app", "nap", '{"seconds": 1}', "--id", "theirs")

    def queues(target: str) -> list[str]:
        return [queue["queue"] for queue in answer(tenure("queues", target, "--json"))["queues"]]

    assert queues("shop:app") == ["shop/slow"]
    assert queues(URL) == ["shop/slow", "slow"]
    # Both ways to write it mean the same, and so does not to write it.
    for words in ([], ["--queue", "slow"], ["--queue", "shop/slow"]):
        (message,) = answer(tenure("messages", "shop:app", *words, "--json"))["messages"]
        assert message["id"] == answer(tenure("show", "shop:app", "theirs", "--json"))["id"]
    assert "error[message_not_found]: " in tenure("show", "shop:app", "mine").stderr
    assert "error[message_not_found]: " in tenure("cancel", "shop:app", "mine").stderr
    assert tenure("pause", "shop:app", "slow").stdout == "shop/slow: paused; 1 message will wait\n"
    assert answer(tenure("queues", "jobs:app", "--json"))["queues"][1]["paused"] is None
