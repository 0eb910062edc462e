"""Settings: what the environment says, read once, with every mistake reported at once.

Each setting has a `TENURE_*` name; where existing deployments use another name, that one is read too.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tenure.errors import BadSetting

DEFAULT_CLIENT = "default"
#: For where a setting came from: an argument of the app.
ARGUMENT = "argument"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults of an app and its workers."""

    url: str | None = None
    client: str = DEFAULT_CLIENT
    #: Set: this app sees its own queues only, at a place that several apps share.
    namespace: str | None = None
    lease_seconds: float = 30.0
    max_attempts: int = 3
    sweep_batch: int = 100
    sweep_interval_seconds: float = 5.0
    concurrency: int = 10
    grace_seconds: float = 30.0
    #: How long opening an app waits for a broker that is away.
    wait_for_broker_seconds: float = 30.0
    #: An identity that a manager gives to one worker process at a time. Empty: none.
    slot: str = ""
    journal_keep_seconds: float = 7 * 86_400.0
    #: Largest result of a handler, in bytes of JSON.
    result_limit: int = 1_048_576
    #: Whether the payload of a completed message stays in the journal, for debugging.
    keep_payload: bool = False
    #: Where bodies go that are too large for the broker. None: they are refused.
    claim_check: str | None = None
    #: Signs what the server hands out. None: random bits that are kept in the store.
    secret_key: str | None = None
    #: Where the server listens.
    server_port: int = 8383
    #: By which names clients may call the server, besides those of loopback.
    server_hosts: tuple[str, ...] = ()
    #: Addresses of proxies that are believed when they say whom they ask for.
    server_proxies: tuple[str, ...] = ()
    #: The largest body of a request, in bytes.
    server_body_limit: int = 8 * 1024 * 1024
    #: So many requests are worked on at once.
    server_most_requests: int = 200
    #: So many streams may be open at once.
    server_most_streams: int = 500
    #: Keys of payloads and headers whose values the server never shows.
    server_redact: tuple[str, ...] = ("authorization", "cookie", "password", "secret", "token")


class _Setting(msgspec.Struct, frozen=True):
    field: str
    names: tuple[str, ...]
    allowed: str
    read: Callable[[str], Any]
    #: Whether its value is shown nowhere, not even in an error.
    is_secret: bool = False


def _number(least: float, most: float, scale: float = 1.0) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = float(text) * scale
        if not least <= value <= most:
            raise ValueError
        return value

    return read


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise ValueError
        return value

    return read


def _yes_or_no(text: str) -> bool:
    if text.lower() not in _ANSWERS:
        raise ValueError
    return _ANSWERS[text.lower()]


_ANSWERS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip().lower() for name in text.split(","))
    if not all(names):
        raise ValueError
    return names


def _names_or_none(text: str) -> tuple[str, ...]:
    return () if text.lower() == "none" else _names(text)


def _networks(text: str) -> tuple[str, ...]:
    import ipaddress  # noqa: PLC0415 - most apps serve nothing

    networks = _names(text)
    for network in networks:
        ipaddress.ip_network(network)
    return networks


def _secret(text: str) -> str:
    if len(text) < LEAST_SECRET:
        raise ValueError
    return text


#: A shorter secret could be guessed.
LEAST_SECRET = 32


def client_name(text: str) -> str:
    """`text`, if it can name a client: the queue `{client}-tasks` must be a valid queue name everywhere."""
    if not text or not all(part.isalnum() for part in text.split("-")) or text != text.lower() or not text.isascii():
        raise ValueError
    return text


_WEEK = 7 * 86_400.0
_SECONDS = "seconds from 0.05 to 604800"

_SETTINGS = (
    _Setting("url", ("TENURE_URL",), "a URL such as sqlite:///jobs.db", str),
    _Setting("client", ("TENURE_CLIENT", "CLIENT_ID"), "a-z, 0-9 and single dashes", client_name),
    _Setting("namespace", ("TENURE_NAMESPACE",), "a-z, 0-9 and single dashes", client_name),
    _Setting("lease_seconds", ("TENURE_LEASE", "ACK_TIMEOUT_SECONDS"), _SECONDS, _number(0.05, _WEEK)),
    _Setting("max_attempts", ("TENURE_MAX_ATTEMPTS", "MAX_ATTEMPTS"), "a whole number from 1", _whole(1, 10**6)),
    _Setting("sweep_batch", ("TENURE_SWEEP_BATCH", "REQUEUE_BATCH_SIZE"), "1 to 1000", _whole(1, 1000)),
    _Setting("sweep_interval_seconds", ("TENURE_SWEEP_INTERVAL",), "seconds from 0.05 to 3600", _number(0.05, 3600)),
    _Setting("sweep_interval_seconds", ("OVERDUE_CHECK_INTERVAL_MS",), "milliseconds from 50 to 3600000",
             _number(0.05, 3600, 0.001)),
    _Setting("concurrency", ("TENURE_CONCURRENCY",), "1 to 10000", _whole(1, 10_000)),
    _Setting("slot", ("TENURE_SLOT",), "any text", str),
    _Setting("journal_keep_seconds", ("TENURE_JOURNAL_KEEP",), "seconds from 1", _number(1.0, float("inf"))),
    _Setting("result_limit", ("TENURE_RESULT_LIMIT",), "bytes from 0 to 268435456", _whole(0, 2**28)),
    _Setting("keep_payload", ("TENURE_KEEP_PAYLOAD",), "yes or no", _yes_or_no),
    _Setting("claim_check", ("TENURE_CLAIM_CHECK",), "a URL such as file:///srv/bodies", str),
    _Setting("wait_for_broker_seconds", ("TENURE_WAIT_FOR_BROKER",), "seconds from 0 to 604800", _number(0.0, _WEEK)),
    _Setting("grace_seconds", ("TENURE_GRACE",), "seconds from 0 to 604800", _number(0.0, _WEEK)),
    _Setting("secret_key", ("TENURE_SECRET_KEY",), "a text of 32 characters or more", _secret, is_secret=True),
    _Setting("server_port", ("TENURE_SERVER_PORT",), "0 to 65535", _whole(0, 65_535)),
    _Setting("server_hosts", ("TENURE_SERVER_HOSTS",), "names with commas between them", _names),
    _Setting("server_proxies", ("TENURE_SERVER_PROXIES",), "addresses and networks with commas between them",
             _networks),
    _Setting("server_body_limit", ("TENURE_SERVER_BODY_LIMIT",), "bytes from 1024 to 268435456", _whole(1024, 2**28)),
    _Setting("server_most_requests", ("TENURE_SERVER_MOST_REQUESTS",), "1 to 10000", _whole(1, 10_000)),
    _Setting("server_most_streams", ("TENURE_SERVER_MOST_STREAMS",), "1 to 100000", _whole(1, 100_000)),
    _Setting("server_redact", ("TENURE_SERVER_REDACT",), "names with commas between them, or none", _names_or_none),
)  # fmt: skip


def settings_from(environment: Mapping[str, str] | None = None) -> Settings:
    """Read every setting; raises one `BadSetting` that names all mistakes."""
    source = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for setting in _SETTINGS:
        name = next((name for name in setting.names if source.get(name, "").strip()), None)
        if name is None or setting.field in values:
            continue
        try:
            values[setting.field] = setting.read(source[name].strip())
        except ValueError:
            shown = "…" if setting.is_secret else repr(source[name])
            mistakes.append(f"{name}={shown} is not allowed; it takes {setting.allowed}")
    if mistakes:
        raise BadSetting("; ".join(mistakes))
    return Settings(**values)


class SettingName(msgspec.Struct, frozen=True, kw_only=True):
    """How one setting can be set."""

    field: str
    #: The names of its environment variables, ours first.
    variables: tuple[str, ...]
    allowed: str


def setting_names() -> tuple[SettingName, ...]:
    """Every setting once, in the order in which they are read."""
    found: dict[str, SettingName] = {}
    for one in _SETTINGS:
        known = found.get(one.field)
        variables = one.names if known is None else (*known.variables, *one.names)
        allowed = one.allowed if known is None else known.allowed
        found[one.field] = SettingName(field=one.field, variables=variables, allowed=allowed)
    return tuple(found.values())


def variables_read(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """By setting, the environment variable that `settings_from` reads it from; those that are set."""
    source = os.environ if environment is None else environment
    found: dict[str, str] = {}
    for one in _SETTINGS:
        name = next((name for name in one.names if source.get(name, "").strip()), None)
        if name is not None:
            found.setdefault(one.field, name)
    return found
