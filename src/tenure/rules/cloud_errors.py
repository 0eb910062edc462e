"""The meaning of a cloud service's answer: pure, for every client of AWS and Azure, sync or async.

An error is read by what it carries (a status, a code, the name of its class), so no SDK is imported here, and the same
table serves boto3, aiobotocore and both clients of the Azure SDK. Used by `standalone/` and by the adapters of these
services; `retry.py` says how long to wait.

A reply that never came is a kind of its own: the request may have been carried out (`outcome_unknown`). An unknown
answer is worth another try.
"""

from enum import StrEnum
from typing import Any

import msgspec

from tenure.settlement import Outcome


class AnswerKind(StrEnum):
    """The kind of an answer: it says what to do next."""

    #: It may work the next time.
    PASSING = "passing"
    #: Likewise, but slower: we ask for too much.
    THROTTLED = "throttled"
    #: There is no such message, or none under our receipt.
    GONE = "gone"
    #: Our receipt is not the latest one.
    TAKEN = "taken"
    #: A condition did not hold: another writer was faster.
    CONFLICT = "conflict"
    #: The message has been held for as long as the service allows.
    LIMIT = "limit"
    #: It will be refused as often as it is asked: no permission, no queue, bad parameters.
    REFUSED = "refused"


#: These can pass.
_TRY_AGAIN = frozenset({AnswerKind.PASSING, AnswerKind.THROTTLED})
#: With these the lease is over.
_LOST = frozenset({AnswerKind.GONE, AnswerKind.TAKEN})


class Answer(msgspec.Struct, frozen=True):
    """An error that a client raised, as far as we must know it."""

    kind: AnswerKind
    #: The service's own word; empty: there is none.
    code: str
    #: Of HTTP. None: no answer came.
    status: int | None
    #: The request may have been carried out, although it looks failed.
    outcome_unknown: bool
    #: For people.
    text: str

    @property
    def is_worth_another_try(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in _TRY_AGAIN

    @property
    def is_lost(self) -> bool:
        """Whether it says that the message is not ours any more."""
        return self.kind in _LOST


_BY_CODE = {
    kind: frozenset(codes.split())
    for kind, codes in {
        AnswerKind.GONE: "MessageNotFound",
        AnswerKind.TAKEN: "PopReceiptMismatch ReceiptHandleIsInvalid InvalidReceiptHandle MessageNotInflight",
        AnswerKind.CONFLICT: (
            "ConditionalCheckFailed ConditionalCheckFailedException DuplicateItem DuplicateItemException"
            " TransactionConflict TransactionConflictException PreconditionFailed ConditionalRequestConflict"
            " ConditionNotMet BlobAlreadyExists EntityAlreadyExists UpdateConditionNotSatisfied"
        ),
        AnswerKind.THROTTLED: (
            "Throttling ThrottlingError ThrottlingException ThrottledException RequestThrottled"
            " RequestThrottledException KmsThrottled RequestLimitExceeded RequestLimitExceededException"
            " TooManyRequestsException ProvisionedThroughputExceeded ProvisionedThroughputExceededException"
            " BandwidthLimitExceeded PriorRequestNotComplete SlowDown OverLimit LimitExceededException ServerBusy"
        ),
        AnswerKind.REFUSED: (
            "QueueDoesNotExist NonExistentQueue QueueNotFound QueueBeingDeleted QueueDisabled AccessDenied"
            " AccessDeniedException AuthFailure ExpiredToken ExpiredTokenException InvalidClientTokenId"
            " SignatureDoesNotMatch UnrecognizedClientException ResourceNotFoundException ContainerNotFound"
        ),
        AnswerKind.PASSING: "InternalError InternalFailure ServiceUnavailable RequestTimeout OperationTimedOut",
    }.items()
}

#: SQS has one code for several mistakes; its sentence tells them apart.
_BY_SENTENCE = (
    ("beyond the limit", AnswerKind.LIMIT),
    ("does not exist or is not available", AnswerKind.TAKEN),
    ("receipt handle has expired", AnswerKind.TAKEN),
    ("receipthandle is invalid", AnswerKind.TAKEN),
)

#: Errors of the clients themselves, by the name of a class: nothing was sent, and nothing will be.
_NEVER_SENT = frozenset({
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ParamValidationError",
    "NoRegionError", "ClientAuthenticationError", "CredentialUnavailableError", "BadArgument",
})  # fmt: skip
#: Nothing was sent this time.
_NOT_REACHED = frozenset({
    "ConnectTimeoutError", "ProxyConnectionError", "ServiceRequestTimeoutError", "ConnectionRefusedError",
    "NewConnectionError", "ClientConnectorError", "gaierror",
})  # fmt: skip

_SERVER_ERROR = 500
_TOO_MANY = 429
_BUSY = 503
_BY_STATUS = {
    404: AnswerKind.REFUSED,  # by code it is known to be a message; else it is a queue, or the like
    408: AnswerKind.PASSING,
    409: AnswerKind.CONFLICT,
    412: AnswerKind.CONFLICT,
    _TOO_MANY: AnswerKind.THROTTLED,
    _BUSY: AnswerKind.THROTTLED,
}


def read_answer(error: Exception) -> Answer:
    """Classify an exception of a client. An unknown one may pass, and its request may have taken effect."""
    # The Azure SDK says ServiceRequestError, and aiobotocore EndpointConnectionError, also of a line that broke before
    # the answer came; the error that they caught says why.
    words = getattr(error, "kwargs", None)
    caught = words.get("error") if isinstance(words, dict) else getattr(error, "inner_exception", None)
    names = {kind.__name__ for one in (error, caught) for kind in type(one).__mro__}
    return read_refusal(*_code_and_status(error), str(error), names)


def read_refusal(
    code: str, status: int | None, text: str = "", names: set[str] | frozenset[str] = frozenset()
) -> Answer:
    """Classify a code and a status; an entry of a batch that failed has no exception of its own.

    `names` are those of the exception's class and its bases, and of the exception it was made of.
    """
    kind = _kind(code, status, text, names)
    was_carried_out = status is None or status >= _SERVER_ERROR
    unknown = kind in _TRY_AGAIN and was_carried_out and not names & _NOT_REACHED and kind is not AnswerKind.THROTTLED
    first_line = text.strip().partition("\n")[0]
    return Answer(kind, code, status, unknown, first_line or code or "no answer")


def _kind(code: str, status: int | None, text: str, names: set[str] | frozenset[str]) -> AnswerKind:
    # "AWS.SimpleQueueService.NonExistentQueue", as older protocols have it.
    short = code.rpartition(".")[2]
    for kind, codes in _BY_CODE.items():
        if short in codes:
            return kind
    if short.startswith("InvalidParameter"):
        sentence = text.lower()
        return next((kind for words, kind in _BY_SENTENCE if words in sentence), AnswerKind.REFUSED)
    if names & _NEVER_SENT:
        return AnswerKind.REFUSED
    if status is None:
        return AnswerKind.PASSING
    return _BY_STATUS.get(status, AnswerKind.PASSING if status >= _SERVER_ERROR else AnswerKind.REFUSED)


def _code_and_status(error: Any) -> tuple[str, int | None]:
    """AWS's clients keep the answer as a dict, the Azure SDK as attributes."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        code = response.get("Error", {}).get("Code", "")
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        code = getattr(error, "error_code", None)
        status = getattr(error, "status_code", None)
    code = getattr(code, "value", code)  # a known code is an enum in the Azure SDK
    return str(code or ""), status if isinstance(status, int) else None


def outcome_of_delete(answer: Answer | None, *, after_lost_reply: bool, held: bool | None) -> Outcome:
    """Return the outcome of a delete, by its last answer. None: the service accepted it.

    `held`: whether our lease surely lasted until then, or surely not; None: not known. It matters because a
    service may accept the receipt of a lease that is over, and delete nothing.
    """
    if answer is None:
        return Outcome.UNKNOWN if held is False else Outcome.DELETED
    if held and (answer.kind is AnswerKind.GONE or (answer.is_lost and after_lost_reply)):
        # While the lease lasted no other worker could take it: an earlier request of ours did it, and its reply was
        # lost. We may not have seen that, because some clients repeat a request when a connection breaks.
        return Outcome.DELETED
    if answer.kind is AnswerKind.GONE:
        return Outcome.ALREADY_GONE
    if answer.kind is AnswerKind.TAKEN and not after_lost_reply:
        return Outcome.TAKEN_OVER
    return Outcome.UNKNOWN


def outcome_of_release(answer: Answer | None, *, after_lost_reply: bool, held: bool | None) -> Outcome:
    """Return the outcome of a release, by its last answer. None: the service accepted it. `held` is as above."""
    if answer is None:
        return Outcome.UNKNOWN if held is False else Outcome.RETURNED
    if held and answer.is_lost and after_lost_reply:
        return Outcome.RETURNED  # no other worker could take it: an attempt whose reply was lost has released it
    if held or after_lost_reply or not answer.is_lost:
        return Outcome.UNKNOWN
    return Outcome.ALREADY_GONE if answer.kind is AnswerKind.GONE else Outcome.TAKEN_OVER
