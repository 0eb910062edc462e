"""`tenure show`: the whole life of one message, in every state."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tenure import Tenure
from tenure.client.operations.message_detail import kept_counters
from tenure.event import Event, EventKind
from tenure.lease import LeaseRequest
from tenure.message import ELSEWHERE, Message, MessageState, Outgoing, Ticket
from tenure.record import Progress, Record
from tenure.sample import Sample

from .conftest import URL, Run, answer, there, worked


def test_without_an_id_it_asks_which_message(tenure: Run) -> None:
    result = tenure("show", "jobs:app")
    assert result.exit_code == 2
    assert "error[usage]: which message? Add its id: tenure show jobs:app ID" in result.stderr
    assert "one message at a time, not 2: a b" in tenure("show", "jobs:app", "a", "b").stderr


def _sent(tenure: Run, id: str, *options: str, image: str = "a.png") -> None:
    assert tenure("submit", "jobs:app", "resize", f'{{"image": "{image}"}}', "--id", id, *options).exit_code == 0


def _shown(tenure: Run, *words: str) -> str:
    result = tenure("show", URL, *words)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def _words(line: str) -> str:
    return " ".join(line.split())


def test_a_message_that_waits_shows_what_its_sender_decided(tenure: Run) -> None:
    _sent(tenure, "a", "--priority", "9", "--key", "k", "--unique", "u", "--header", "x=y", "--correlation-id", "c",
          "--lease", "1m", "--max-attempts", "7", "--expires", "1h")  # fmt: skip
    shown = _shown(tenure, "a")
    lines = [_words(line) for line in shown.splitlines()]
    for line in ("message a", "task resize", "queue default-tasks", "priority 9", "key k", "unique u", "header x y",
                 "correlation c", "lease 60 s", "attempts at most 7", "now ready waits for a worker"):  # fmt: skip
        assert line in lines
    assert '"image": "a.png"' in shown


def test_a_delayed_message_says_when_it_is_due_and_that_its_queue_is_paused(tenure: Run) -> None:
    _sent(tenure, "a", "--delay", "1h")
    tenure("pause", URL, "default-tasks")
    last = _words(_shown(tenure, "a"))
    assert re.search(r"now delayed due in (60|59) min; its queue is paused for \d+\.\d s by \S+@", last)


def test_a_running_message_says_where_how_far_and_for_how_long(tenure: Run) -> None:
    _sent(tenure, "a")

    async def hold(app: Tenure) -> None:
        (lease,) = await app.broker.lease(LeaseRequest("me", "1", ("default-tasks",), 1, 30.0))
        assert await app.state.records.progress([(lease, Progress(0.4, "half-way, nearly"))]) == [True]

    there(hold)
    shown = _words(_shown(tenure, "a"))
    assert "now leased attempt 1 on me, lease ends in 30 s 40% half-way, nearly" in shown


_SIZED = """
from tenure import Tenure

app = Tenure("sqlite:///jobs.db")


@app.task(size="bytes")
async def transcode(file: str, bytes: int) -> None: ...
"""


def test_a_running_message_is_compared_with_runs_of_its_own_size(tenure: Run, folder: Path) -> None:
    (folder / "sized.py").write_text(_SIZED)
    tenure("submit", "sized:app", "transcode", '{"file": "a", "bytes": 80000000}', "--id", "a")

    async def hold(app: Tenure) -> None:
        wall = app.clock.wall()
        sizes = [1_000_000 * (1 + place % 40) for place in range(200)]
        samples = [Sample("default-tasks", "transcode", size / 1e6, wall, size=size) for size in sizes]
        await app.state.journal.sample(samples)
        await app.broker.lease(LeaseRequest("me", "1", ("default-tasks",), 1, 30.0))

    there(hold)
    shown = _words(tenure("show", "sized:app", "a").stdout)
    assert re.search(r"; runs of size 80 MB usually take (7\d|8\d) s", shown)
    assert answer(tenure("show", "sized:app", "a", "--json"))["size"] == 80_000_000.0
    assert re.search(r"; runs usually take (1\d|2\d) s", _words(_shown(tenure, "a")))  # a place knows no `size=`


@pytest.mark.parametrize(("estimated", "told"), [(90.0, "; such runs take about 90 s"), (None, "")])
def test_a_size_that_its_handler_found_is_told_in_words(tenure: Run, estimated: float | None, told: str) -> None:
    _sent(tenure, "a")
    data = {"file_size_bytes": 5_000_000, "file_size_mb": 4.768, "estimated_processing_seconds": estimated}

    async def say(app: Tenure) -> None:
        moment = app.clock.wall()
        event = Event(EventKind.FILE_SIZE_DETECTED, moment, "default-tasks", "resize", "a", "w/1", 1, data=data)
        await app.state.journal.append([event])

    there(say)
    assert f"file size detected 5 MB{told}, said w/1" in _words(_shown(tenure, "a"))
    assert answer(tenure("show", URL, "a", "--json"))["size"] == 5_000_000.0


def test_a_completed_message_shows_its_run_and_its_result(tenure: Run) -> None:
    _sent(tenure, "a")
    worked("a")
    shown = _words(_shown(tenure, "a"))
    assert "completed attempt 1 after " in shown
    assert ", on w/" in shown
    assert "payload not kept once a message is completed" in shown
    assert 'result "a.png"' in shown
    document = answer(tenure("show", URL, "a", "--json"))
    assert (document["state"], document["result"]) == ("completed", "a.png")
    assert [step["what"] for step in document["life"]] == ["sent", "completed"]


def test_the_steps_of_a_message_and_the_cause_of_a_duplicate_are_told(
    tenure: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_DETAIL", "1")
    _sent(tenure, "a")
    worked("a")
    data = {"tier": "ledger", "cause": "delete_failed", "deliveries": 2}

    async def say(app: Tenure) -> None:
        at = app.clock.wall()
        await app.state.journal.append(
            [Event(EventKind.DUPLICATE, at, "default-tasks", "resize", "a", "w/2", data=data)]
        )

    there(say)
    result = tenure("trace", URL, "a")
    shown = _words(result.stdout)
    for words in (
        "received delivery 1, by w/", "heartbeat started by w/", "processed attempt 1 after ",
        "heartbeat stats 0 renewals",
        "deletion deleted, by w/", "duplicate already completed; its delete had not worked; w/2 only deleted it",
    ):  # fmt: skip
        assert words in shown, shown
    life = answer(tenure("trace", URL, "a", "--json"))["life"]
    assert sorted(step["what"] for step in life) == [
        "completed", "deletion", "duplicate", "heartbeat_started", "heartbeat_stats", "processed", "received", "sent"
    ]  # fmt: skip
    assert life[-1]["cause"] == "delete_failed"


def test_a_completed_message_shows_the_payload_that_was_kept(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_KEEP_PAYLOAD", "yes")
    _sent(tenure, "a")
    _sent(tenure, "large", image="x" * 20_000)
    worked("a", "large")
    assert 'payload (kept by keep_payload) { "image": "a.png" }' in _words(_shown(tenure, "a"))
    assert answer(tenure("show", URL, "a", "--json"))["body"] == {"image": "a.png"}
    assert "the first 16,384 of 20,013 bytes" in _shown(tenure, "large")
    document = answer(tenure("show", URL, "large", "--json"))
    assert (document["body"], document["kept_payload"]["size"]) == (None, 20_013)
    assert len(document["kept_payload"]["text"]) == 16_384


def test_a_traceback_through_a_deep_library_keeps_the_handlers_own_frame(tenure: Run, folder: Path) -> None:
    library = folder / "site-packages" / "deep.py"
    library.parent.mkdir()
    library.write_text("def dive(depth):\n    return dive(depth - 1) if depth else 1 / 0\n")
    source = (folder / "jobs.py").read_text()
    dive = 'import sys; sys.path.append("site-packages"); import deep; deep.dive(20)'
    (folder / "jobs.py").write_text(source.replace('raise ValueError("no such image")', dive))
    _sent(tenure, "a", image="broken")
    worked("a")
    shown = _shown(tenure, "a")
    assert "deep.dive(20)" in shown
    assert "frames of libraries" in shown
    assert "ZeroDivisionError" in shown
    assert "return dive(depth - 1)" not in shown
    assert "return dive(depth - 1)" in _shown(tenure, "a", "--full")


def test_a_dead_message_tells_why_with_a_short_traceback(tenure: Run) -> None:
    _sent(tenure, "a", image="broken")
    worked("a")
    shown = _shown(tenure, "a")
    assert "rejected: ValueError: no such image" in shown
    assert 'raise ValueError("no such image")' in shown
    assert "now dead until it is redriven or deleted" in _words(shown)
    # One run, told once: neither the history nor the journal repeats the other.
    assert [step["what"] for step in answer(tenure("show", URL, "a", "--json"))["life"]] == ["sent", "dead"]


def test_a_life_after_death_is_told_to_its_end(tenure: Run) -> None:
    _sent(tenure, "a", image="broken")
    worked("a")
    tenure("dead", "redrive", URL, "a")
    tenure("cancel", URL, "a")
    life = answer(tenure("show", URL, "a", "--json"))["life"]
    assert [step["what"] for step in life] == ["sent", "dead", "redriven", "cancelled"]
    assert "@" in life[2]["by"]
    assert life[3]["triggered_by"] == "cli"
    shown = _words(_shown(tenure, "a"))
    assert f"redriven by {life[2]['by']}" in shown
    assert f"cancelled by {life[3]['by']}" in shown


def test_the_same_traceback_is_not_shown_again(tenure: Run, folder: Path) -> None:
    source = (folder / "jobs.py").read_text()
    (folder / "jobs.py").write_text(source.replace(", reject_on=(ValueError,)", "").replace("attempts=2", "attempts=3"))
    _sent(tenure, "a", image="broken")
    worked("a")
    shown = _shown(tenure, "a")
    assert shown.count("Traceback (most recent call last)") == 1
    assert shown.count("(the same traceback as before)") == 1
    assert "again in " in shown
    assert "max_attempts: gave up after 3 of 3 attempts" in shown


def test_a_long_payload_is_shortened_and_says_so(tenure: Run) -> None:
    long = "[" + ",".join(f'"page {number}"' for number in range(100)) + "]"
    tenure("submit", URL, "t", long, "--id", "long", "--create")
    tenure("submit", URL, "t", f'{{"text": "{"x" * 100_000}"}}', "--id", "wide")
    shown = _shown(tenure, "long")
    assert "page 18" in shown
    assert "page 99" not in shown
    assert "characters in 102 lines; --full shows all" in shown
    assert "page 99" in _shown(tenure, "long", "--full")
    assert len(_shown(tenure, "wide")) < 30_000
    assert len(_shown(tenure, "wide", "--full")) > 100_000


def test_what_cannot_be_read_is_shown_as_bytes(tenure: Run, folder: Path) -> None:
    _sent(tenure, "a")
    with closing(sqlite3.connect(folder / "jobs.db")) as db:
        db.execute("UPDATE message SET envelope = X'00FF00'")
        db.commit()
    assert r"b'\x00\xff\x00'" in _shown(tenure, "a")
    document = answer(tenure("show", URL, "a", "--json"))
    assert (document["raw"], document["body"]) == ("AP8A", None)


async def _nothing() -> None: ...


def test_one_of_very_many_is_found(tenure: Run) -> None:
    async def fill(app: Tenure) -> None:
        task = app.task(name="t", queue="q")(_nothing)
        await app.submit_many([task.bind().having(id=f"m{n}") for n in range(2_500)])

    _sent(tenure, "first")
    there(fill)
    assert answer(tenure("show", URL, "m2499", "--json"))["body"] == {}


@pytest.mark.parametrize(
    ("words", "code"),
    [([URL, "nobody"], "message_not_found"), ([URL], "usage"), ([URL, "a", "b"], "usage"), ([URL, " "], "bad_argument"),
     ([URL, "\udcff"], "usage")],
)  # fmt: skip
def test_a_bad_id_has_its_code(tenure: Run, words: list[str], code: str) -> None:
    _sent(tenure, "a")
    for command in (["show"], ["dead", "show"]):
        result = tenure(*command, *words)
        assert result.exit_code == 2
        assert f"error[{code}]: " in result.stderr


def test_a_body_that_lies_elsewhere_is_told_with_its_size_and_place(tenure: Run, folder: Path) -> None:
    message = Message(
        id="a", queue="default-tasks", task="resize", body=ELSEWHERE, ticket=Ticket("s3://b/x", 5_000_000, "0")
    )
    there(lambda app: app.broker.send([Outgoing(message)]))
    assert _shown(tenure, "a").splitlines()[-1] == "payload  5,000,000 bytes at s3://b/x"
    told = answer(tenure("show", URL, "a", "--json"))
    assert told["body"] is None
    assert told["message"]["ticket"]["size"] == 5_000_000
    (seen,) = answer(tenure("messages", URL, "--json"))["messages"]
    assert seen["ticket"] == {"place": "s3://b/x", "size": 5_000_000, "digest": "0"}


@pytest.mark.parametrize(("state", "is_counted"), [("completed", False), ("ready", True)])
def test_counters_that_were_not_kept_are_not_shown_as_none(state: str, *, is_counted: bool) -> None:
    """Azure's are gone with the message. What is completed was delivered once at least."""
    record = Record(id="a", queue="q", task="t", state=MessageState(state))
    assert (kept_counters(record) is not None) is is_counted
