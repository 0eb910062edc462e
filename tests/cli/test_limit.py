"""Limiting: said, recorded, shown, cleared; a mistyped queue is not limited."""

from tenure.event import EventKind

from .conftest import URL, Run, answer, events


def _sent(tenure: Run) -> None:
    assert tenure("submit", "jobs:app", "nap", '{"seconds": 1}', "--id", "a").exit_code == 0


def test_a_limit_is_said_recorded_and_shown(tenure: Run) -> None:
    _sent(tenure)
    assert tenure("limit", "jobs:app", "slow", "--running", "5").stdout == "slow: limited to 5 running\n"
    assert tenure("limit", URL, "slow", "--rate", "100/m").stdout == "slow: limited to 5 running, 100/m\n"
    last = events()[-1]
    assert (last.kind, last.queue, last.data["limit"]) == (EventKind.LIMITED, "slow", "5 running, 100/m")
    assert last.data["triggered_by"] == "cli"
    (queue,) = answer(tenure("queues", URL, "--json"))["queues"]
    assert (queue["limit"]["running"], queue["limit"]["rate"], queue["limit"]["by"]) == (5, "100/m", last.data["by"])
    assert "5 running, 100/m" in tenure("queues", URL).stdout
    assert "waits for its limit (5 running, 100/m)" in tenure("show", URL, "a").stdout
    acts = answer(tenure("acts", URL, "--json"))["acts"]
    assert [act["kind"] for act in acts[:2]] == ["limited", "limited"]


def test_a_limit_is_cleared(tenure: Run) -> None:
    _sent(tenure)
    tenure("limit", URL, "slow", "--running", "1")
    assert tenure("limit", URL, "slow", "--clear").stdout == "slow: no longer limited\n"
    assert [event.kind for event in events()] == [EventKind.LIMITED, EventKind.LIMIT_CLEARED]
    assert answer(tenure("limit", URL, "slow", "--clear", "--json")) == {
        "queue": "slow",
        "changed": False,
        "limit": None,
    }
    assert "waits for a worker" in tenure("show", URL, "a").stdout


def test_a_mistyped_queue_is_limited_only_with_yes(tenure: Run) -> None:
    result = tenure("limit", "jobs:app", "slwo", "--running", "1")
    assert result.exit_code == 2
    assert "error[unknown_queue]: there is no queue 'slwo'" in result.stderr
    assert tenure("limit", "jobs:app", "slwo", "--running", "1", "--yes").exit_code == 0


def test_what_makes_no_sense_is_refused(tenure: Run) -> None:
    _sent(tenure)
    for words in (
        ("slow",),
        ("slow", "--running", "1", "--clear"),
        ("slow", "other", "--running", "1"),
        ("slow", "--rate", "often"),
        ("slow", "--running", "0"),
    ):
        assert tenure("limit", URL, *words).exit_code == 2
    assert events() == []
