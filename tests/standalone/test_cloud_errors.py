"""What errors of the real SDKs mean."""

import socket
from typing import Any
from unittest.mock import MagicMock

import botocore.exceptions as aws  # type: ignore[import-untyped]
import pytest
from aiohttp.client_exceptions import ClientConnectorError, ClientOSError, ServerDisconnectedError
from azure.core import exceptions as azure
from azure.storage.queue import StorageErrorCode
from urllib3.exceptions import NewConnectionError

from tenure.rules.cloud_errors import AnswerKind, outcome_of_delete, read_answer, read_refusal
from tenure.settlement import Outcome


def _aws(code: str, status: int = 400, message: str = "no") -> Exception:
    answer: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    error: Exception = aws.ClientError(answer, "DeleteMessage")
    return error


def _azure(code: object, status: int, kind: type[azure.HttpResponseError] = azure.HttpResponseError) -> Exception:
    error: Any = kind("no")
    error.status_code, error.error_code = status, code
    return error  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (_aws("ReceiptHandleIsInvalid", 404), AnswerKind.TAKEN),
        (_aws("AWS.SimpleQueueService.MessageNotInflight"), AnswerKind.TAKEN),
        (_aws("InvalidParameterValue", message="Reason: The receipt handle has expired."), AnswerKind.TAKEN),
        (
            _aws("InvalidParameterValue", message="Reason: Message does not exist or is not available for ... change."),
            AnswerKind.TAKEN,
        ),
        (
            _aws("InvalidParameterValue", message="Total VisibilityTimeout is beyond the limit [43200 seconds]"),
            AnswerKind.LIMIT,
        ),
        (_aws("InvalidParameterValue", message="Value 99999 is invalid"), AnswerKind.REFUSED),
        (_aws("AWS.SimpleQueueService.NonExistentQueue"), AnswerKind.REFUSED),
        (_aws("QueueDoesNotExist"), AnswerKind.REFUSED),
        (_aws("AccessDenied", 403), AnswerKind.REFUSED),
        (_aws("SomethingNew", 403), AnswerKind.REFUSED),
        (_aws("ThrottlingException"), AnswerKind.THROTTLED),
        (_aws("OverLimit", 403), AnswerKind.THROTTLED),
        (_aws("SomethingNew", 429), AnswerKind.THROTTLED),
        (_aws("ServiceUnavailable", 503), AnswerKind.PASSING),
        (_aws("InternalError", 500), AnswerKind.PASSING),
        (_aws("ConditionalCheckFailedException"), AnswerKind.CONFLICT),
        (aws.EndpointConnectionError(endpoint_url="x"), AnswerKind.PASSING),
        (aws.ReadTimeoutError(endpoint_url="x"), AnswerKind.PASSING),
        (aws.NoCredentialsError(), AnswerKind.REFUSED),
        (aws.ParamValidationError(report="x"), AnswerKind.REFUSED),
        (_azure(StorageErrorCode.MESSAGE_NOT_FOUND, 404, azure.ResourceNotFoundError), AnswerKind.GONE),
        (_azure("PopReceiptMismatch", 400), AnswerKind.TAKEN),
        (_azure(StorageErrorCode.QUEUE_NOT_FOUND, 404, azure.ResourceNotFoundError), AnswerKind.REFUSED),
        (_azure("AuthorizationFailure", 403, azure.ClientAuthenticationError), AnswerKind.REFUSED),
        (_azure("ServerBusy", 503), AnswerKind.THROTTLED),
        (_azure("OperationTimedOut", 500), AnswerKind.PASSING),
        (_azure("BlobAlreadyExists", 409, azure.ResourceExistsError), AnswerKind.CONFLICT),
        (_azure("ConditionNotMet", 412, azure.ResourceModifiedError), AnswerKind.CONFLICT),
        (azure.ServiceRequestError("x"), AnswerKind.PASSING),
        (azure.ServiceResponseError("x"), AnswerKind.PASSING),
        (azure.ClientAuthenticationError("no token"), AnswerKind.REFUSED),
        (Exception("Network error"), AnswerKind.PASSING),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, Exception) else value,
)
def test_errors_are_read(error: Exception, kind: AnswerKind) -> None:
    answer = read_answer(error)
    assert answer.kind is kind
    assert answer.is_worth_another_try is (kind in {AnswerKind.PASSING, AnswerKind.THROTTLED})
    assert answer.is_lost is (kind in {AnswerKind.GONE, AnswerKind.TAKEN})
    assert answer.text


@pytest.mark.parametrize(
    ("error", "unknown"),
    [
        (aws.ReadTimeoutError(endpoint_url="x"), True),
        (aws.ConnectionClosedError(endpoint_url="x"), True),
        (azure.ServiceResponseError("x"), True),
        (_aws("InternalError", 500), True),
        (Exception("Network error"), True),
        (aws.EndpointConnectionError(endpoint_url="x"), True),
        (aws.EndpointConnectionError(endpoint_url="x", error=ClientOSError(104, "reset")), True),
        (aws.EndpointConnectionError(endpoint_url="x", error=ClientConnectorError(MagicMock(), OSError())), False),
        (aws.EndpointConnectionError(endpoint_url="x", error=NewConnectionError(MagicMock(), "refused")), False),
        (aws.ConnectTimeoutError(endpoint_url="x"), False),
        (azure.ServiceRequestError("x"), True),
        (azure.ServiceRequestError("x", error=ServerDisconnectedError()), True),
        (azure.ServiceRequestError("x", error=NewConnectionError(MagicMock(), "refused")), False),
        (azure.ServiceRequestError("x", error=ClientConnectorError(MagicMock(), OSError())), False),
        (ConnectionRefusedError(), False),
        (socket.gaierror(), False),
        (_azure("ServerBusy", 503), False),
        (_aws("AccessDenied", 403), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_request_without_an_answer_may_have_been_carried_out(error: Exception, unknown: bool) -> None:
    assert read_answer(error).outcome_unknown is unknown


def test_an_entry_of_a_batch_is_read_without_an_exception() -> None:
    assert read_refusal("ReceiptHandleIsInvalid", 400).is_lost
    assert read_refusal("InternalError", 500).outcome_unknown
    assert read_refusal("", None).text == "no answer"


@pytest.mark.parametrize(
    ("code", "status", "after_lost_reply", "held", "outcome"),
    [
        (None, None, False, None, Outcome.DELETED),
        (None, None, False, True, Outcome.DELETED),
        (None, None, False, False, Outcome.UNKNOWN),  # a 200 with a receipt that is over proves nothing
        ("PopReceiptMismatch", 400, False, None, Outcome.TAKEN_OVER),
        ("ReceiptHandleIsInvalid", 404, True, None, Outcome.UNKNOWN),  # some services say so of what is deleted
        ("ReceiptHandleIsInvalid", 404, True, True, Outcome.DELETED),
        ("MessageNotFound", 404, False, None, Outcome.ALREADY_GONE),
        ("MessageNotFound", 404, True, None, Outcome.ALREADY_GONE),  # deleted by us, or taken: nobody can tell
        ("MessageNotFound", 404, True, True, Outcome.DELETED),  # still ours: who else?
        ("MessageNotFound", 404, False, True, Outcome.DELETED),  # likewise: a client asked twice, and told only once
        ("MessageNotFound", 404, False, False, Outcome.ALREADY_GONE),
        ("PopReceiptMismatch", 400, False, True, Outcome.TAKEN_OVER),
        ("AccessDenied", 403, False, True, Outcome.UNKNOWN),
        ("InternalError", 500, True, True, Outcome.UNKNOWN),
    ],
)
def test_how_a_delete_ended(
    code: str | None, status: int | None, after_lost_reply: bool, held: bool | None, outcome: Outcome
) -> None:
    answer = None if code is None else read_refusal(code, status)
    assert outcome_of_delete(answer, after_lost_reply=after_lost_reply, held=held) is outcome
