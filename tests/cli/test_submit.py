"""Sending from the command line."""

from typing import Any

import pytest

from .conftest import Run, answer


def _only_message(tenure: Run) -> dict[str, Any]:
    (message,) = answer(tenure("messages", "jobs:app", "--json"))["messages"]
    assert isinstance(message, dict)
    return message


def test_a_message_is_sent_and_its_id_printed(tenure: Run) -> None:
    result = tenure("submit", "jobs:app", "resize", '{"image": "a.png"}')
    assert result.exit_code == 0
    assert _only_message(tenure)["id"] == result.stdout.strip()


def test_a_task_without_parameters_needs_no_payload(tenure: Run) -> None:
    result = tenure("submit", "sqlite:///jobs.db", "anything")
    assert result.exit_code == 0
    assert _only_message(tenure)["queue"] == "default-tasks"


def test_the_payload_may_come_from_standard_input(tenure: Run) -> None:
    assert tenure("submit", "jobs:app", "resize", "-", stdin='{"image": "ä.png"}').exit_code == 0
    shown = answer(tenure("dead", "show", "jobs:app", str(_only_message(tenure)["id"]), "--json"))
    assert shown["body"] == {"image": "ä.png"}


def test_every_option_reaches_the_message(tenure: Run) -> None:
    sent = answer(
        tenure(
            "submit", "jobs:app", "resize", '{"image": "a"}', "--priority", "9", "--delay", "5m", "--key", "k",
            "--lease", "1m", "--max-attempts", "7", "--id", "mine", "--queue", "other", "--json",
        )
    )  # fmt: skip
    assert sent == {"id": "mine", "duplicate": False}
    message = _only_message(tenure)
    assert (message["state"], message["queue"]) == ("delayed", "other")
    shown = answer(tenure("dead", "show", "jobs:app", "mine", "--json"))
    raw = str(shown["raw"])
    for part in ('"priority":9', '"key":"k"', '"lease_seconds":60.0', '"max_attempts":7'):
        assert part in raw


def test_a_repeated_key_is_said_to_be_a_duplicate(tenure: Run) -> None:
    first = tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--key", "k")
    second = tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--key", "k")
    assert second.stdout == first.stdout
    assert "sent before" in second.stderr
    assert answer(tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--key", "k", "--json"))["duplicate"] is True


def test_a_url_cannot_check_a_payload_and_sends_it_as_it_is(tenure: Run) -> None:
    assert tenure("submit", "sqlite:///jobs.db", "whatever", "[1, 2]", "--queue", "q").exit_code == 0
    assert _only_message(tenure)["queue"] == "q"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["jobs:app", "resise", "{}"], "unknown_task"),
        (["jobs:app", "resize", "{}"], "payload_invalid"),
        (["jobs:app", "resize", '{"image": 5}'], "payload_invalid"),
        (["jobs:app", "resize", '["a"]'], "payload_invalid"),
        (["jobs:app", "resize", "{not json"], "payload_invalid"),
        (["sqlite:///jobs.db", "resize", "{not json"], "payload_invalid"),
        (["jobs:app", "resize", '{"image": "a"}', "--priority", "12"], "bad_argument"),
        (["jobs:app", "resize", '{"image": "a"}', "--max-attempts", "0"], "bad_argument"),
        (["jobs:app", "resize", '{"image": "a"}', "--lease", "0"], "bad_argument"),
        (["jobs:app", "resize", '{"image":', '"a"}'], "bad_argument"),
        (["jobs:app"], "bad_argument"),
        ([], "bad_target"),
        (["jobs:app", "resize", '{"image": "a"}', "--delay", "soon"], "usage"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_sent(tenure: Run, words: list[str], code: str) -> None:
    result = tenure("submit", *words)
    assert result.exit_code == 2
    assert f"error[{code}]: " in result.stderr
    assert result.stdout == ""
    assert answer(tenure("queues", "jobs:app", "--json")) == {"queues": []}


def test_a_near_miss_of_a_task_is_guessed(tenure: Run) -> None:
    assert "did you mean 'resize'?" in tenure("submit", "jobs:app", "resise").stderr


def test_bytes_that_are_no_text_are_refused(tenure: Run) -> None:
    result = tenure("submit", "sqlite:///jobs.db", "resize", "-", stdin=b'{"image": "\xff\xfe"}')
    assert result.exit_code == 2
    assert "error[payload_invalid]: the payload is not JSON" in result.stderr


def test_another_payload_under_the_same_key_is_refused(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--key", "k")
    result = tenure("submit", "jobs:app", "resize", '{"image": "b"}', "--key", "k")
    assert result.exit_code == 2
    assert "error[key_conflict]: " in result.stderr


def test_a_body_over_the_limit_is_refused(tenure: Run) -> None:
    body = '{"image": "' + "a" * 2000 + '"}'
    result = tenure("submit", "sqlite:///jobs.db?body_limit=1000", "resize", "-", stdin=body)
    assert result.exit_code == 2
    assert "error[body_too_large]: " in result.stderr
