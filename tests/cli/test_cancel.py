"""Cancelling: each message is told what became of it, and the act is recorded."""

import pytest
from click.testing import CliRunner

import tenure.cli.asking as asking_module
from tenure import Tenure
from tenure.cli.root import root
from tenure.event import EventKind
from tenure.lease import LeaseRequest
from tenure.settlement import DeadLetter
from tenure.verdict import Reason

from .conftest import URL, Run, answer, events, there


@pytest.fixture
def messages(tenure: Run) -> None:
    """One of each kind: running, ready, delayed, dead."""
    for id in ("running", "dead"):
        assert tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", id).exit_code == 0
    there(_hold)
    assert tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "ready").exit_code == 0
    assert tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "delayed", "--delay", "1h").exit_code == 0


async def _hold(app: Tenure) -> None:
    leases = await app.broker.lease(LeaseRequest("me", "1", ("default-tasks",), 2, 30.0))
    by_id = {lease.id: lease for lease in leases}
    await app.broker.dead_letter([DeadLetter(by_id["dead"], Reason("rejected", "no"))])


def _state(tenure: Run, id: str) -> object:
    return answer(tenure("show", URL, id, "--json"))["state"]


_TOLD = "its worker ends it within about a second, and its result will be refused"


@pytest.mark.parametrize(
    ("id", "sentence"),
    [
        ("ready", "cancelled; it was ready and will not run"),
        ("delayed", "cancelled; it was delayed and will not run"),
        ("running", f"cancelled; it was running on me: {_TOLD}"),
    ],
)
def test_one_is_cancelled_without_asking(tenure: Run, messages: None, id: str, sentence: str) -> None:
    result = tenure("cancel", URL, id)
    assert (result.exit_code, result.stdout) == (0, f"{id}: {sentence}\n")
    assert _state(tenure, id) == "cancelled"
    (event,) = events()
    assert (event.kind, event.data["ids"], event.data["triggered_by"]) == (EventKind.CANCELLED, [id], "cli")
    assert "@" in event.data["by"]


def test_what_has_ended_stays_as_it_was_and_the_exit_code_says_so(tenure: Run, messages: None) -> None:
    result = tenure("cancel", URL, "dead", "ready", "--yes")
    assert result.exit_code == 1
    assert "dead: not cancelled: it is dead; tenure dead delete removes it" in result.stdout
    assert "ready: cancelled" in result.stdout
    assert "error[not_cancelled]: 1 cancelled, 1 not: it had already ended" in result.stderr
    assert (_state(tenure, "dead"), _state(tenure, "ready")) == ("dead", "cancelled")
    assert "ready: not cancelled: it is cancelled already" in tenure("cancel", URL, "ready").stdout


def test_many_are_asked_about(tenure: Run, messages: None, monkeypatch: pytest.MonkeyPatch) -> None:
    result = tenure("cancel", URL, "running", "ready", "delayed")
    assert result.exit_code == 2
    assert "error[not_confirmed]: 3 messages would be cancelled" in result.stderr
    assert (_state(tenure, "running"), events()) == ("leased", [])
    monkeypatch.setattr(asking_module, "is_watched", lambda: True)
    asked = CliRunner().invoke(root, ["cancel", URL, "running", "ready", "delayed"], input="y\n")
    assert "Will cancel 3 messages: 1 running, 1 ready, 1 delayed" in asked.stdout
    assert asked.exit_code == 0
    assert _state(tenure, "running") == "cancelled"


def test_json_answers_for_each(tenure: Run, messages: None) -> None:
    document = answer(tenure("cancel", URL, "running", "delayed", "--yes", "--json"))
    assert document == {
        "messages": [
            {"id": "running", "cancelled": True, "was": "leased", "owner": "me"},
            {"id": "delayed", "cancelled": True, "was": "delayed", "owner": None},
        ]
    }


def test_an_unknown_id_stops_the_whole_act(tenure: Run, messages: None) -> None:
    result = tenure("cancel", URL, "ready", "zzz", "--yes")
    assert result.exit_code == 2
    assert "error[message_not_found]: no message zzz is known here" in result.stderr
    assert _state(tenure, "ready") == "ready"
