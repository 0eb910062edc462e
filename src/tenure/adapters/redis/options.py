"""Options of a Redis server: the parts of its URL before and after the `?`.

    redis://user:password@host:6379/0          one server; rediss:// with TLS
    redis+sentinel://host:26379,other/service  the master of a service that Sentinels watch
    redis+cluster://host:7000,other:7001       a cluster

What is kept of a message whose `send` returned, and of a settle that was answered, when something fails:

    what fails                        durability=none                durability=replicated
    a worker, a sender, a line        everything                     everything
    the server, and it restarts:
      with appendfsync always         everything                     everything
      with appendfsync everysec       all but about a second         everything from Redis 7.2 on; else as on the left
      without appendonly              what the last snapshot has     the same
    the master, a replica takes over  what the replica had: all but  everything, if the replica that confirmed it is the
                                      some milliseconds, mostly      one that takes over; with one replica it is
    the master is cut off, likewise   nothing that it took since     the same; but none of that was confirmed

`replicated` costs an exchange between master and replica for each batch (WAIT; and WAITAOF, where the server has it).
If no replica confirms within `timeout_seconds`, a sender gets `not_replicated`: the message is stored and will be run,
and is lost only if the master fails now; sending it again under its id is safe. A worker keeps its verdict and says it
again until it is confirmed. Leases, beats, cancels and events do not wait for a replica.

Read here, used by `topology.py` and `store.py`.
"""

from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote

import msgspec

from tenure.errors import BadURL
from tenure.url_options import above_zero, read_query, whole_above_zero, yes_or_no

_PORTS = {"redis": 6379, "rediss": 6379, "redis+sentinel": 26379, "redis+cluster": 6379}
#: What a URL may say after its `?`, and what is taken.
_TAKEN = {
    "keep_seconds": "a number of seconds above 0",
    "body_limit": "a number of bytes above 0",
    "durability": "none or replicated",
    "prefix": "letters, digits and : . - _ (no braces)",
    "timeout_seconds": "a number of seconds above 0",
    "tls": "yes or no",
    "ca_file": "the path of a file with the trusted certificates",
    "cert_file": "the path of a file with this client's certificate",
    "key_file": "the path of a file with the key to it",
    "verify": "yes or no",
    "sentinel_password": "the password of the Sentinels",
    "db": "the number of a database",
}
_TLS_ONLY = frozenset({"ca_file", "cert_file", "key_file", "verify"})
_FILES = frozenset({"ca_file", "cert_file", "key_file"})
_NUMBERS = frozenset({"keep_seconds", "body_limit", "timeout_seconds"})


class RedisOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of one Redis server or cluster."""

    #: one, sentinel or cluster.
    kind: str = "one"
    hosts: tuple[tuple[str, int], ...]
    username: str | None = None
    password: str | None = None
    db: int = 0
    #: The name that Sentinels know the master by.
    service: str = ""
    sentinel_password: str | None = None
    tls: bool = False
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    #: no: the server's certificate is not checked. Only for tests.
    verify: bool = True
    #: The first part of every key.
    prefix: str = "tenure"
    #: How long finished messages and done keys are remembered.
    keep_seconds: float = 7 * 86_400.0
    body_limit: int = 1 << 20
    #: none or replicated; see above.
    durability: str = "none"
    #: How long to wait for an answer.
    timeout_seconds: float = 10.0

    @property
    def place(self) -> str:
        """The server's address for people, without the password."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        tls = " by TLS" if self.tls else ""
        return f"Redis at {hosts}{tls}" if self.kind == "one" else f"the Redis {self.kind} at {hosts}{tls}"


def read_options(url: str, parts: SplitResult) -> RedisOptions:
    """Parse `url`. Raises `BadURL`, which says whether a name or a value is wrong."""
    said = read_query(url, parse_qsl(parts.query, keep_blank_values=True), _TAKEN, _read)
    kind = parts.scheme.partition("+")[2] or "one"
    path = unquote(parts.path.strip("/"))
    fields: dict[str, Any] = {"kind": kind, "hosts": _hosts(url, parts), "tls": parts.scheme == "rediss"}
    login, has_login, _ = parts.netloc.rpartition("@")
    if has_login:
        user, _, password = login.partition(":")
        fields |= {"username": unquote(user) or None, "password": unquote(password) or None}
    if kind == "sentinel":
        service, _, db = path.partition("/")
        fields |= {"service": service, "db": _db(url, db)}
        if not service:
            msg = f"{url!r} names no service; write redis+sentinel://host:26379/service. Nothing was opened"
            raise BadURL(msg)
    else:
        fields["db"] = _db(url, path)
    fields |= said
    if kind == "cluster" and fields["db"]:
        msg = f"{url!r}: a cluster has only database 0; nothing was opened"
        raise BadURL(msg)
    if fields.get("key_file") and not fields.get("cert_file"):
        msg = f"{url!r}: key_file is the key to a certificate; name that too (cert_file). Nothing was opened"
        raise BadURL(msg)
    if not fields["tls"] and not _TLS_ONLY.isdisjoint(said):
        msg = f"{url!r}: {', '.join(sorted(_TLS_ONLY & said.keys()))} without TLS; write rediss://, or tls=yes"
        raise BadURL(msg)
    return RedisOptions(**fields)


def _hosts(url: str, parts: SplitResult) -> tuple[tuple[str, int], ...]:
    hosts = []
    for one in parts.netloc.rpartition("@")[2].split(","):
        host, _, port = one.rpartition(":") if ":" in one.rpartition("]")[2] else (one, "", "")
        number = int(port) if port.isdecimal() else _PORTS[parts.scheme]
        if (port and not port.isdecimal()) or not 0 < number < 1 << 16:
            msg = f"{url!r}: {port!r} is not the number of a port; nothing was opened"
            raise BadURL(msg)
        hosts.append((host.strip("[]") or "localhost", number))
    return tuple(hosts)


def _db(url: str, text: str) -> int:
    if text and not text.isdecimal():
        msg = f"{url!r}: {text!r} is not the number of a database; nothing was opened"
        raise BadURL(msg)
    return int(text or 0)


def _read(name: str, value: str) -> object:
    """Parse an option's value. None: the value is not valid."""
    if name in _NUMBERS:
        return whole_above_zero(value) if name == "body_limit" else above_zero(value)
    match name:
        case "durability":
            return value if value in ("none", "replicated") else None
        case "tls" | "verify":
            return yes_or_no(value)
        case "db":
            return int(value) if value.isdecimal() else None
        case "prefix":
            allowed = value.isascii() and all(one.isalnum() or one in ":.-_" for one in value)
            return value if value and allowed else None
    return value if value and (name not in _FILES or Path(value).is_file()) else None
