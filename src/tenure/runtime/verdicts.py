"""Verdicts: made from how a handler ended. Pure, the same in the worker and in a child process.

An error of middleware is judged like an error of its handler.
"""

import traceback
from collections.abc import Callable
from concurrent.futures import thread
from pathlib import Path
from typing import Any

import msgspec

from tenure import middleware
from tenure.errors import PayloadInvalid, ResultInvalid, ResultTooLarge, WebhookRefused
from tenure.message import Message
from tenure.rules.arguments import LONGEST_SECONDS
from tenure.tasks import batch
from tenure.tasks.task import Policy, Task
from tenure.text.plural import plural
from tenure.text.traceback_text import shorten
from tenure.verdict import SNOOZED, Dead, Reason, Reject, Retried, Retry, Snooze, Snoozed

#: A traceback is kept for people, in this many characters.
TRACEBACK_LIMIT = 4000
#: And of what an error says: some carry a whole document.
TEXT_LIMIT = 4000
#: Where our own frames around a handler are: in all of `runtime/`, and there.
_OURS = (str(Path(__file__).resolve().parent), middleware.__file__, batch.__file__, thread.__file__)


def judge_error(
    error: BaseException, policy: Policy, message: Message, attempt: int, draw: Callable[[], float]
) -> Retried | Snoozed | Dead:
    """The verdict on attempt number `attempt` (from 1) that ended in `error`, however odd the error is."""
    try:
        return _judge(error, policy, message, attempt, draw)
    except BaseException as worse:  # noqa: BLE001 - without a verdict its message would be leased for ever
        text = f"{type(error).__name__}, which cannot be shown: {type(worse).__name__} was raised over it"
        return judge_failure(Reason("error", text), policy, message, attempt, draw)


def judge_result(result: Any, task: Task[..., Any]) -> bytes | Dead:
    """Return the handler's result as JSON, or a dead letter if the result cannot be kept.

    It is never retried: the work is done, and would only be done again to end the same way.
    """
    try:
        return task.signature.encode_result(result, task.policy.result_limit)
    except ResultTooLarge as error:
        return result_too_large(str(error))
    except BaseException as error:  # noqa: BLE001 - a user's own type may raise anything while it is encoded
        text = _text(error) if isinstance(error, ResultInvalid) else _one_line(error)
        advice = "return JSON types, dataclasses, msgspec structs or pydantic models"
        return _unkept(ResultInvalid.code, text, advice)


def result_too_large(text: str) -> Dead:
    """The verdict on a message whose result is too large."""
    return _unkept(ResultTooLarge.code, text, "return less, or keep it elsewhere and return where it is")


def _unkept(code: str, text: str, advice: str) -> Dead:
    done = "the handler's work was done and its effects stand, except for messages that it handed on"
    sentence = f"{done}; its result cannot be kept: {text}; {advice}"
    return Dead(Reason(code, sentence), counted=True)


def _judge(
    error: BaseException, policy: Policy, message: Message, attempt: int, draw: Callable[[], float]
) -> Retried | Snoozed | Dead:
    match error:
        case Reject():
            return Dead(Reason(error.code, _text(error.reason)), counted=True)
        case PayloadInvalid() if error.payload is message.body:
            # Its own payload; a handler that binds another task's call wrongly has made an error.
            return Dead(Reason("payload_invalid", _text(error)))
        case Snooze():
            text = _text(error.reason) or "the handler asked to be run later"
            return Snoozed(min(max(0.0, error.after), LONGEST_SECONDS), Reason(SNOOZED, text))
        case Retry():
            reason = Reason("retry", _text(error.reason) or "the handler asked for another try")
            return judge_failure(reason, policy, message, attempt, draw, after=error.after)
    if isinstance(error, policy.reject_on):
        return Dead(_reason("rejected", error), counted=True)
    code = error.code if isinstance(error, WebhookRefused) else "error"
    return judge_failure(_reason(code, error), policy, message, attempt, draw)


def _reason(code: str, error: BaseException) -> Reason:
    return Reason(code, _one_line(error), _traceback(error), class_name(error))


def judge_failure(
    reason: Reason,
    policy: Policy,
    message: Message,
    attempt: int,
    draw: Callable[[], float],
    *,
    after: float | None = None,
) -> Retried | Dead:
    """Retry, or a dead letter if this was the last attempt."""
    most = message.overrides.max_attempts or policy.retry.max_attempts
    if attempt >= most:
        text = f"gave up after {attempt} of {plural(most, 'attempt')}; the last one: {reason.text}"
        return Dead(Reason("max_attempts", text, reason.traceback, reason.error), counted=True)
    delay = policy.retry.delay_seconds(attempt, draw) if after is None else min(max(0.0, after), LONGEST_SECONDS)
    return Retried(delay, reason)


def judge_snooze(
    snoozed: Snoozed, before: int, policy: Policy, message: Message, attempt: int, draw: Callable[[], float]
) -> Snoozed | Retried | Dead:
    """The snooze with its number, `before` were before it; or a failed attempt, where there were too many."""
    most, reason = policy.retry.max_snoozes, snoozed.reason
    if before < most:
        return Snoozed(snoozed.after_seconds, msgspec.structs.replace(reason, count=before + 1))
    text = f"it was put off {plural(before, 'time')}, and max_snoozes is {most}; the last time: {reason.text}"
    failed = Reason("max_snoozes", text, count=before + 1)
    return judge_failure(failed, policy, message, attempt, draw, after=snoozed.after_seconds)


def class_name(error: BaseException) -> str:
    """The error's class as people import it: "ValueError", "shop.errors.OutOfStock"."""
    kind = type(error)
    module = _text(kind.__module__)
    return _text(kind.__qualname__) if module == "builtins" else f"{module}.{_text(kind.__qualname__)}"


def _one_line(error: BaseException) -> str:
    text = _text(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(said: object) -> str:
    """Make text that people and every store can read, whatever the handler raised."""
    try:
        text = str(said)
    except BaseException as error:  # noqa: BLE001 - an error that cannot be printed is an error anyway
        return f"(no text: its __str__ raised {type(error).__name__})"
    return _storable(text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…")


def _storable(text: str) -> str:
    """File names that are not UTF-8 reach error texts as lone surrogates, which no store takes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _traceback(error: BaseException) -> str:
    """The traceback with the user's own frames; ours, before and between them, are left out."""
    told = traceback.TracebackException.from_exception(error)
    theirs = [frame for frame in told.stack if not frame.filename.startswith(_OURS)]
    told.stack = traceback.StackSummary.from_list(theirs or list(told.stack))
    return shorten(_storable("".join(told.format())), TRACEBACK_LIMIT)
