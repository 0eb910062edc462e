"""What a worker process logs: lines for people, or one JSON object a line."""

import logging
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tenure import Tenure
from tenure.cli import logs
from tenure.lease import Lease
from tenure.message import Counters, Message
from tenure.runtime.delivery import Delivery
from tenure.runtime.path import log_lines
from tenure.settlement import Outcome, Settlement
from tenure.tasks.context import Context
from tenure.tasks.task import Task
from tenure.verdict import Reason, Retried

MESSAGE = Message(id="m1", queue="mail", task="deliver", body=msgspec.Raw(b"{}"))


async def _deliver() -> None: ...


TASK: Task[..., Any] = Tenure("memory://").task(name="deliver", max_attempts=5)(_deliver)


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What went to standard error so far."""
    logging.getLogger().handlers[:] = []  # pytest's own: `install` would close them
    return lambda: capsys.readouterr().err


def fail() -> None:
    delivery = Delivery(Lease("m1", "mail", b"", "w/1", 7, 7, 30.0, 0.0, Counters(attempts=1)))
    delivery.message, delivery.task = MESSAGE, TASK
    delivery.verdict = Retried(8.0, Reason("error", "ValueError: no such image", "Traceback:\n  line 3\n"))
    log_lines.log(delivery, Settlement(Outcome.RETURNED))


def test_a_failure_in_text_is_one_line_and_its_traceback(said: Callable[[], str]) -> None:
    logs.install("text", verbose=False)
    fail()
    line, *traceback = said().splitlines()
    assert line.endswith(
        "WARNING tenure.worker  deliver m1 (attempt 2 of 5): ValueError: no such image; again in 8.0 s"
    ), "what the line says is not said again behind it"
    assert traceback == ["  Traceback:", "    line 3"]


def test_what_an_exception_says_cannot_forge_a_line_or_steer_a_terminal(said: Callable[[], str]) -> None:
    """A log line begins with its time; nothing that a message carries does."""
    logs.install("text", verbose=False)
    evil = "no\n2026-01-01 00:00:00.000 ERROR tenure.worker  all is lost\r\x1b[2J\x9b1m\u2028"
    delivery = Delivery(Lease("m1", "mail", b"", "w/1", 7, 7, 30.0, 0.0, Counters(attempts=1)))
    delivery.message, delivery.task = MESSAGE, TASK
    delivery.verdict = Retried(8.0, Reason("error", evil, f"Traceback:\n{evil}\n"))
    log_lines.log(delivery, Settlement(Outcome.RETURNED))
    text = said()
    line, *below = text.split("\n")[:-1]
    assert r"no\n2026-01-01" in line
    assert r"\r\x1b[2J\x9b1m\u2028; again in 8.0 s" in line
    assert [one[:2] for one in below] == ["  "] * 3
    assert not {"\r", "\x1b", "\x9b", "\u2028"} & set(text)


def test_an_error_that_was_logged_with_its_exception_is_told_once(said: Callable[[], str]) -> None:
    logs.install("text", verbose=False)
    try:
        raise ValueError("bad")  # noqa: TRY301 - to have a traceback
    except ValueError:
        logging.getLogger("other").exception("it failed")
    line, *traceback = said().splitlines()
    assert line.endswith("ERROR   other  it failed")
    assert traceback[0] == "  Traceback (most recent call last):"
    assert traceback[-1] == "  ValueError: bad"


def test_a_failure_in_json_is_one_object_with_everything_in_its_place(said: Callable[[], str]) -> None:
    logs.install("json", verbose=False)
    fail()
    (line,) = said().splitlines()
    entry = msgspec.json.decode(line)
    del entry["at"]
    assert entry == {
        "level": "warning",
        "logger": "tenure.worker",
        "message": "deliver m1 (attempt 2 of 5): ValueError: no such image; again in 8.0 s",
        "task": "deliver",
        "message_id": "m1",
        "attempt": 2,
        "code": "error",
        "next": "again in 8.0 s",
        "traceback": "Traceback:\n  line 3",
    }


def say() -> None:
    context = Context(MESSAGE, 2, 7, None, None)  # type: ignore[arg-type]
    context.log.info("halfway")


def test_what_a_handler_says_names_its_message_in_text(said: Callable[[], str]) -> None:
    logs.install("text", verbose=False)
    say()
    assert said().endswith("INFO    tenure.task  halfway [task=deliver message_id=m1 attempt=2]\n")


def test_what_a_handler_says_names_its_message_in_json(said: Callable[[], str]) -> None:
    logs.install("json", verbose=False)
    say()
    entry = msgspec.json.decode(said())
    assert (entry["message"], entry["task"], entry["message_id"], entry["attempt"]) == ("halfway", "deliver", "m1", 2)


def test_an_error_that_is_logged_as_such_has_its_traceback_in_json(said: Callable[[], str]) -> None:
    logs.install("json", verbose=False)
    try:
        raise ValueError("x")  # noqa: TRY301 - it needs a traceback
    except ValueError:
        logging.getLogger("jobs").exception("it failed")
    entry = msgspec.json.decode(said())
    assert entry["message"] == "it failed"
    assert entry["traceback"].endswith("ValueError: x")


def test_a_name_that_is_no_utf8_is_told_in_json_too(said: Callable[[], str]) -> None:
    """File names reach Python as lone surrogates, which JSON cannot say."""
    logs.install("json", verbose=False)
    logger = logging.getLogger("shop")
    logger.error("no such file: %s", "a\udcff.txt")
    logger.error("plain", extra={"task": "b\udcff", "attempt": 3, "code": {"c\udcff"}})
    first, second = (msgspec.json.decode(line) for line in said().splitlines())
    assert (first["message"], first["level"]) == ("no such file: a\\udcff.txt", "error")
    assert (second["message"], second["task"], second["attempt"]) == ("plain", "b\\udcff", 3)
    assert "c\\" in second["code"]


def test_what_a_message_belongs_to_stands_in_json_alone(said: Callable[[], str]) -> None:
    message = msgspec.structs.replace(MESSAGE, correlation_id="c-1")
    for style in ("json", "text"):
        logs.install(style, verbose=False)
        Context(message, 2, 7, None, None).log.info("here")  # type: ignore[arg-type]
        logging.getLogger("tenure.azure").warning("%s waits", "m1", extra={"message_id": "m1", "correlation_id": "c-1"})
    by_handler, by_broker, handlers_line, brokers_line = said().splitlines()
    for line in (by_handler, by_broker):
        entry = msgspec.json.decode(line)
        assert (entry["message_id"], entry["correlation_id"]) == ("m1", "c-1")
    assert handlers_line.endswith("here [task=deliver message_id=m1 attempt=2]")
    assert brokers_line.endswith("m1 waits"), "it names its message itself"
