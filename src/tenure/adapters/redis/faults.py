"""Translates errors of Redis, and of connections to it, into Tenure's errors.

The only module that knows Redis's error codes. Each sentence says what happened to the messages and what to do. Used by
`topology.py`, `subscriber.py` and `store.py`.
"""

import asyncio
import re
import ssl
from typing import Any

from redis import exceptions

from tenure.errors import (
    BadURL,
    BrokerError,
    BrokerUnavailable,
    ConfigurationError,
    LoginRefused,
    PermissionMissing,
    StoreForeign,
    StoreMissing,
    StoreUnwritable,
    TenureError,
)

#: The server is there and cannot take the request now; nothing was done. What people can do about it.
_PASSING = {
    "READONLY": "it is a replica now; looking for the master",
    "LOADING": "it is still loading its data",
    "NOREPLICAS": "too few replicas are connected (min-replicas-to-write)",
    "OOM": "it has no memory left (maxmemory); add some, or let workers catch up",
    "MISCONF": "it cannot write to its disk; look at its log",
    "CLUSTERDOWN": "the cluster is down, or a slot has no master",
    "TRYAGAIN": "the slot is on its way to another node",
    "ASK": "the slot is on its way to another node",
    "MASTERDOWN": "the link to its master is down",
    "BUSY": "another client's script blocks it",
    "UNKILLABLE": "another client's script blocks it",
    "FAILOVER": "it is handing over to a replica",
}
#: Those of them that mean: this is no longer the server that takes writes, whatever its name leads to now.
_OTHER_ROLE = frozenset({"READONLY", "MASTERDOWN"})
#: Errors that are answers: the exchange itself is in order.
ANSWERED = (exceptions.ResponseError, exceptions.BusyLoadingError)
_CLASSES = (
    (exceptions.ReadOnlyError, "READONLY"), (exceptions.BusyLoadingError, "LOADING"),
    (exceptions.OutOfMemoryError, "OOM"), (exceptions.MasterDownError, "MASTERDOWN"),
    (exceptions.ClusterDownError, "CLUSTERDOWN"), (exceptions.TryAgainError, "TRYAGAIN"),
    (exceptions.AskError, "ASK"), (exceptions.NoPermissionError, "NOPERM"),
)  # fmt: skip
#: An error of a script, as Redis 6.2 reports it: the code stands in the middle.
_INNER = re.compile(r": -([A-Z]+) ")
#: What a script may not do; the words are those of 6.2, 7 and Valkey.
_DENIED = ("acl failure in script", "the user executing the script can't")
#: Answers of a cluster's node to a client for a single server, and of a single server to a cluster's client.
_CLUSTER = frozenset({"MOVED", "CROSSSLOT"})
_NO_CLUSTER = "cluster support disabled"
_LOGIN = ("NOAUTH", "WRONGPASS", "invalid username-password", "invalid password", "without any password configured")


class Wandering(Exception):
    """A slot that moves faster than it can be followed."""

    def __init__(self) -> None:
        """There is nothing more to say."""
        super().__init__("a slot moves from node to node")


class NoMaster(Exception):
    """A slot that no server has."""

    def __init__(self, slot: int) -> None:
        """Take the slot without a master."""
        super().__init__(f"no server has slot {slot}")


class NotRedis(BrokerUnavailable):
    """Something else answers there."""

    code = "not_redis"


class TLSFailed(BrokerUnavailable):
    """The TLS connection failed: the certificate is not trusted, or the server does not use TLS."""

    code = "tls_failed"


class NotReplicated(BrokerUnavailable):
    """The write was carried out, but no replica confirmed it; see `options.py`."""

    code = "not_replicated"


class ServerTooOld(ConfigurationError):
    """The server cannot do what Tenure needs."""

    code = "server_too_old"


def code_of(error: BaseException) -> str:
    """Redis's own code for the error; empty if there is none."""
    if isinstance(error, exceptions.MovedError):
        return "MOVED"
    for kind, code in _CLASSES:
        if isinstance(error, kind):
            return code
    if not isinstance(error, exceptions.ResponseError):
        return ""
    text = str(error)
    if any(one in text.lower() for one in _DENIED):
        return "NOPERM"
    inner = _INNER.search(text)
    return inner.group(1) if inner else text.partition(" ")[0].rstrip(":")


def is_other_role(error: object) -> bool:
    """Whether it came from a server that is not the master: look again where that is."""
    return isinstance(error, BaseException) and code_of(error) in _OTHER_ROLE


def translate(error: BaseException, place: str, *, sent: bool) -> TenureError:  # noqa: PLR0911 - a table of them
    """Translate an error of redis-py. `sent`: the request may have reached the server."""
    text, code = str(error), code_of(error)
    if isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError) or _is_login(error):
        return LoginRefused(
            f"{place} refused the login ({text}); nothing was written. Check user and password in the URL"
        )
    if code == "NOPERM":
        # A script that is stopped in its middle leaves what it has done.
        what = "a part of it may have been done" if _is_inner(text) else "nothing was written"
        return PermissionMissing(
            f"{place} does not let this user do what Tenure needs ({text}); {what}. Allow it: "
            "+@all -@admin -@dangerous +info on the keys of the prefix, and its channels"
        )
    if code in _CLUSTER:
        return BadURL(f"{place} is a node of a cluster ({text}); nothing was written. Write redis+cluster:// instead")
    if _NO_CLUSTER in text:
        return BadURL(f"{place} is not a cluster ({text}); nothing was written. Write redis:// instead")
    if code in _PASSING:
        return BrokerUnavailable(f"{place} cannot take this now: {_PASSING[code]} ({text}); nothing was written")
    if is_foreign(error):
        return StoreForeign(
            f"{place}: a key of Tenure holds something else ({text}); it was left as it is. Another program uses the "
            "same names: give Tenure a prefix of its own (?prefix=…), or remove the key"
        )
    if isinstance(error, exceptions.ResponseError):
        return BrokerError(f"{place} refused the request: {text}; nothing was written")
    if isinstance(error, exceptions.InvalidResponse):
        return NotRedis(
            f"{place}: the server there does not speak the Redis protocol ({text}); {_told(sent)}. Check host and "
            "port, and whether it wants TLS (rediss://)",
            outcome_unknown=sent,
        )
    trouble = _tls_trouble(error)
    if trouble:
        return TLSFailed(
            f"{place}: no connection by TLS ({trouble}); {_told(sent)}. Check that the server speaks TLS, its "
            "certificate and its name; ?ca_file=… names the trusted certificates, ?cert_file=…&key_file=… your own",
            outcome_unknown=sent,
        )
    return away(place, error, sent=sent)


def is_foreign(error: object) -> bool:
    """Whether a key of ours holds something else."""
    return isinstance(error, BaseException) and "WRONGTYPE" in str(error)


def translate_foreign(answer: Any, place: str) -> Any:
    """Translate an answer that reports a foreign value under a key. Return any other answer unchanged."""
    return translate(answer, place, sent=False) if is_foreign(answer) else answer


def away(place: str, error: BaseException | None, *, sent: bool) -> BrokerUnavailable:
    """The server cannot be reached, or did not answer."""
    why = "no answer in time" if isinstance(error, asyncio.TimeoutError | TimeoutError) else str(error or "closed")
    return BrokerUnavailable(f"{place} is away ({why}); {_told(sent)}. Check that it runs", outcome_unknown=sent)


def in_part(error: TenureError) -> TenureError:
    """Another request of the same batch was carried out, so "nothing was written" is not the whole truth."""
    if not isinstance(error, BrokerUnavailable):
        return error
    return BrokerUnavailable(f"{error}. So for a part of the batch; the rest may have been done", outcome_unknown=True)


def missing(place: str, prefix: str) -> StoreMissing:
    """A command wants to read an unused store."""
    return StoreMissing(
        f"there is nothing of Tenure at {place} under the prefix {prefix!r}; nothing was created. Check the URL "
        f"(host, database, ?prefix=…), or send a first message there"
    )


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


def not_replicated(place: str, why: str) -> NotReplicated:
    """Written, but not where it should be."""
    return NotReplicated(
        f"{place} stored it, but {why} in time (durability=replicated). It is lost only if the master fails before a "
        "replica has it. Repeating it is safe, and waits for the confirmation again",
        outcome_unknown=True,
    )


def _told(sent: bool) -> str:  # noqa: FBT001 - as its callers are told it
    """Describe what became of a request that got no answer."""
    return "it is not known whether the request was carried out" if sent else "nothing was sent to it"


def _is_inner(text: str) -> bool:
    """Whether a script said it, and not the server instead of it."""
    return "script" in text


def _tls_trouble(error: BaseException) -> str:
    """Find the TLS error that redis-py wrapped."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return str(getattr(cause, "reason", None) or cause)  # those that Python makes itself have none
        cause = cause.__cause__ or cause.__context__
    return ""


def _is_login(error: BaseException) -> bool:
    text = str(error).lower()
    return isinstance(error, exceptions.ResponseError) and any(one.lower() in text for one in _LOGIN)
