"""`tenure messages` with filters: every filter of a query, page after page, and how far it looked."""

import pytest

from .conftest import URL, Run, answer, worked


def _ids(tenure: Run, *words: str) -> list[str]:
    return [message["id"] for message in answer(tenure("messages", URL, "--json", *words))["messages"]]


@pytest.fixture
def some(tenure: Run) -> None:
    for id, queue, image, more in (
        ("a", "acme-tasks", "cat.png", []),
        ("b", "acme-tasks", "dog.png", ["--key", "k1"]),
        ("c", "globex-tasks", "CAT.jpg", []),
        ("d", "other", "cow.png", ["--delay", "1h"]),
    ):
        sent = tenure(
            "submit", "jobs:app", "resize", f'{{"image": "{image}"}}', "--id", id, "--queue", queue, "--yes", *more
        )
        assert sent.exit_code == 0, sent.stderr


@pytest.mark.usefixtures("some")
def test_filters_are_combined(tenure: Run) -> None:
    assert _ids(tenure) == ["a", "b", "c", "d"]
    assert _ids(tenure, "--queue", "*-tasks") == ["a", "b", "c"]
    assert _ids(tenure, "--queue", "acme-*", "--queue", "other") == ["a", "b", "d"]
    assert _ids(tenure, "--state", "delayed", "--state", "ready") == ["d", "a", "b", "c"]
    assert _ids(tenure, "--text", "cat") == ["a", "c"]
    assert _ids(tenure, "--text", "cat", "--queue", "acme-tasks") == ["a"]
    assert _ids(tenure, "--key", "k1") == ["b"]
    assert _ids(tenure, "--client", "default", "--queue", "acme-tasks") == ["a", "b"]
    assert _ids(tenure, "--client", "acme") == []
    assert _ids(tenure, "--task", "resize", "--since", "1h") == ["a", "b", "c", "d"]
    assert _ids(tenure, "--until", "1h") == []


@pytest.mark.usefixtures("some")
def test_a_cursor_goes_on(tenure: Run) -> None:
    first = answer(tenure("messages", URL, "--json", "-n", "2"))
    assert [one["id"] for one in first["messages"]] == ["a", "b"]
    assert first["more"]
    rest = answer(tenure("messages", URL, "--json", "-n", "2", "--after", first["after"]))
    assert [one["id"] for one in rest["messages"]] == ["c", "d"]
    assert (rest["more"], rest["after"]) == (False, None)
    shown = tenure("messages", URL, "-n", "2").stdout.splitlines()[-1]
    assert shown.startswith("The first 2 messages; --limit shows more, --after ")
    assert tenure("messages", URL, "--after", "nonsense").exit_code == 2


@pytest.mark.usefixtures("some")
def test_what_cannot_be_answered_is_refused(tenure: Run) -> None:
    mixed = tenure("messages", URL, "--state", "ready", "--state", "completed")
    assert (mixed.exit_code, "apart from the others" in mixed.stderr) == (2, True)
    by_key = tenure("messages", URL, "--state", "completed", "--key", "k1")
    assert "error[bad_argument]: completed messages do not keep their key" in by_key.stderr
    assert tenure("messages", URL, "--text", "elephant").stdout == "No message with text 'elephant'.\n"
    assert "error[unknown_queue]" in tenure("messages", URL, "--queue", "nowhere").stderr
    assert tenure("messages", URL, "--queue", "nowhere*").stdout == "No message in queue 'nowhere*'.\n"


def test_finished_ones_of_several_queues_are_merged_newest_first(tenure: Run) -> None:
    for id, queue in (("a", "default-tasks"), ("b", "slow"), ("c", "default-tasks")):
        name, payload = ("nap", '{"seconds": 0}') if queue == "slow" else ("resize", '{"image": "x"}')
        tenure("submit", "jobs:app", name, payload, "--id", id)
        worked(id)
    assert _ids(tenure, "--state", "completed") == ["c", "b", "a"]
    assert _ids(tenure, "--state", "completed", "--state", "cancelled", "-n", "2") == ["c", "b"]
    assert _ids(tenure, "--state", "completed", "--task", "resize") == ["c", "a"]
    one = answer(tenure("messages", URL, "--json", "--state", "completed", "--queue", "default-tasks", "-n", "1"))
    assert [message["id"] for message in one["messages"]] == ["c"]
    on = ("--state", "completed", "--queue", "default-tasks", "--after", one["after"])
    assert _ids(tenure, *on) == ["a"]
