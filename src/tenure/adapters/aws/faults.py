"""Every error of the services and of the way to them, said in Tenure's words.

What can pass and what cannot is decided in `rules/cloud_errors.py`, for all who speak to such services; here are the
codes that people must do something about. Each sentence says what happened to the messages and what to do. Used by
`session.py`, `sqs.py` and `dynamo.py`.
"""

import asyncio

from botocore import exceptions  # type: ignore[import-untyped]

from tenure.errors import (
    BrokerError,
    BrokerUnavailable,
    ConfigurationError,
    LoginRefused,
    PermissionMissing,
    QueueGone,
    StoreMissing,
    TenureError,
)
from tenure.rules.cloud_errors import Answer, AnswerKind, read_answer, read_refusal

_LOGIN = frozenset({
    "InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "IncompleteSignature",
    "ExpiredToken", "ExpiredTokenException", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
    "InvalidAccessKeyId", "InvalidSecurity", "OptInRequired", "RequestExpired", "AuthFailure", "RequestTimeTooSkewed",
    "InvalidSignatureException", "InvalidToken", "TokenRefreshRequired",
})  # fmt: skip
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
#: Of a signature that is good but for its time.
_SKEWED = ("signature expired", "signature not yet current", "request has expired", "time is too large")
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "KmsAccessDenied", "NotAuthorized"})
_NO_QUEUE = frozenset({"NonExistentQueue", "QueueDoesNotExist"})
_NO_TABLE = frozenset({"ResourceNotFoundException", "ResourceNotFound"})

_CREDENTIALS = (
    exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.CredentialRetrievalError,
    exceptions.ProfileNotFound, exceptions.TokenRetrievalError, exceptions.SSOError,
)  # fmt: skip


class QueueMissing(StoreMissing):
    """The physical queue is not there, and was not to be made."""

    code = "queue_missing"


class BadQueueName(ConfigurationError):
    """The service knows no queue of such a name."""

    code = "bad_queue_name"


class RedriveTooSoon(ConfigurationError):
    """The queue's own redrive policy would take messages away before their attempts are used up."""

    code = "redrive_too_soon"


def code_of(error: BaseException) -> str:
    """The service's own word for what is wrong; empty if there is none."""
    return read_answer(error).code if isinstance(error, exceptions.ClientError) else ""


def translate(error: BaseException, what: str, place: str, *, is_misspelled: bool = False) -> TenureError:
    """What to raise instead of `error`, which came of `what`. `is_misspelled`: perhaps there is no such region."""
    if isinstance(error, TenureError):
        return error
    if isinstance(error, _CREDENTIALS):
        text = (
            f"{place}: no credentials ({error}); nothing was done. Set them up as for any AWS tool, or name a profile"
        )
        return LoginRefused(text)
    if isinstance(error, exceptions.ClientError):
        text = str(error.response.get("Error", {}).get("Message", ""))
        return refused(read_answer(error), text, what, place)
    if isinstance(error, exceptions.ConnectionError | exceptions.HTTPClientError | asyncio.TimeoutError | OSError):
        if not read_answer(error).outcome_unknown:
            doubt = f"; the SDK knows no such region: is it spelled right in {place!r}?" if is_misspelled else ""
            return BrokerUnavailable(f"{place} cannot be reached ({what}): {error}; nothing was done{doubt}")
        text = f"{place} did not answer ({what}): {error!r}; it may have been carried out"
        return BrokerUnavailable(text, outcome_unknown=True)
    return BrokerError(f"{place}: {what} failed, and nothing can be said of its effect: {error!r}")


def refused(answer: Answer, text: str, what: str, place: str) -> TenureError:  # noqa: PLR0911 - a table of them
    """What to raise for an answer that is no success; `text` is the service's own."""
    code = answer.code.rpartition(".")[2]
    if code in _LOGIN:
        return LoginRefused(f"{place} {_login(code, text)}; nothing was done")
    if code in _DENIED:
        return PermissionMissing(f"{place}: these credentials may not do {what} ({text}); nothing was done. Grant it")
    if code in _NO_QUEUE:
        text = f"{place}: the queue of {what} is not there; make it, or add create=yes to the URL. Nothing was done"
        return QueueMissing(text)
    if code in _NO_TABLE:
        return StoreMissing(f"{place} is not there ({what}); make it, or add create=yes to the URL. Nothing was done")
    if code == "QueueDeletedRecently":
        return BrokerUnavailable(f"{place}: {text}; nothing was done")
    if answer.kind is AnswerKind.THROTTLED:
        said = code or answer.status
        return BrokerUnavailable(f"{place} is throttling requests ({what}: {said}); nothing was done")
    if answer.kind is AnswerKind.PASSING:
        text = f"{place} is in trouble ({what}: {answer.status} {code}); it may have been carried out"
        return BrokerUnavailable(text, outcome_unknown=True)
    return BrokerError(f"{place} refused {what}: {code}: {text}; nothing was done")


def outage(error: TenureError) -> TenureError:
    """What to raise instead for something that was accepted before: it may work again, so no worker should end."""
    if not isinstance(error, ConfigurationError):
        return error
    kind = QueueGone if isinstance(error, QueueMissing) else BrokerUnavailable
    return kind(f"{error} (it worked before, and is tried again)")


def of_entry(code: str, text: str, *, is_theirs: bool) -> Answer:
    """What the failure of one entry of a batch means; `is_theirs`: the service's fault, not ours."""
    return read_refusal(code, 500 if is_theirs else 400, text)


def is_conflict(error: TenureError) -> bool:
    """Whether a write was refused because another writer was faster."""
    return (
        isinstance(error.__cause__, exceptions.ClientError) and read_answer(error.__cause__).kind is AnswerKind.CONFLICT
    )


def _login(code: str, text: str) -> str:
    if code in _EXPIRED:
        return f"says that the session of these credentials has expired ({code}: {text}); get new ones, log in again"
    if code in ("RequestTimeTooSkewed", "RequestExpired") or any(words in text.lower() for words in _SKEWED):
        return f"says that this machine's clock is wrong ({code}: {text}); set it, and keep it set"
    return f"does not take these credentials ({code}: {text})"
