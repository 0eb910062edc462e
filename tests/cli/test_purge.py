"""Purging: counted first, asked about, recorded in batches, and stopped between two of them."""

import signal
from typing import Any

import msgspec
import pytest

import tenure.cli.asking as asking_module
import tenure.client.operator as operating_module
from tenure import Tenure
from tenure.event import EventKind
from tenure.lease import LeaseRequest
from tenure.settlement import DeadLetter
from tenure.verdict import Reason

from .conftest import URL, Run, answer, events, there


@pytest.fixture
def queue(tenure: Run) -> str:
    """Five ready, two delayed, one running, one dead; and one in another queue."""
    there(_fill)
    return "q"


async def _nothing() -> None: ...


async def _fill(app: Tenure) -> None:
    task, other = app.task(name="t", queue="q")(_nothing), app.task(name="o", queue="other")(_nothing)
    await app.submit_many([task.bind(), task.bind()])
    leases = await app.broker.lease(LeaseRequest("me", "1", ("q",), 2, 30.0))
    await app.broker.dead_letter([DeadLetter(leases[0], Reason("rejected", "no"))])
    await app.submit_many([task.bind() for _ in range(5)])
    await app.submit_many([task.bind().having(delay=3600) for _ in range(2)])
    await other.submit()


def _depths(tenure: Run) -> dict[str, tuple[int, ...]]:
    queues = answer(tenure("queues", URL, "--json"))["queues"]
    return {one["queue"]: tuple(one[name] for name in ("ready", "delayed", "leased", "dead")) for one in queues}


def test_what_waits_is_removed_and_recorded(tenure: Run, queue: str) -> None:
    result = tenure("purge", URL, queue, "--yes")
    assert result.stdout == "Will remove 7 messages from q: 5 ready, 2 delayed; 1 running stay\nPurged: 7\n"
    assert result.stderr == ""
    assert _depths(tenure) == {"q": (0, 0, 1, 1), "other": (1, 0, 0, 0)}
    purged = [event for event in events() if event.kind is EventKind.PURGED]
    assert sum(event.data["count"] for event in purged) == 7
    assert {event.data["triggered_by"] for event in purged} == {"cli"}


def test_states_are_chosen(tenure: Run, queue: str) -> None:
    result = tenure("purge", URL, queue, "--state", "dead", "--yes")
    assert result.stdout.endswith("1 dead; 1 running stay\nPurged: 1\n")
    assert _depths(tenure)["q"] == (5, 2, 1, 0)
    document = answer(tenure("purge", URL, queue, "-s", "delayed", "-s", "dead", "--yes", "--json"))
    assert document == {"queue": "q", "purged": 2, "would": {"delayed": 2, "dead": 0}, "dry_run": False}


def test_many_are_not_touched_unasked(tenure: Run, queue: str) -> None:
    before = _depths(tenure)
    result = tenure("purge", URL, queue)
    assert result.exit_code == 2
    assert "error[not_confirmed]: 7 messages would be purged" in result.stderr
    assert tenure("purge", URL, queue, "--dry-run").stdout.startswith("Would remove 7 messages from q")
    assert answer(tenure("purge", URL, queue, "--dry-run", "--json"))["would"] == {"ready": 5, "delayed": 2}
    assert (_depths(tenure), events()) == (before, [])


@pytest.mark.parametrize("words", [["other"], ["q", "--state", "dead"], ["other", "--json"]])
def test_a_single_message_is_not_touched_unasked_either(tenure: Run, queue: str, words: list[str]) -> None:
    before = _depths(tenure)
    result = tenure("purge", URL, *words)
    assert (result.exit_code, _depths(tenure), events()) == (2, before, [])
    assert "not_confirmed" in result.stderr
    assert "1 message would be purged" in result.stderr


def test_on_a_terminal_it_asks_about_a_single_message(tenure: Run, queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking_module, "is_watched", lambda: True)
    refused = tenure("purge", URL, "other", stdin="n\n")
    assert "Purge other? [y/N]" in refused.stderr
    assert (refused.exit_code, _depths(tenure)["other"]) == (2, (1, 0, 0, 0))
    assert tenure("purge", URL, "other", stdin="y\n").stdout.endswith("Purged: 1\n")


def test_ctrl_c_at_the_question_ends_its_line_and_changes_nothing(
    tenure: Run, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_module, "is_watched", lambda: True)
    result = tenure("purge", URL, "other", stdin="")  # the end of the input is the same to the prompt
    assert (result.exit_code, _depths(tenure)["other"]) == (130, (1, 0, 0, 0))
    assert result.stderr.endswith("[y/N]: \nNothing was changed.\n")


def test_a_mistyped_queue_is_guessed(tenure: Run, queue: str) -> None:
    result = tenure("purge", URL, "othr", "--yes")
    assert result.exit_code == 2
    assert "error[unknown_queue]: " in result.stderr
    assert "did you mean 'other'?" in result.stderr


def test_an_empty_queue_has_nothing_to_purge(tenure: Run) -> None:
    tenure("queues", "jobs:app")
    result = tenure("purge", "jobs:app", "slow")
    assert (result.exit_code, result.stdout) == (0, "Will remove 0 messages from slow: 0 ready, 0 delayed\n")


def test_ctrl_c_under_json_says_that_the_same_command_goes_on(
    tenure: Run, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = operating_module.Operator._record

    async def interrupted(self: Any, *args: Any, **more: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        await record(self, *args, **more)

    monkeypatch.setattr(operating_module.Operator, "_record", interrupted)
    result = tenure("purge", URL, queue, "--yes", "--json")
    error = msgspec.json.decode(result.stderr)["error"]
    assert (result.exit_code, error["code"]) == (130, "interrupted")
    assert error["message"] == "interrupted: purged 5 of 7; these stay purged"
    assert error["remedy"] == "Run the command again; it goes on with the rest."


def test_ctrl_c_ends_it_between_two_batches_and_says_how_far_it_came(
    tenure: Run, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = operating_module.Operator._record

    async def interrupted(self: Any, *args: Any, **more: Any) -> None:
        signal.raise_signal(signal.SIGINT)  # after the messages are gone, before that is recorded
        await record(self, *args, **more)

    monkeypatch.setattr(operating_module.Operator, "_record", interrupted)
    result = tenure("purge", URL, queue, "--yes")
    assert result.exit_code == 130
    assert result.stderr.strip() == "Interrupted: purged 5 of 7; these stay purged."
    assert _depths(tenure)["q"] == (0, 2, 1, 1)
    (event,) = events()
    assert (event.kind, event.data["count"]) == (EventKind.PURGED, 5)
