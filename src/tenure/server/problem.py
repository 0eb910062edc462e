"""Problem documents (RFC 9457): how every error is answered, with the same stable code as everywhere else.

One mapping from codes to HTTP statuses: an error has that of its own code, else that of its nearest parent. A sentence
that names the store (its host, its path) is for the log; clients get one that does not. Nothing else than a
`TenureError` tells a client anything about itself.
"""

import logging
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from tenure.errors import BrokerError, BrokerUnavailable, ConfigurationError, QuotaExceeded, TenureError
from tenure.server.errors import MethodNotAllowed, ServerError
from tenure.text.remedy import codes_of, remedy_for

logger = logging.getLogger("tenure.server")

MEDIA_TYPE = "application/problem+json"
#: When the store is away or a queue is full: after this many seconds a client may try again.
RETRY_AFTER_SECONDS = 5.0

_STATUS = {
    "tenure_error": 500,
    "internal": 500,
    "configuration": 500,
    # The request
    "server_error": 400,
    "unauthenticated": 401,
    "forbidden_scope": 403,
    "read_only": 403,
    "host_refused": 421,
    "proxy_refused": 403,
    "cross_origin": 403,
    "not_json": 415,
    "request_invalid": 422,
    "ambiguous_length": 400,
    "request_too_large": 413,
    "request_too_slow": 408,
    "too_many_attempts": 429,
    "too_many_streams": 429,
    "server_busy": 503,
    "route_not_found": 404,
    "method_not_allowed": 405,
    "lifespan_missing": 503,
    "token_not_found": 404,
    "lease_token_invalid": 422,
    "taken_over": 409,
    "already_gone": 410,
    "watch_link_invalid": 403,
    # The message
    "bad_message": 422,
    "unknown_task": 404,
    "body_too_large": 413,
    "key_conflict": 409,
    "message_not_found": 404,
    "group_not_found": 404,
    "unknown_queue": 404,
    "queue_not_empty": 409,
    "unknown_schedule": 404,
    "unknown_endpoint": 404,
    "unknown_finding": 404,
    "endpoint_exists": 409,
    "secret_unreadable": 409,
    "webhook_refused": 422,
    "quota_exceeded": 429,
    "ambiguous_id": 409,
    "worker_gone": 404,
    "worker_shared": 403,
    "not_dead": 409,
    "not_cancelled": 409,
    "not_confirmed": 409,
    "not_browsable": 409,
    "not_running": 409,
    "not_delayed": 409,
    "not_promotable": 409,
    "lease_lost": 409,
    # The result
    "no_result": 409,
    "result_gone": 410,
    "result_timeout": 504,
    "stack_unanswered": 504,
    # The store
    "broker_error": 503,
    "store_missing": 503,
    "login_refused": 503,
    "permission_missing": 503,
    "server_too_old": 503,
}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong: the body of every answer with a status from 400 on."""

    #: `urn:tenure:problem:` and the code.
    type: str
    #: The status in words.
    title: str
    status: int
    #: One sentence: what happened, what became of the message, what to do. It may change; the code does not.
    detail: str
    #: The stable code: docs/reference/errors.md lists them.
    code: str
    #: What to do, for a person.
    remedy: str
    #: For a malformed request: which parameter, or which place in the body.
    field: str | None = None
    #: For an unreachable store: whether the request may have been carried out anyway.
    outcome_unknown: bool = False
    #: Find the request in the server's log by it.
    request_id: str | None = None


def status_of(error: TenureError | type[TenureError]) -> int:
    """The HTTP status of an error."""
    kind = error if isinstance(error, type) else type(error)
    codes = [parent.__dict__["code"] for parent in kind.__mro__ if "code" in parent.__dict__]
    return next(_STATUS[code] for code in codes if code in _STATUS)


def problem_of(error: TenureError, request_id: str | None = None) -> Problem:
    """An error, as a client gets it."""
    status = status_of(error)
    codes = codes_of(error)
    return Problem(
        type=f"urn:tenure:problem:{error.code}",
        title=_title(status),
        status=status,
        detail=_detail(error, status),
        code=error.code,
        remedy=remedy_for(*codes),
        field=getattr(error, "field", None),
        outcome_unknown=isinstance(error, BrokerUnavailable) and error.outcome_unknown,
        request_id=request_id,
    )


def respond_problem(error: Exception, request_id: str | None = None) -> Response:
    """Answer a request that failed. A bug of ours is logged with its traceback, and answered as such."""
    if isinstance(error, TenureError):
        problem = problem_of(error, request_id)
        if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, ServerError):
            logger.warning("request %s failed: %s: %s", request_id, error.code, error)
        return encode_problem(problem, _headers(error))
    logger.error("request %s failed because of a bug in Tenure", request_id, exc_info=error)
    return encode_problem(_internal(request_id), {})


def encode_problem(problem: Problem, headers: Mapping[str, str]) -> Response:
    """The response of a problem document."""
    return Response(msgspec.json.encode(problem), problem.status, dict(headers), MEDIA_TYPE)


def _internal(request_id: str | None) -> Problem:
    return Problem(
        type="urn:tenure:problem:internal",
        title=_title(500),
        status=500,
        code="internal",
        detail="the server failed because of a bug; its log has the request by its id",
        remedy="Report it, with what the server's log says.",
        request_id=request_id,
    )


def _headers(error: TenureError) -> dict[str, str]:
    headers: dict[str, str] = {}
    retry_after = getattr(error, "retry_after", None)
    if retry_after is None and isinstance(error, BrokerUnavailable | QuotaExceeded):
        retry_after = RETRY_AFTER_SECONDS
    if retry_after is not None:
        headers["Retry-After"] = str(max(1, round(retry_after)))
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    if error.code == "unauthenticated":
        headers["WWW-Authenticate"] = 'Bearer realm="tenure"'
    if error.code in {"request_too_large", "request_too_slow", "ambiguous_length"}:
        headers["Connection"] = "close"  # what is left of the body is not read
    return headers


def _detail(error: TenureError, status: int) -> str:
    if isinstance(error, BrokerUnavailable):
        done = "the request may have been carried out" if error.outcome_unknown else "nothing was changed"
        return f"the store cannot be reached for now; {done}"
    if isinstance(error, BrokerError | ConfigurationError) and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "the store is in trouble; the server's log says more"
    return " ".join(str(error).split())


def _title(status: int) -> str:
    return HTTPStatus(status).phrase
