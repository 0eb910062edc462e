"""From what a handler did to a verdict."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tenure import Reject, Retry, Snooze
from tenure.errors import PayloadInvalid, WebhookRefused
from tenure.message import Message, Overrides
from tenure.retry import RetryPolicy
from tenure.rules.arguments import LONGEST_SECONDS
from tenure.runtime.verdicts import TEXT_LIMIT, TRACEBACK_LIMIT, judge_error, judge_failure, judge_snooze
from tenure.tasks.task import Policy
from tenure.timing.policy import LeasePolicy
from tenure.verdict import Dead, Reason, Retried, Snoozed

POLICY = Policy(RetryPolicy(max_attempts=3, first_delay_seconds=2.0), LeasePolicy(), reject_on=(LookupError,))
MESSAGE = Message(id="m", queue="q", task="t", body=msgspec.Raw(b"{}"))


def judge(error: BaseException, attempt: int = 1, message: Message = MESSAGE) -> Retried | Snoozed | Dead:
    try:
        raise error  # noqa: TRY301 - it needs a traceback, as handlers raise
    except BaseException as caught:  # noqa: BLE001 - whatever it is
        return judge_error(caught, POLICY, message, attempt, lambda: 1.0)


def reason_of(verdict: Retried | Snoozed | Dead) -> Reason:
    return verdict.reason


def test_an_error_is_tried_again_after_the_backoff() -> None:
    verdict = judge(OSError("disk on fire"))
    assert isinstance(verdict, Retried)
    assert verdict.after_seconds == 2.0
    assert (verdict.reason.code, verdict.reason.text) == ("error", "OSError: disk on fire")
    assert verdict.reason.traceback.endswith("OSError: disk on fire\n")


def test_a_webhook_that_was_refused_is_told_by_its_code() -> None:
    assert reason_of(judge(WebhookRefused("no such endpoint"))).code == "webhook_refused"


def test_an_errors_class_is_named_as_people_import_it() -> None:
    class Local(Exception): ...

    assert reason_of(judge(OSError("x"))).error == "OSError"
    assert reason_of(judge(PayloadInvalid("x", b"{}"))).error == "tenure.errors.PayloadInvalid"
    assert reason_of(judge(Local())).error.endswith("test_an_errors_class_is_named_as_people_import_it.<locals>.Local")


def test_the_class_of_the_last_error_is_kept_at_the_end() -> None:
    assert reason_of(judge(OSError("x"), attempt=3)).error == "OSError"
    assert reason_of(judge(KeyError("x"))).error == "KeyError", "reject_on"


def test_what_a_handler_asked_for_is_no_error() -> None:
    assert [reason_of(judge(asked)).error for asked in (Retry(), Reject("x"))] == ["", ""]


def test_the_backoff_grows_with_the_attempts() -> None:
    verdicts = [judge(OSError(), attempt) for attempt in (1, 2)]
    assert [verdict.after_seconds for verdict in verdicts if isinstance(verdict, Retried)] == [2.0, 4.0]


def test_an_error_without_words_is_named_by_its_class() -> None:
    assert reason_of(judge(TimeoutError())).text == "TimeoutError"


def test_the_last_attempt_ends_with_the_dead_letters() -> None:
    verdict = judge(OSError("disk on fire"), attempt=3)
    assert isinstance(verdict, Dead)
    assert verdict.counted
    assert verdict.reason.code == "max_attempts"
    assert verdict.reason.text == "gave up after 3 of 3 attempts; the last one: OSError: disk on fire"
    assert "OSError" in verdict.reason.traceback


def test_the_messages_own_limit_beats_the_tasks() -> None:
    once = msgspec.structs.replace(MESSAGE, overrides=Overrides(max_attempts=1))
    often = msgspec.structs.replace(MESSAGE, overrides=Overrides(max_attempts=9))
    assert isinstance(judge(OSError(), 1, once), Dead)
    assert isinstance(judge(OSError(), 8, often), Retried)


def test_retry_names_its_own_moment() -> None:
    assert judge(Retry(after=7.5, reason="busy")) == Retried(7.5, Reason("retry", "busy"))
    assert judge(Retry(after=timedelta(minutes=2))) == Retried(
        120.0, Reason("retry", "the handler asked for another try")
    )


def test_retry_without_a_moment_takes_the_backoff() -> None:
    verdict = judge(Retry())
    assert isinstance(verdict, Retried)
    assert verdict.after_seconds == 2.0


@pytest.mark.parametrize(("after", "seconds"), [(-5, 0.0), (0, 0.0), (1e300, LONGEST_SECONDS)])
def test_a_moment_that_no_store_could_keep_is_brought_within_bounds(after: float, seconds: float) -> None:
    verdict = judge(Retry(after=after))
    assert isinstance(verdict, Retried)
    assert verdict.after_seconds == seconds


@pytest.mark.parametrize("after", [float("nan"), float("inf"), "soon"])
def test_a_retry_that_names_no_moment_is_an_error_of_the_handler(after: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Retry(after=after)


def test_retry_uses_an_attempt_too() -> None:
    assert isinstance(judge(Retry(after=0), attempt=3), Dead)


def test_reject_is_dead_at_once_and_counted() -> None:
    assert judge(Reject("no such customer")) == Dead(Reason("rejected", "no such customer"), counted=True)


def test_errors_that_no_retry_mends_are_dead_at_once() -> None:
    verdict = judge(KeyError("ada"))
    assert isinstance(verdict, Dead)
    assert (verdict.counted, verdict.reason.code, verdict.reason.text) == (True, "rejected", "KeyError: 'ada'")


def test_a_payload_that_does_not_fit_is_dead_and_uses_no_attempt() -> None:
    error = PayloadInvalid("it lacks width", MESSAGE.body)
    assert judge(error) == Dead(Reason("payload_invalid", "it lacks width"))


def test_a_payload_that_the_handler_made_for_another_task_is_an_error_like_any_other() -> None:
    verdict = judge(PayloadInvalid("it lacks width", b"{}"))
    assert isinstance(verdict, Retried)
    assert verdict.reason.code == "error"


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "error",
    [
        Unprintable(),
        OSError("no such file: caf\udce9"),
        Reject(ValueError("not a text")),  # type: ignore[arg-type]
        Reject(Unprintable()),  # type: ignore[arg-type]
        Retry(reason=5),  # type: ignore[arg-type]
        SystemExit(3),
        GeneratorExit(),
        BaseExceptionGroup("both", [OSError(), KeyboardInterrupt()]),
        RecursionError("deep"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_is_raised_is_judged_and_can_be_stored(error: BaseException) -> None:
    reason = reason_of(judge(error))
    assert msgspec.json.decode(msgspec.json.encode(reason), type=Reason) == reason
    assert reason.text


@pytest.mark.parametrize("error", [OSError("begin" + "x" * 2 * TEXT_LIMIT), Reject("begin" + "x" * 2 * TEXT_LIMIT)])
def test_what_an_error_says_is_kept_from_its_beginning(error: BaseException) -> None:
    text = reason_of(judge(error)).text
    assert "begin" in text[:20]
    assert text.endswith("x…")
    assert len(text) <= TEXT_LIMIT + len("OSError: ")


def test_a_long_traceback_keeps_the_handlers_frame_and_its_end() -> None:
    verdict = judge(OSError("x" * 2 * TRACEBACK_LIMIT + "the end"))
    traceback = reason_of(verdict).traceback
    assert len(traceback) == TRACEBACK_LIMIT + 1
    assert "in judge" in traceback
    assert traceback.endswith("the end\n")


def test_a_failure_that_is_no_exception_is_judged_alike() -> None:
    reason = Reason("max_hold", "it ran too long")
    assert judge_failure(reason, POLICY, MESSAGE, 1, lambda: 0.0) == Retried(1.0, reason)
    assert isinstance(judge_failure(reason, POLICY, MESSAGE, 3, lambda: 0.0), Dead)


class OddNotes(Exception):
    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        msg = "no notes"
        raise ValueError(msg)


class Deadly(Exception):
    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.parametrize("error", [OddNotes("x"), Deadly()])
def test_an_error_that_cannot_be_shown_gets_its_verdict_all_the_same(error: Exception) -> None:
    verdict = judge(error)
    assert isinstance(verdict, Retried)
    assert type(error).__name__ in verdict.reason.text


def test_a_snooze_is_no_failed_attempt_however_many_were_made() -> None:
    verdict = judge(Snooze(after=60, reason="429"), attempt=99)
    assert verdict == Snoozed(60.0, Reason("snoozed", "429"))


@pytest.mark.parametrize(("after", "seconds"), [(-5.0, 0.0), (1e18, LONGEST_SECONDS), (timedelta(minutes=2), 120.0)])
def test_a_snooze_of_any_length_names_a_moment(after: float | timedelta, seconds: float) -> None:
    verdict = judge(Snooze(after=after))
    assert isinstance(verdict, Snoozed)
    assert verdict.after_seconds == seconds


def test_a_snooze_that_names_no_moment_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Snooze\(after=inf\) must be a finite number of seconds"):
        Snooze(after=float("inf"))


def test_a_snooze_too_many_is_a_failed_attempt() -> None:
    policy = msgspec.structs.replace(POLICY, retry=RetryPolicy(max_attempts=3, max_snoozes=2))
    asked = Snoozed(60.0, Reason("snoozed", "429"))
    kept = judge_snooze(asked, 1, policy, MESSAGE, 1, lambda: 1.0)
    assert kept == Snoozed(60.0, Reason("snoozed", "429", count=2))
    failed = judge_snooze(asked, 2, policy, MESSAGE, 1, lambda: 1.0)
    assert isinstance(failed, Retried)
    assert (failed.after_seconds, failed.reason.code) == (60.0, "max_snoozes")
    assert isinstance(judge_snooze(asked, 2, policy, MESSAGE, 3, lambda: 1.0), Dead)
