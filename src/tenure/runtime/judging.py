"""From what a handler did to a verdict: pure, the same in the worker and in a child process."""

import traceback
from collections.abc import Callable

from tenure.call import LONGEST_SECONDS
from tenure.errors import PayloadInvalid
from tenure.message import Message
from tenure.task import Policy
from tenure.verdict import Dead, Reason, Reject, Retried, Retry

#: A traceback is kept for people; its end tells most.
TRACEBACK_LIMIT = 4000
#: Ten years: more than anybody means, and less than any store's clock can count.
LONGEST_DELAY = LONGEST_SECONDS


def judge_error(
    error: BaseException, policy: Policy, message: Message, attempt: int, draw: Callable[[], float]
) -> Retried | Dead:
    """The verdict on attempt number `attempt` (from 1) that ended in `error`, however odd the error is."""
    try:
        return _judge(error, policy, message, attempt, draw)
    except BaseException as worse:  # noqa: BLE001 - without a verdict its message would be leased for ever
        text = f"{type(error).__name__}, which cannot be shown: {type(worse).__name__} was raised over it"
        return judge_failure(Reason("error", text), policy, message, attempt, draw)


def _judge(
    error: BaseException, policy: Policy, message: Message, attempt: int, draw: Callable[[], float]
) -> Retried | Dead:
    match error:
        case Reject():
            return Dead(Reason("rejected", _text(error.reason)), counted=True)
        case PayloadInvalid() if error.payload is message.body:
            # Its own payload; a handler that binds another task's call wrongly has made an error.
            return Dead(Reason("payload_invalid", _text(error)))
        case Retry():
            reason = Reason("retry", _text(error.reason) or "the handler asked for another try")
            return judge_failure(reason, policy, message, attempt, draw, after=error.after)
    if isinstance(error, policy.reject_on):
        return Dead(Reason("rejected", _one_line(error), _traceback(error)), counted=True)
    return judge_failure(Reason("error", _one_line(error), _traceback(error)), policy, message, attempt, draw)


def judge_failure(
    reason: Reason, policy: Policy, message: Message, attempt: int, draw: Callable[[], float], *,
    after: float | None = None,
) -> Retried | Dead:  # fmt: skip
    """Another try, or the dead letters if this was the last one."""
    most = message.overrides.max_attempts or policy.retry.max_attempts
    if attempt >= most:
        text = f"gave up after {attempt} of {most} attempts; the last one: {reason.text}"
        return Dead(Reason("max_attempts", text, reason.traceback), counted=True)
    delay = policy.retry.delay_seconds(attempt, draw) if after is None else min(max(0.0, after), LONGEST_DELAY)
    return Retried(delay, reason)


def _one_line(error: BaseException) -> str:
    text = _text(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(said: object) -> str:
    """What people and every store can read, whatever the handler raised."""
    try:
        text = str(said)
    except BaseException as error:  # noqa: BLE001 - an error that cannot be printed is an error all the same
        return f"(no text: its __str__ raised {type(error).__name__})"
    return _storable(text)


def _storable(text: str) -> str:
    """File names that are not UTF-8 reach error texts as lone surrogates, which no store takes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _traceback(error: BaseException) -> str:
    # The first frames are ours; users want theirs.
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__", "").startswith("tenure.runtime."):
        frames = frames.tb_next
    text = _storable("".join(traceback.format_exception(type(error), error, frames)))
    return text if len(text) <= TRACEBACK_LIMIT else "…" + text[-TRACEBACK_LIMIT:]
