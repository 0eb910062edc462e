"""Pausing and resuming: said, recorded, shown; a mistyped queue is not paused."""

from tenure.event import EventKind

from .conftest import URL, Run, answer, events


def _sent(tenure: Run) -> None:
    assert tenure("submit", "jobs:app", "nap", '{"seconds": 1}', "--id", "a").exit_code == 0


def test_a_pause_is_said_recorded_and_shown(tenure: Run) -> None:
    _sent(tenure)
    assert tenure("pause", "jobs:app", "slow").stdout == "slow: paused; 1 message will wait\n"
    (event,) = events()
    assert (event.kind, event.queue, event.data["triggered_by"]) == (EventKind.PAUSED, "slow", "cli")
    (queue,) = answer(tenure("queues", URL, "--json"))["queues"]
    assert queue["paused"]["by"] == event.data["by"]
    assert f"by {event.data['by']}" in tenure("queues", URL).stdout
    assert "slow is paused for 0." in tenure("messages", URL).stdout
    assert answer(tenure("messages", URL, "--json"))["paused"][0]["queue"] == "slow"


def test_a_second_pause_changes_nothing(tenure: Run) -> None:
    _sent(tenure)
    tenure("pause", URL, "slow")
    assert tenure("pause", URL, "slow").stdout.startswith("slow: it was paused before, for 0.")
    assert answer(tenure("pause", URL, "slow", "--json")) == {"queues": [{"queue": "slow", "changed": False}]}
    assert len(events()) == 1


def test_a_paused_queue_is_shown_though_nothing_lies_in_it(tenure: Run) -> None:
    tenure("pause", "jobs:app", "slow")
    (queue,) = answer(tenure("queues", URL, "--json"))["queues"]
    assert (queue["queue"], queue["ready"]) == ("slow", 0)


def test_a_resumed_queue_says_how_long_it_was_paused(tenure: Run) -> None:
    _sent(tenure)
    tenure("pause", URL, "slow")
    assert tenure("resume", URL, "slow").stdout.startswith("slow: resumed; it was paused for 0.")
    assert [event.kind for event in events()] == [EventKind.PAUSED, EventKind.RESUMED]
    assert "paused" not in tenure("queues", URL).stdout
    assert tenure("resume", URL, "slow").stdout == "slow: it was not paused\n"


def test_all_are_resumed_after_asking(tenure: Run) -> None:
    assert tenure("pause", "jobs:app", "slow", "default-tasks").exit_code == 0
    result = tenure("resume", URL, "--all")
    assert result.exit_code == 2
    assert "error[not_confirmed]: 2 queues would be resumed" in result.stderr
    document = answer(tenure("resume", URL, "--all", "--yes", "--json"))
    assert document == {"queues": [{"queue": name, "changed": True} for name in ("default-tasks", "slow")]}
    assert tenure("resume", URL, "--all").stdout == "No queue is paused.\n"


def test_a_mistyped_queue_is_paused_only_with_yes(tenure: Run) -> None:
    result = tenure("pause", "jobs:app", "slow", "slwo")
    assert result.exit_code == 2
    assert "error[unknown_queue]: there is no queue 'slwo'" in result.stderr
    assert "did you mean 'slow'? Nothing was paused" in result.stderr
    assert events() == []
    assert tenure("pause", "jobs:app", "slwo", "--yes").exit_code == 0
    assert [event.queue for event in events()] == ["slwo"]


def test_a_mistyped_queue_is_not_resumed(tenure: Run) -> None:
    tenure("pause", "jobs:app", "slow")
    result = tenure("resume", URL, "slwo")
    assert result.exit_code == 2
    assert "did you mean 'slow'? Nothing was resumed (paused: slow)" in result.stderr
