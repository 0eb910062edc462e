"""Settings: what the environment says, read once, with every mistake reported at once.

Each setting has a `TENURE_*` name; where existing deployments use another name, that one is read too.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tenure.errors import BadArgument, BadSetting
from tenure.rules.client_queue import LONGEST_CLIENT, is_client
from tenure.rules.client_weights import weights_from
from tenure.rules.storage_account import container_name, url_of_account, url_of_connection_string

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
    #: How large the parts of clients in a worker's time are, such as `acme=3`; 1 for those that are not named.
    client_weights: tuple[str, ...] = ()
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
    #: The part of all messages whose every step leaves an event, unless a task says it.
    detail: float = 0.0
    #: Under which names every event is logged. None: events are not logged.
    log_events: str | None = None
    #: So many messages of a client may wait, unless an operator says otherwise. None: any number.
    quota_waiting: int | None = None
    #: So many messages of a client may run at once, over all workers. None: any number.
    quota_running: int | None = None
    #: So many messages of a client may start in a second, over all workers. None: any number.
    quota_per_second: float | None = None
    #: So many bytes a payload of a client may have. None: as many as the broker takes.
    quota_payload: int | None = None
    #: What is notified when a message ends: the name of a webhook's endpoint, or a URL. None: nothing.
    webhook: str | None = None
    #: Where bodies go that are too large for the broker. None: they are refused.
    claim_check: str | None = None
    #: The same in the storage account of an `azure://` URL: the container that a deployment has for its documents. Each
    #: client has a folder of its own in it.
    container: str | None = None
    #: Signs what the server hands out. None: random bits that are kept in the store.
    secret_key: str | None = None
    #: What was signed with these is still accepted; the secret keys before `secret_key`.
    old_secret_keys: tuple[str, ...] = ()
    #: Hosts and networks that webhooks may call although they are not public, such as `10.0.0.0/8` or `hooks:8080`.
    webhook_allow: tuple[str, ...] = ()
    #: An endpoint that has failed for so many seconds is disabled.
    webhook_disable_seconds: float = 5 * 86_400.0
    #: Where people reach the server, such as `https://tenure.example.com`. None: what is sent out names no page of it.
    public_url: str | None = None
    #: Where a worker serves its metrics. None: nowhere.
    metrics: str | None = None
    #: What a scraper of a worker says to be let in. None: it must be on the same machine.
    metrics_token: str | None = None
    #: This many queues and as many tasks have labels of their own in metrics; the rest is `other`.
    metrics_label_values: int = 100
    #: Where workers and servers write their metrics as lines for CloudWatch, once a minute. None: nowhere.
    emf: str | None = None
    #: The event loop of workers and servers: auto (uvloop where it is installed), asyncio or uvloop.
    loop: str = "auto"
    #: Where workers run: ecs, kubernetes, ec2, azure. Empty: no manager hears of leases, and none is watched.
    platforms: tuple[str, ...] = ()
    #: Thresholds of alerts that are changed, and alerts that are switched off or on.
    alerts: tuple[str, ...] = ()
    #: The webhook endpoint that alerts are posted to. None: none is.
    alert_webhook: str | None = None
    #: Where the server listens.
    server_port: int = 8383
    #: By which names clients may call the server, besides those of loopback.
    server_hosts: tuple[str, ...] = ()
    #: Origins whose pages may open watch links, such as `https://app.example.com`. Empty: only the server's own.
    server_origins: tuple[str, ...] = ()
    #: Addresses of proxies that are believed when they say whom they ask for.
    server_proxies: tuple[str, ...] = ()
    #: The largest body of a request, in bytes.
    server_body_limit: int = 8 * 1024 * 1024
    #: This many requests are worked on at once.
    server_most_requests: int = 200
    #: This many streams may be open at once.
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


def _event_names(text: str) -> str:
    if text not in EVENT_NAMES:
        raise ValueError
    return text


def _loop(text: str) -> str:
    if text.lower() not in EVENT_LOOPS:
        raise ValueError
    return text.lower()


#: The event loops that long-running commands can use (`runtime/event_loop.py`).
EVENT_LOOPS = ("auto", "asyncio", "uvloop")


#: Under which names events can be logged (`tenure.sinks.LogEvents`).
EVENT_NAMES = ("tenure", "cloudwatch", "app_insights")


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


def _allowed(text: str) -> tuple[str, ...]:
    from tenure.rules.webhook_allow import allowance  # noqa: PLC0415 - most apps call no webhooks

    names = _names(text)
    for name in names:
        allowance(name)
    return names


def _alerts(text: str) -> tuple[str, ...]:
    changes = tuple(change.strip().replace(" ", "") for change in text.split(","))
    if changes != ("off",) and not all(_ALERT.fullmatch(change) for change in changes):
        raise ValueError
    return changes


#: `NAME=on`, `NAME=off`, `NAME.LEVEL=FIRE`, `NAME.LEVEL=FIRE:CLEAR`. Which there are is known where alerts are judged.
_ALERT = re.compile(r"[a-z_]+(=(on|off)|\.[a-z]+=(off|[0-9.e+-]+(:[0-9.e+-]+)?))")


def _weights(text: str) -> tuple[str, ...]:
    return tuple(f"{client}={weight:g}" for client, weight in weights_from(text.split(",")).items())


def _web_address(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise ValueError
    return text.rstrip("/")


def _origins(text: str) -> tuple[str, ...]:
    origins = _names(text)
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("https", "http") or origin != f"{parts.scheme}://{parts.netloc}" or "*" in origin:
            raise ValueError
    return origins


def _secret(text: str) -> str:
    if len(text) < LEAST_SECRET:
        raise ValueError
    return text


def _rate(text: str) -> float:
    from tenure.limit import per_second  # noqa: PLC0415 - most apps have no quotas

    return per_second(text)


def _size(text: str) -> int:
    from tenure.quota import bytes_from  # noqa: PLC0415 - most apps have no quotas

    return bytes_from(text)


def _secrets(text: str) -> tuple[str, ...]:
    return tuple(_secret(one.strip()) for one in text.split(","))


#: A shorter secret could be guessed.
LEAST_SECRET = 32


def client_name(text: str) -> str:
    """`text`, if it can name a client: the queue `{client}-tasks` must be a valid queue name everywhere."""
    if not is_client(text):
        raise ValueError
    return text


def namespace_name(text: str) -> str:
    """`text`, if it can name a namespace: a part of the names of its queues."""
    if not text or not all(part.isalnum() for part in text.split("-")) or text != text.lower() or not text.isascii():
        raise ValueError
    return text


#: Names by which Azure deployments say where their storage is.
CONNECTION_STRING, ACCOUNT_NAME = "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT_NAME"
_WEEK = 7 * 86_400.0
_SECONDS = "seconds from 0.05 to 604800"
_CLIENT_NAMES = f"a-z, 0-9 and single dashes, at most {LONGEST_CLIENT} characters"

_SETTINGS = (
    _Setting("url", ("TENURE_URL",), "a URL such as sqlite:///jobs.db", str),
    _Setting("url", (CONNECTION_STRING,), "a connection string with AccountName, or UseDevelopmentStorage=true",
             url_of_connection_string, is_secret=True),
    _Setting("url", (ACCOUNT_NAME,), "3 to 24 of a-z and 0-9", url_of_account),
    _Setting("client", ("TENURE_CLIENT", "CLIENT_ID"), _CLIENT_NAMES, client_name),
    _Setting("namespace", ("TENURE_NAMESPACE",), "a-z, 0-9 and single dashes", namespace_name),
    _Setting("client_weights", ("TENURE_CLIENT_WEIGHTS",),
             "clients and numbers from 0.01 to 100, such as acme=3,demo=0.5", _weights),
    _Setting("lease_seconds", ("TENURE_LEASE", "ACK_TIMEOUT_SECONDS"), _SECONDS, _number(0.05, _WEEK)),
    _Setting("lease_seconds", ("SQS_VISIBILITY_TIMEOUT",), "seconds from 1 to 43200", _number(1.0, 43_200.0)),
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
    _Setting("detail", ("TENURE_DETAIL",), "a part from 0 to 1", _number(0.0, 1.0)),
    _Setting("log_events", ("TENURE_LOG_EVENTS",), "tenure, cloudwatch or app_insights", _event_names),
    _Setting("quota_waiting", ("TENURE_QUOTA_WAITING",), "a whole number from 0", _whole(0, 10**9)),
    _Setting("quota_running", ("TENURE_QUOTA_RUNNING",), "a whole number from 1", _whole(1, 10**9)),
    _Setting("quota_per_second", ("TENURE_QUOTA_RATE",), "such as 100/m, 5/s or 1/10s", _rate),
    _Setting("quota_payload", ("TENURE_QUOTA_PAYLOAD",), "bytes, or such as 64KiB or 1MB", _size),
    _Setting("webhook", ("TENURE_WEBHOOK",), "the name of an endpoint, or a URL", str),
    _Setting("claim_check", ("TENURE_CLAIM_CHECK",), "a URL such as file:///srv/bodies", str),
    _Setting("container", ("AZURE_STORAGE_CONTAINER_NAME",), "3 to 63 of a-z, 0-9 and single dashes", container_name),
    _Setting("wait_for_broker_seconds", ("TENURE_WAIT_FOR_BROKER",), "seconds from 0 to 604800", _number(0.0, _WEEK)),
    _Setting("grace_seconds", ("TENURE_GRACE",), "seconds from 0 to 604800", _number(0.0, _WEEK)),
    _Setting("secret_key", ("TENURE_SECRET_KEY",), "a text of 32 characters or more", _secret, is_secret=True),
    _Setting("old_secret_keys", ("TENURE_OLD_SECRET_KEYS",),
             "texts of 32 characters or more with commas between them", _secrets, is_secret=True),
    _Setting("webhook_allow", ("TENURE_WEBHOOK_ALLOW",),
             "hosts (with or without a port) and networks with commas between them", _allowed),
    _Setting("webhook_disable_seconds", ("TENURE_WEBHOOK_DISABLE_AFTER",), "seconds from 60", _number(60.0, 3.2e8)),
    _Setting("public_url", ("TENURE_PUBLIC_URL",), "a URL such as https://tenure.example.com", _web_address),
    _Setting("metrics", ("TENURE_METRICS",), "an address such as 127.0.0.1:9100", str),
    _Setting("metrics_token", ("TENURE_METRICS_TOKEN",), "a text of 32 characters or more", _secret, is_secret=True),
    _Setting("metrics_label_values", ("TENURE_METRICS_LABEL_VALUES",), "1 to 10000", _whole(1, 10_000)),
    _Setting("emf", ("TENURE_EMF",), "stdout, file:/path or tcp://host:port", str),
    _Setting("loop", ("TENURE_LOOP",), "auto, asyncio or uvloop", _loop),
    _Setting("platforms", ("TENURE_PLATFORM",), "ecs, kubernetes, ec2, azure with commas between them", _names),
    _Setting("alerts", ("TENURE_ALERTS",),
             "off, or changes with commas between them, such as duplicates.page=0.1, zombie=off, flash=on", _alerts),
    _Setting("alert_webhook", ("TENURE_ALERT_WEBHOOK",), "the name of an endpoint", str),
    _Setting("server_port", ("TENURE_SERVER_PORT",), "0 to 65535", _whole(0, 65_535)),
    _Setting("server_hosts", ("TENURE_SERVER_HOSTS",), "names with commas between them", _names),
    _Setting("server_origins", ("TENURE_SERVER_ORIGINS",),
             "origins such as https://app.example.com with commas between them", _origins),
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
        except (ValueError, BadArgument):
            shown = "…" if setting.is_secret else repr(source[name])
            mistakes.append(f"{name}={shown} is not allowed; it takes {setting.allowed}")
    mistakes += _disagreement(source)
    if mistakes:
        raise BadSetting("; ".join(mistakes))
    return Settings(**values)


def _disagreement(source: Mapping[str, str]) -> list[str]:
    """Two variables that name different accounts, where one of them decides."""
    if variables_read(source).get("url") != CONNECTION_STRING or not (named := source.get(ACCOUNT_NAME, "").strip()):
        return []
    try:
        account = url_of_connection_string(source[CONNECTION_STRING].strip())
    except ValueError:
        return []
    if account.removeprefix("azure://").partition("?")[0] == named:
        return []
    return [f"{ACCOUNT_NAME}={named!r} is not the account of {CONNECTION_STRING}; leave one of them out"]


def url_from(environment: Mapping[str, str] | None = None) -> str | None:
    """The URL that the environment names. None: it names none. Raises one `BadSetting` that names all mistakes."""
    return settings_from(environment).url


class SettingName(msgspec.Struct, frozen=True, kw_only=True):
    """The names of one setting, and the values that it allows."""

    field: str
    #: The names of its environment variables, ours first.
    variables: tuple[str, ...]
    allowed: str


def setting_names() -> tuple[SettingName, ...]:
    """List every setting once, in the order in which they are read."""
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
