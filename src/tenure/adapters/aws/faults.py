"""Every error of the services and of the way to them, said in Tenure's words.

The only place that knows Amazon's error codes. Each sentence says what happened to the messages and what to do. Used
by `link.py`, `queues.py` and `dynamo.py`.
"""

import asyncio

from botocore import exceptions  # type: ignore[import-untyped]

from tenure.errors import BrokerError, BrokerUnavailable, ConfigurationError, OwnerRetired, StoreMissing, TenureError

#: It cannot take the request now; nothing was done.
_THROTTLED = frozenset({
    "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "RequestThrottledException",
    "TooManyRequestsException", "RequestLimitExceeded", "ProvisionedThroughputExceededException", "SlowDown",
    "OverLimit", "AWS.SimpleQueueService.OverLimit", "KmsThrottled", "BandwidthLimitExceeded", "ThrottlingError",
    "PriorRequestNotComplete", "ProvisionedThroughputExceeded", "RequestLimitExceededException",
})  # fmt: skip
_LOGIN = frozenset({
    "InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "IncompleteSignature",
    "ExpiredToken", "ExpiredTokenException", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
    "InvalidAccessKeyId", "InvalidSecurity", "OptInRequired", "RequestExpired", "AuthFailure",
})  # fmt: skip
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "KmsAccessDenied", "NotAuthorized"})
_NO_QUEUE = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})
_NO_TABLE = frozenset({"ResourceNotFoundException", "ResourceNotFound"})
#: A receipt that is not the message's latest, or whose time is over.
STALE = frozenset({"ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight", "InvalidIdFormat",
                   "AWS.SimpleQueueService.MessageNotInflight"})  # fmt: skip
#: Of one statement in a batch, or of one write: somebody else was faster.
CONFLICT = frozenset({
    "ConditionalCheckFailed", "ConditionalCheckFailedException", "DuplicateItem", "DuplicateItemException",
    "TransactionConflict", "TransactionConflictException",
})  # fmt: skip

_CREDENTIALS = (
    exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.CredentialRetrievalError,
    exceptions.ProfileNotFound, exceptions.TokenRetrievalError, exceptions.SSOError,
)  # fmt: skip


class LoginRefused(ConfigurationError):
    """There are no credentials, or the service does not take them."""

    code = "login_refused"


class PermissionMissing(ConfigurationError):
    """The credentials are good, but not for this."""

    code = "permission_missing"


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
    if not isinstance(error, exceptions.ClientError):
        return ""
    return str(error.response.get("Error", {}).get("Code", ""))


def translate(error: BaseException, what: str, place: str) -> TenureError:
    """What to raise instead of `error`, which came of `what`."""
    if isinstance(error, TenureError):
        return error
    if isinstance(error, _CREDENTIALS):
        text = (
            f"{place}: no credentials ({error}); nothing was done. Set them up as for any AWS tool, or name a profile"
        )
        return LoginRefused(text)
    if isinstance(error, exceptions.ClientError):
        return _answered(error, what, place)
    if isinstance(
        error, exceptions.ConnectTimeoutError | exceptions.EndpointConnectionError | exceptions.ProxyConnectionError
    ):
        return BrokerUnavailable(f"{place} cannot be reached ({what}): {error}; it is tried again")
    if isinstance(error, exceptions.HTTPClientError | asyncio.TimeoutError | OSError):
        text = f"{place} did not answer ({what}): {error!r}; it may have been carried out, and is tried again"
        return BrokerUnavailable(text, outcome_unknown=True)
    return BrokerError(f"{place}: {what} failed, and nothing can be said of its effect: {error!r}")


def _answered(error: exceptions.ClientError, what: str, place: str) -> TenureError:  # noqa: PLR0911 - likewise
    code = code_of(error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    text = str(error.response.get("Error", {}).get("Message", ""))
    if code in _THROTTLED or status == 429:  # noqa: PLR2004
        return BrokerUnavailable(f"{place} asks for patience ({what}: {code}); nothing was done, and it is tried again")
    if code in _LOGIN:
        return LoginRefused(f"{place} does not take these credentials ({code}: {text}); nothing was done")
    if code in _DENIED:
        return PermissionMissing(f"{place}: these credentials may not do {what} ({text}); nothing was done. Grant it")
    if code in _NO_QUEUE:
        return QueueMissing(f"{place}: the queue of {what} is not there; make it, or add create=yes to the URL")
    if code in _NO_TABLE:
        return StoreMissing(f"{place} is not there ({what}); make it, or add create=yes to the URL")
    if status >= 500:  # noqa: PLR2004
        text = f"{place} is in trouble ({what}: {status} {code}); it may have been carried out, and is tried again"
        return BrokerUnavailable(text, outcome_unknown=True)
    return BrokerError(f"{place} refused {what}: {code}: {text}; nothing was done")


def retired(owner: str) -> OwnerRetired:
    """For a boot that was declared dead."""
    return OwnerRetired(f"{owner} was declared dead, and its messages are others' now; join again under a new nonce")
