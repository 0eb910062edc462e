"""What the service says is wrong, in Tenure's words; the only place that knows the SDK's errors.

What an answer means is decided in `rules/cloud_errors.py`, as for every client of a cloud. Here are the words for it,
and what is Azure's alone: the answers that are part of the game (somebody else was first), and what is missing.
"""

from typing import Any

from azure.core.exceptions import ClientAuthenticationError, HttpResponseError

from tenure.errors import (
    BadSetting,
    BrokerError,
    BrokerUnavailable,
    ConfigurationError,
    LoginRefused,
    StoreMissing,
    TenureError,
)
from tenure.rules.cloud_errors import read_answer

#: Not there, there already, not as it was read: what is compared with.
_ANSWERS = frozenset({404, 409, 412})
_FORBIDDEN = frozenset({401, 403})
_MISSING = frozenset({"QueueNotFound", "TableNotFound", "ContainerNotFound"})
#: For half a minute after somebody deleted a queue, a table or a container; it can be created again then.
_GOING = "BeingDeleted"
#: The service asks for a pause by a header of these names, in seconds and in milliseconds.
_PAUSES = {"retry-after": 1.0, "retry-after-ms": 1e-3, "x-ms-retry-after-ms": 1e-3}
_BUSY = frozenset({429, 503})


def code_of(error: BaseException) -> str:
    """The service's own word for what is wrong; empty if there is none."""
    return read_answer(error).code if isinstance(error, Exception) else ""


def is_stale(error: BaseException) -> bool:
    """The receipt is not the latest one, or the message is not there: the service does not tell which."""
    return isinstance(error, HttpResponseError) and read_answer(error).is_lost


def is_missing(error: BaseException) -> bool:
    """There is no such queue, table or container."""
    return isinstance(error, HttpResponseError) and code_of(error) in _MISSING


def pause_seconds(status: int, headers: Any) -> float:
    """How long the service asks us to stay away."""
    if status not in _BUSY:
        return 0.0
    told = {name: headers.get(name, "") for name in _PAUSES}
    return max(float(value) * _PAUSES[name] if value.strip().isdecimal() else 0.0 for name, value in told.items())


def translate(error: Exception, place: str, what: str) -> TenureError:
    """What to raise instead of `error`, which came of `what`."""
    if isinstance(error, TenureError):
        return error
    answer = read_answer(error)
    said = (answer.code or answer.text or type(error).__name__)[:300]
    if isinstance(error, ClientAuthenticationError) or answer.status in _FORBIDDEN:
        return LoginRefused(
            f"{place} refused {what} ({said}); nothing was changed. Check the key or the connection string, or "
            "give this identity the roles Storage Queue Data Contributor, Storage Table Data Contributor and Storage "
            "Blob Data Contributor"
        )
    if answer.code.endswith(_GOING):
        return BrokerUnavailable(f"{place}: what {what} is about is being deleted ({answer.code}); nothing was changed")
    if is_missing(error):
        return StoreMissing(
            f"{place}: {what} found nothing there ({answer.code}); nothing was created. Mind the name, create it, "
            "or let Tenure create what is missing (?create=yes)"
        )
    if not answer.is_worth_another_try:
        return BrokerError(f"{place} refused {what}: {said}; nothing was changed by that call")
    if answer.outcome_unknown:
        text = f"{place} did not answer {what} ({said}); it is not known whether it was carried out"
    elif answer.status is None:
        text = f"{place} cannot be reached ({said}); {what} was not sent. Check the network"
    else:
        text = f"{place} is busy and did not take {what} ({said}); nothing was changed"
    return BrokerUnavailable(text, outcome_unknown=answer.outcome_unknown)


def outage(error: TenureError) -> BrokerUnavailable:
    """The same, of something that worked before: nobody must lose what was done because of it."""
    return BrokerUnavailable(f"{error} (it worked before, and is tried again)")


def no_credentials(place: str, error: BaseException, doubt: str = "") -> LoginRefused:
    """There is neither a key nor anybody who says who we are. `doubt`: what is wrong with what there is."""
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "no answer in time")
    return LoginRefused(
        f"{place}: no credentials{doubt and f' ({doubt})'}; nothing was started ({said[:300]}). Set "
        "AZURE_STORAGE_CONNECTION_STRING, or log in "
        "in a way that azure-identity knows (az login, a managed identity, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET)"
    )


def closed(place: str) -> BrokerUnavailable:
    """The store was closed, or never opened."""
    return BrokerUnavailable(f"{place} is not open; nothing was written. Open it before using it")


def is_an_answer(error: BaseException) -> bool:
    """Whether it tells how things stand, rather than that something is wrong."""
    if not isinstance(error, HttpResponseError):
        return False
    if code_of(error).endswith(_GOING):
        return False
    return error.status_code in _ANSWERS or is_stale(error) or is_there(error)


def is_there(error: BaseException) -> bool:
    """What was to be created is there already."""
    return code_of(error).endswith("AlreadyExists")


def other_partitions(place: str, there: int, asked: int) -> ConfigurationError:
    """The table was made for another number of parts."""
    return BadSetting(
        f"{place}: the table has {there} partitions, not {asked}; nothing was opened. Write ?partitions={there}, or "
        "use another prefix"
    )
