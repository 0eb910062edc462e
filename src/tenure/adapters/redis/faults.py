"""Every error of Redis and of the way to it, said in Tenure's words.

The only place that knows Redis's error codes. Each sentence says what happened to the messages and what to do. Used by
`link.py`, `listening.py` and `store.py`.
"""

import asyncio

from redis import exceptions

from tenure.errors import (
    BrokerError,
    BrokerUnavailable,
    ConfigurationError,
    OwnerRetired,
    StoreForeign,
    StoreUnwritable,
    TenureError,
)

#: The server is there and cannot take the request now; nothing was done. What people can do about it.
_PASSING = {
    "READONLY": "it is a replica now; the master is looked for again",
    "LOADING": "it is still loading its data",
    "NOREPLICAS": "too few replicas are connected (min-replicas-to-write)",
    "OOM": "it has no memory left (maxmemory); add some, or let workers catch up",
    "MISCONF": "it cannot write to its disk; look at its log",
    "CLUSTERDOWN": "the cluster is down, or a slot has no master",
    "TRYAGAIN": "the slot is on its way to another node",
    "MASTERDOWN": "the link to its master is down",
    "BUSY": "somebody's script holds it up",
    "UNKILLABLE": "somebody's script holds it up",
    "FAILOVER": "it is handing over to a replica",
}
#: Errors that are answers: the exchange itself is in order.
ANSWERED = (exceptions.ResponseError, exceptions.BusyLoadingError)
_LOGIN = ("NOAUTH", "WRONGPASS", "invalid username-password", "invalid password", "without any password configured")


class NoMaster(Exception):
    """A slot that nobody has."""

    def __init__(self, slot: int) -> None:
        """Say which."""
        super().__init__(f"no server has slot {slot}")


class LoginRefused(ConfigurationError):
    """User name or password are wrong, or one is needed."""

    code = "login_refused"


class PermissionMissing(ConfigurationError):
    """The user may not run a command, or not touch a key, that Tenure needs."""

    code = "permission_missing"


class ServerTooOld(ConfigurationError):
    """The server cannot do what Tenure needs."""

    code = "server_too_old"


def translate(error: BaseException, place: str, *, sent: bool) -> TenureError:  # noqa: PLR0911 - a table of them
    """What to raise instead of `error`. `sent`: the request may have reached the server."""
    text = str(error)
    code = text.partition(" ")[0].rstrip(":")
    if isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError) or _is_login(error):
        return LoginRefused(
            f"{place} refused the login ({text}); nothing was written. Check user and password in the URL"
        )
    if isinstance(error, exceptions.NoPermissionError) or code == "NOPERM":
        return PermissionMissing(
            f"{place} does not let this user do what Tenure needs ({text}); nothing was written. Allow it: "
            "+@all -@admin -@dangerous +client|setname +client|list +info on the keys of the prefix, and its channels"
        )
    for known, why in _PASSING.items():
        if code == known or f"-{known} " in text or f"{known} " in text.partition(":")[2][: len(known) + 2]:
            return BrokerUnavailable(f"{place} cannot take this now: {why} ({text}); nothing was written. Try again")
    passing = (
        (exceptions.ReadOnlyError, "READONLY"), (exceptions.BusyLoadingError, "LOADING"),
        (exceptions.OutOfMemoryError, "OOM"), (exceptions.ClusterDownError, "CLUSTERDOWN"),
        (exceptions.TryAgainError, "TRYAGAIN"), (exceptions.MasterDownError, "MASTERDOWN"),
    )  # fmt: skip
    for kind, known in passing:
        if isinstance(error, kind):
            return BrokerUnavailable(f"{place} cannot take this now: {_PASSING[known]} ({text}); nothing was written")
    if "WRONGTYPE" in text:
        return StoreForeign(
            f"a key of Tenure at {place} holds something else ({text}); it was left as it is. Another program uses the "
            "same names: give Tenure a prefix of its own (?prefix=…), or remove the key"
        )
    if isinstance(error, exceptions.ResponseError):
        return BrokerError(f"{place} refused the request: {text}; nothing was written")
    return away(place, error, sent=sent)


def away(place: str, error: BaseException | None, *, sent: bool) -> BrokerUnavailable:
    """The server cannot be reached, or did not answer."""
    why = "no answer in time" if isinstance(error, asyncio.TimeoutError | TimeoutError) else str(error or "closed")
    what = "it is not known whether the request was carried out" if sent else "nothing was sent to it"
    return BrokerUnavailable(f"{place} is away ({why}); {what}. It is tried again", outcome_unknown=sent)


def closed(place: str) -> BrokerUnavailable:
    """The store was closed, or never opened."""
    return BrokerUnavailable(f"{place} is not open; nothing was written. Open it before using it")


def too_old(place: str, version: str) -> ServerTooOld:
    """Streams and sets lack what scripts use."""
    return ServerTooOld(f"{place} is Redis {version}; Tenure needs 6.2 or newer. Nothing was written")


def forked(place: str) -> StoreUnwritable:
    """A child process tried to use its parent's connections."""
    return StoreUnwritable(
        f"{place} was opened before this process was forked; nothing was written. "
        "Connect and open it again in the child"
    )


def retired(owner: str) -> OwnerRetired:
    """It was declared dead, and whatever it still says comes too late."""
    return OwnerRetired(
        f"the worker {owner} was declared dead and its messages were returned; nothing was done for it. "
        "It must join again under a new nonce"
    )


def not_replicated(place: str) -> BrokerUnavailable:
    """Written, but no replica has it."""
    return BrokerUnavailable(
        f"{place} wrote it, but no replica confirmed it in time (durability=replicated). It is tried again",
        outcome_unknown=True,
    )


def _is_login(error: BaseException) -> bool:
    text = str(error).lower()
    return isinstance(error, exceptions.ResponseError) and any(one.lower() in text for one in _LOGIN)
