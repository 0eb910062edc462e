"""What the service says is wrong, in Tenure's words; the only place that knows the SDK's errors.

`conflict` and `gone` tell the answers that are part of the game (somebody else was first); everything else is
translated: away (can pass), or a mistake in the settings.
"""

from aiohttp.client_exceptions import ClientConnectorError
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
    ServiceRequestTimeoutError,
    ServiceResponseError,
)

from tenure.errors import (
    BadSetting,
    BrokerError,
    BrokerUnavailable,
    ConfigurationError,
    OwnerRetired,
    StoreMissing,
    TenureError,
)

#: What may pass if it is tried again later.
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
#: Of these it is known that nothing was done.
_NOT_DONE = frozenset({429, 503})
#: Not there, there already, not as it was read: what is compared with.
_ANSWERS = frozenset({404, 409, 412})
_FORBIDDEN = frozenset({401, 403})
_MISSING = frozenset({"QueueNotFound", "TableNotFound", "ContainerNotFound", "ResourceNotFound"})
#: The receipt is not the latest one, or the message is not there: the service does not tell which.
_STALE = frozenset({"MessageNotFound", "PopReceiptMismatch"})


class LoginRefused(ConfigurationError):
    """The account refused who we are, or what we want to do."""

    code = "login_refused"


def code_of(error: BaseException) -> str:
    """The service's own word for what is wrong; empty if there is none."""
    code = getattr(error, "error_code", "") or ""
    return str(getattr(code, "value", code))


def is_stale(error: BaseException) -> bool:
    """The receipt is old, or the message is gone."""
    return isinstance(error, HttpResponseError) and code_of(error) in _STALE


def is_missing(error: BaseException) -> bool:
    """There is no such queue, table or container."""
    return isinstance(error, HttpResponseError) and code_of(error) in _MISSING - {"ResourceNotFound"}


def translate(error: BaseException, place: str, what: str) -> TenureError:
    """What to raise instead of `error`, which came of `what`."""
    if isinstance(error, TenureError):
        return error
    if isinstance(error, ClientAuthenticationError) or _status(error) in _FORBIDDEN:
        return LoginRefused(
            f"{place} refused {what} ({_said(error)}); nothing was changed. Check the key or the connection string, or "
            "give this identity the roles Storage Queue Data Contributor, Storage Table Data Contributor and Storage "
            "Blob Data Contributor"
        )
    if is_missing(error):
        return StoreMissing(
            f"{place}: {what} found nothing there ({code_of(error)}); nothing was created. Mind the name, create it, "
            "or let Tenure create what is missing (?create=yes)"
        )
    status = _status(error)
    if isinstance(error, ServiceRequestError) and _was_not_sent(error):
        return BrokerUnavailable(f"{place} cannot be reached ({_said(error)}); {what} was not sent. Check the network")
    if isinstance(error, ServiceRequestError | ServiceResponseError | TimeoutError | OSError) or status in _PASSING:
        done = "nothing was changed" if status in _NOT_DONE else "it is not known whether it was carried out"
        text = f"{place} did not answer {what} ({_said(error)}); {done}"
        return BrokerUnavailable(text, outcome_unknown=status not in _NOT_DONE)
    return BrokerError(f"{place} refused {what}: {_said(error)}; nothing was changed by that call")


def closed(place: str) -> BrokerUnavailable:
    """The store was closed, or never opened."""
    return BrokerUnavailable(f"{place} is not open; nothing was written. Open it before using it")


def retired(owner: str) -> OwnerRetired:
    """It was declared dead, and whatever it still says comes too late."""
    return OwnerRetired(
        f"the worker {owner} was declared dead and its messages were returned; nothing was done for it. "
        "It must join again under a new nonce"
    )


def _was_not_sent(error: ServiceRequestError) -> bool:
    """The SDK says the same when the line ended before the answer came, which proves nothing."""
    inner = error.inner_exception
    return isinstance(error, ServiceRequestTimeoutError) or isinstance(inner, ClientConnectorError)


def _status(error: BaseException) -> int | None:
    return error.status_code if isinstance(error, HttpResponseError) else None


def _said(error: BaseException) -> str:
    return (code_of(error) or str(error).partition("\n")[0] or type(error).__name__)[:200]


def is_an_answer(error: BaseException) -> bool:
    """Whether it tells how things stand, rather than that something is wrong."""
    if not isinstance(error, HttpResponseError):
        return False
    return _status(error) in _ANSWERS or is_stale(error) or is_there(error)


def is_there(error: BaseException) -> bool:
    """What was to be created is there already."""
    return code_of(error).endswith("AlreadyExists")


def other_partitions(place: str, there: int, asked: int) -> ConfigurationError:
    """The table was made for another number of parts."""
    return BadSetting(
        f"{place}: the table has {there} partitions, not {asked}; nothing was opened. Write ?partitions={there}, or "
        "use another prefix"
    )
