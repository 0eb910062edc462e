"""`queues` and `messages`: looking changes nothing, and what cannot be known is not called 0."""

import sqlite3
from contextlib import closing
from pathlib import Path

from rich.console import Console

from tenure.broker import Browsed, Depth
from tenure.cli.messages import table as message_table
from tenure.cli.queues import table
from tenure.cli.seen import read
from tenure.message import Counters, MessageState
from tenure.verdict import Reason

from .conftest import Run, answer


def _drawn(renderable: object, width: int = 80) -> str:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def test_unknown_is_a_dash_and_none_is_zero() -> None:
    depth = Depth(queue="q", ready=0, delayed=None, leased=12_345, dead=1, oldest_age_seconds=None, estimated=True)
    row = _drawn(table([depth])).splitlines()[-1]
    assert row.split() == ["q", "~0", "–", "~12,345", "~1", "–"]


def test_queues_counts_by_state(tenure: Run) -> None:
    for options in ([], ["--delay", "1h"], ["--queue", "other"]):
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', *options)
    queues = answer(tenure("queues", "jobs:app", "--json"))["queues"]
    counts = {queue["queue"]: (queue["ready"], queue["delayed"], queue["leased"], queue["dead"]) for queue in queues}
    assert counts == {"default-tasks": (1, 1, 0, 0), "other": (1, 0, 0, 0)}
    assert "default-tasks" in tenure("queues", "jobs:app").stdout


def test_messages_are_filtered_by_queue_and_state_and_cut_at_the_limit(tenure: Run) -> None:
    for number in range(3):
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", f"ready-{number}")
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "later", "--delay", "1h", "--queue", "other")

    def ids(*words: str) -> tuple[list[str], object]:
        shown = answer(tenure("messages", "jobs:app", "--json", *words))
        return [message["id"] for message in shown["messages"]], shown["more"]

    assert ids() == (["ready-0", "ready-1", "ready-2", "later"], False)
    assert ids("--state", "delayed") == (["later"], False)
    assert ids("--queue", "other") == (["later"], False)
    assert ids("--limit", "2") == (["ready-0", "ready-1"], True)
    assert "--limit shows more" in tenure("messages", "jobs:app", "--limit", "2").stdout
    assert tenure("messages", "jobs:app", "--queue", "nowhere").stdout == "No such messages.\n"


def test_a_table_in_a_pipe_is_not_cut(tenure: Run) -> None:
    id = "x" * 90
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", id)
    assert id in tenure("messages", "jobs:app").stdout


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
        id="0" * 32, queue="q", state=MessageState.LEASED, envelope=b"?", counters=Counters(3, 2, 1, 0), cursor=1,
        owner="worker-1/abc", fence=7, deadline_in=deadline_in, reason=Reason("error", "it failed\nbadly"),
    )  # fmt: skip


def test_a_lease_is_counted_down_and_an_overdue_one_says_so() -> None:
    seen = [read(_leased(12.0)), read(_leased(-3.0))]
    for width in (80, 200):
        text = _drawn(message_table(seen, 0.0, width), width)
        for word in ("12 s", "Overdue 3 s", "0" * 32, "worker-1/abc", "error: it failed"):
            assert word in text, (width, word)
        assert all(len(line) <= width for line in text.splitlines())
        assert "badly" not in text
