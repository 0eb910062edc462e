"""Sending from the command line."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tenure import Tenure
from tenure.cli.loading import load
from tenure.cli.root import root
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import StoreMissing

from .conftest import URL, Run, answer


def _only_message(tenure: Run) -> dict[str, Any]:
    (message,) = answer(tenure("messages", "jobs:app", "--json"))["messages"]
    assert isinstance(message, dict)
    return message


def test_a_message_is_sent_and_its_id_printed(tenure: Run) -> None:
    result = tenure("submit", "jobs:app", "resize", '{"image": "a.png"}')
    assert result.exit_code == 0
    assert _only_message(tenure)["id"] == result.stdout.strip()


def test_a_task_without_parameters_needs_no_payload(tenure: Run) -> None:
    result = tenure("submit", "sqlite:///jobs.db", "anything", "--create")
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
            "--lease", "1m", "--max-attempts", "7", "--id", "mine", "--queue", "other", "--yes", "--json",
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
    assert tenure("submit", "sqlite:///jobs.db", "whatever", "[1, 2]", "--queue", "q", "--create").exit_code == 0
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
        (["jobs:app", "resize", '{"image": "a"}', "--at", "2030-01-01T09:00"], "bad_argument"),
        (["jobs:app", "resize", '{"image": "a"}', "--at", "soon"], "usage"),
        (["jobs:app", "resize", '{"image": "a"}', "--at", "2030-01-01T09:00Z", "--delay", "5s"], "bad_argument"),
        (["jobs:app", "resize", '{"image": "a"}', "--expires", "2020-01-01T09:00Z"], "bad_argument"),
        (["jobs:app", "resize", '{"image": "a"}', "--unique-window", "5s"], "bad_argument"),
        (["jobs:app", "resize", '{"image": "a"}', "--unique", "x", "--unique-payload"], "usage"),
        (["jobs:app", "resize", '{"image": "a"}', "--header", "none"], "usage"),
        (["jobs:app", "resize", '{"image": "a"}', "--queue", "slwo"], "unknown_queue"),
        (["jobs:app", "resize", '{"image": "a"}', "--queue", ""], "bad_argument"),
        (["jobs:app", "resize", '{"image": "a"}', "--wait=long"], "usage"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_sent(tenure: Run, words: list[str], code: str) -> None:
    result = tenure("submit", *words)
    assert result.exit_code == 2
    assert f"error[{code}]: " in result.stderr
    assert result.stdout == ""
    assert answer(tenure("queues", "jobs:app", "--json")) == {"queues": []}


def test_a_payload_that_is_no_json_gets_an_example(tenure: Run) -> None:
    refused = tenure("submit", "jobs:app", "resize", "{image: a.png}").stderr
    assert """write it as '{"image": …, "width": …}'. Nothing was sent""" in refused
    refused = tenure("submit", "sqlite:///jobs.db", "resize", "a.png", "--create").stderr
    assert """write it as '{"image": "a.png"}'. Nothing was sent""" in refused


def test_a_mistyped_parameter_is_named(tenure: Run) -> None:
    result = tenure("submit", "jobs:app", "resize", '{"imge": "a.png"}')
    assert result.exit_code == 2
    assert "imge" in result.stderr
    assert "did you mean image?" in result.stderr
    # Also one that could be left out: it would be ignored, and nobody would know.
    assert tenure("submit", "jobs:app", "resize", '{"image": "a.png", "widht": 5}').exit_code == 2


def test_waiting_on_a_paused_queue_says_that_it_is_paused(tenure: Run) -> None:
    tenure("pause", "jobs:app", "default-tasks")
    result = tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--wait", "50ms")
    assert result.exit_code == 1
    assert "queue default-tasks is paused for 0." in result.stderr
    assert "it waits until the queue is resumed (tenure resume)" in result.stderr
    assert "no worker serves" not in result.stderr


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
    result = tenure("submit", "sqlite:///jobs.db?body_limit=1000", "resize", "-", "--create", stdin=body)
    assert result.exit_code == 2
    assert "error[body_too_large]: " in result.stderr


def test_every_way_to_say_when_and_what_reaches_the_message(tenure: Run) -> None:
    tomorrow = round(SYSTEM_CLOCK.wall()) + 86_400.0
    at = datetime.fromtimestamp(tomorrow, timezone(timedelta(hours=1))).isoformat()
    expires = datetime.fromtimestamp(tomorrow + 60, UTC).isoformat()
    words = ["jobs:app", "resize", '{"image": "a"}', "--id", "mine", "--at", at, "--expires", expires,
             "--unique", "w", "--unique-window", "1h", "--header", "a=b=c", "--header", "d=",
             "--correlation-id", "c", "--max-hold", "1m"]  # fmt: skip
    assert tenure("submit", *words).exit_code == 0
    shown = answer(tenure("show", "jobs:app", "mine", "--json"))
    message = shown["message"]
    assert shown["state"] == "delayed"
    assert abs(shown["due_in"] + message["sent_at"] - tomorrow) < 60
    assert message["expires_at"] == tomorrow + 60
    assert message["unique"].endswith("w")
    assert message["headers"] == {"a": "b=c", "d": ""}
    assert (message["correlation_id"], message["overrides"]["max_hold_seconds"]) == ("c", 60.0)


def test_a_waiting_message_stands_for_one_with_the_same_word_or_payload(tenure: Run) -> None:
    for word in (["--unique", "w"], ["--unique-payload"]):
        first = tenure("submit", "jobs:app", "resize", '{"image": "a"}', *word)
        second = tenure("submit", "jobs:app", "resize", '{"image": "a"}', *word)
        assert second.stdout == first.stdout
        assert "unique value; nothing new was stored" in second.stderr


def test_a_mistyped_url_creates_nothing(tenure: Run, folder: Path) -> None:
    result = tenure("submit", "sqlite:///typo/jobs.db", "resize", "{}")
    assert result.exit_code == 2
    assert "error[store_missing]: " in result.stderr
    assert "--create makes it" in result.stderr
    assert not (folder / "typo").exists()
    assert tenure("submit", "sqlite:///typo/jobs.db", "resize", "{}", "--create").exit_code == 0
    assert (folder / "typo" / "jobs.db").exists()


def test_a_client_has_its_own_queue(tenure: Run) -> None:
    assert tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--client", "acme").exit_code == 0
    assert _only_message(tenure)["queue"] == "acme-tasks"
    assert _only_message(tenure)["client"] == "acme"
    assert tenure("submit", "sqlite:///jobs.db", "any", "--client", "demo", "--queue", "own").exit_code == 0
    sent = answer(tenure("messages", "jobs:app", "--json"))["messages"]
    assert {(one["client"], one["queue"]) for one in sent} == {("acme", "acme-tasks"), ("demo", "own")}
    refused = tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--client", "Acme")
    assert refused.exit_code == 2
    assert "upper case" in refused.stderr


def test_a_queue_that_nobody_knows_is_refused_unless_it_is_meant(tenure: Run) -> None:
    words = ["submit", "jobs:app", "resize", '{"image": "a"}', "--queue", "slwo"]
    refused = tenure(*words)
    assert "did you mean 'slow'? Nothing was sent; add --yes to send it anyway" in refused.stderr
    assert tenure(*words, "--yes").exit_code == 0
    assert tenure(*words).exit_code == 0  # from now on it is known
    assert tenure(*words[:-1], "slow").exit_code == 0


def test_waiting_prints_the_result_and_nothing_else_on_standard_output(tenure: Run) -> None:
    with _worker():
        result = tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "a", "--wait", "20s")
        assert (result.exit_code, result.stdout) == (0, '"a"\n')
        assert "sent a\n" in result.stderr
        document = answer(tenure("submit", "--wait", "jobs:app", "resize", '{"image": "b"}', "--id", "b", "--json"))
        assert document == {"id": "b", "duplicate": False, "result": "b"}


def test_waiting_for_a_task_that_fails_shows_the_workers_traceback(tenure: Run) -> None:
    with _worker():
        result = CliRunner().invoke(root, ["submit", "jobs:app", "resize", '{"image": "broken"}', "--wait"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert 'raise ValueError("no such image")' in result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error[task_failed]: ")
    assert "ValueError: no such image" in last
    assert "In the worker" not in last


def test_waiting_ends_in_time_and_the_message_goes_on(tenure: Run) -> None:
    result = tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "a", "--wait", "50ms")
    assert result.exit_code == 1
    assert "no worker serves queue default-tasks at the moment" in result.stderr
    assert "error[result_timeout]: " in result.stderr
    assert _only_message(tenure)["id"] == "a"


@contextlib.contextmanager
def _worker() -> Iterator[None]:
    """A worker of `jobs.py` in a thread of this process, while a command waits for it."""
    app = load("jobs:app")
    started, stop = threading.Event(), threading.Event()

    async def work() -> None:
        worker_app = Tenure(URL)
        for task in app.tasks.values():
            worker_app.task(name=task.name, queue=task.queue, reject_on=(ValueError,))(task.function)
        async with worker_app, worker_app.worker():
            started.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(work(),))
    thread.start()
    assert started.wait(60)
    try:
        yield
    finally:
        stop.set()
        thread.join(60)


@pytest.mark.parametrize(
    ("target", "words", "is_said"),
    [("sqs://eu-west-1", [], True), ("sqs://eu-west-1", ["--create"], False), ("jobs:app", [], False)],
)
def test_create_is_named_only_where_it_helps(
    tenure: Run, monkeypatch: pytest.MonkeyPatch, target: str, words: list[str], *, is_said: bool
) -> None:
    def missing(*_words: object) -> None:
        raise StoreMissing("the table is not there")

    monkeypatch.setattr("tenure.cli.commands.submit.submit.run", missing)
    refused = tenure("submit", target, "resize", '{"image": "a.png"}', *words).stderr
    assert refused.startswith("error[store_missing]: ")
    assert ("--create makes it" in refused) is is_said
