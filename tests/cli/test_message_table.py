"""The tables of messages: progress and durations, and ids that can be copied in terminals of every width."""

import sqlite3
from contextlib import closing

import msgspec
import pytest
from rich.console import Console

from tenure import Tenure
from tenure.broker import Browsed
from tenure.cli.commands.dead.list import _block, _table
from tenure.cli.commands.show.telling import tell
from tenure.cli.terminal.message_table import table
from tenure.client.operations.listed_message import ListedMessage, listed, listed_ended
from tenure.client.operations.message_detail import fetch
from tenure.lease import LeaseRequest
from tenure.message import Counters, MessageState
from tenure.record import Progress, Record
from tenure.verdict import Reason

from .conftest import URL, Run, answer, there, worked

USUAL, LONG = "0123456789abcdef" * 2, "customer-4711-order-2026-11-18-0001-thumbnail-large-variant-webp-retina"
WIDTHS = (40, 60, 79, 80, 100, 110, 120, 140, 170, 200)


def _seen(id: str, state: MessageState) -> ListedMessage:
    browsed = Browsed(
        id=id, queue="a-queue-with-a-long-name", state=state, envelope=b"?", counters=Counters(3, 2, 1, 0),
        owner="worker-1/abc" if state is MessageState.LEASED else None, reason=Reason("max_attempts", "x" * 200),
        deadline_in=12.0 if state is MessageState.LEASED else None,
    )  # fmt: skip
    if state is MessageState.LEASED:
        return msgspec.structs.replace(listed(browsed, 0.0), progress=Progress(0.42, "page 42 of 100"))
    if state is MessageState.COMPLETED:
        record = Record(id=id, queue="q", task="send_order_confirmation_mail", state=state, finished_at=-30.0)
        return msgspec.structs.replace(listed_ended(browsed, record, 0.0), seconds=0.312)
    return listed(browsed, 0.0)


def _drawn(seen: list[ListedMessage], width: int) -> list[str]:
    drawn = table(seen, 0.0, width)
    out = Console(width=width, highlight=False)
    with out.capture() as capture:
        out.print(drawn, soft_wrap=not hasattr(drawn, "columns"))
    return capture.get().splitlines()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("state", [MessageState.LEASED, MessageState.DEAD, MessageState.COMPLETED])
def test_an_id_is_whole_and_on_one_line_in_every_terminal(width: int, state: MessageState) -> None:
    for ids in ([USUAL], [USUAL, LONG]):
        lines = _drawn([_seen(id, state) for id in ids], width)
        for id in ids:
            (line,) = [line for line in lines if id in line]
            assert line.startswith(id), "nothing before it: a double click takes it"
        # Only an id that is longer than the terminal is wide goes over its edge, and the terminal wraps it.
        assert all(len(line) <= width for line in lines if len(line.strip()) != len(LONG)), lines
        told = {MessageState.COMPLETED: "312 ms", MessageState.DEAD: "max_att", MessageState.LEASED: "42%"}
        for word in (state.value, told[state]):
            assert any(word in line for line in lines) or width < 60, (width, word, lines)


@pytest.mark.parametrize("width", [width for width in WIDTHS if width >= 60])
def test_a_message_that_runs_shows_how_far_it_is(width: int) -> None:
    assert any("42%" in line for line in _drawn([_seen(USUAL, MessageState.LEASED)], width))


@pytest.mark.parametrize("width", [130, 140, 200])
def test_the_table_of_dead_letters_keeps_the_age_and_the_id(width: int) -> None:
    out = Console(width=width, highlight=False)
    with out.capture() as capture:
        out.print(_table([_seen(USUAL, MessageState.DEAD)], width))
    header, _, row = capture.get().splitlines()
    assert header.split() == ["id", "task", "age", "reason"]
    assert row.startswith(f"{USUAL}  unreadable ")
    assert len(row) <= width


def test_a_block_never_cuts_an_id() -> None:
    for width in (40, 60, 80):
        first, second = _block(_seen(LONG, MessageState.DEAD), width).plain.split("\n")
        assert first.startswith(LONG)
        assert len(first) <= max(width, len(LONG))
        assert len(second) == width


def test_messages_tell_progress_of_what_runs(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "running")

    async def run(app: Tenure) -> None:
        (lease,) = await app.broker.lease(LeaseRequest("me", "1", ("default-tasks",), 1, 30.0))
        await app.state.records.progress([(lease, Progress(0.42, "page 42"))])

    there(run)
    (message,) = answer(tenure("messages", URL, "--json"))["messages"]
    assert (message["progress"], message["seconds"]) == ({"fraction": 0.42, "note": "page 42"}, None)
    shown = tenure("messages", URL).stdout
    assert "progress" in shown.splitlines()[0]
    assert "42% page 42" in shown


def test_completed_messages_tell_how_long_they_took(tenure: Run) -> None:
    ids = [answer(tenure("submit", "jobs:app", "nap", '{"seconds": 0.05}', "--json"))["id"] for _ in range(3)]
    worked(*ids)
    # The journal is written a moment after the messages are settled; the worker has stopped, so it is.
    messages = answer(tenure("messages", URL, "--state", "completed", "--json"))["messages"]
    assert {message["id"] for message in messages} == {*ids}
    assert all(0.05 <= message["seconds"] < 30 for message in messages)
    assert "took" in tenure("messages", URL, "--state", "completed").stdout.splitlines()[0].split()


def test_a_duration_that_the_journal_has_forgotten_is_a_dash(tenure: Run) -> None:
    id = answer(tenure("submit", "jobs:app", "nap", '{"seconds": 0.01}', "--json"))["id"]
    worked(id)
    with closing(sqlite3.connect("jobs.db")) as database, database:
        database.execute("DELETE FROM journal")
    (message,) = answer(tenure("messages", "jobs:app", "--state", "completed", "--json"))["messages"]
    assert message["seconds"] is None
    assert " – " in tenure("messages", "jobs:app", "--state", "completed").stdout.splitlines()[-1]


def test_show_does_not_break_an_id_that_is_longer_than_the_terminal_is_wide(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", LONG)
    found = there(lambda app: fetch(app.operate.access, LONG))
    out = Console(width=60, highlight=False)
    with out.capture() as capture:
        tell(out, found, 0.0, full=False)
    first, second, *_ = capture.get().splitlines()
    assert first == f"message   {LONG}"
    assert second.rstrip() == "task      resize"
