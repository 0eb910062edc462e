"""The composition root: from a URL to a broker and its state.

The only importer of adapters, and only of the one that is asked for. Brokers of other packages are found by the
entry point group `tenure.brokers`: a function `connect(url, clock=…)` that returns `(broker, state)`
(`docs/how-to/write-a-broker.md`).
"""

import importlib.util
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from tenure.blobs import BlobStore
from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BadURL, ConfigurationError, MissingExtra
from tenure.migration import Migrator
from tenure.monitoring.figure import FigurePublisher
from tenure.state import State
from tenure.table import GroupTable
from tenure.url_options import DATABASES, safe_url

logger = logging.getLogger("tenure.assembly")

Backend = tuple[Broker, State]

#: The entry points by which brokers of other packages are found: `name = module:connect`, with the URL's scheme.
_GROUP = "tenure.brokers"

#: The file of `state=local`, in the folder where the process runs.
_LOCAL = "tenure-state.db"

_KNOWN = "sqlite:///file.db, redis://host:6379/0, sqs://region, azure://account, memory://name"
_BLOB_STORES = "file:///srv/bodies, s3://bucket/prefix, blob://account/container"
#: What each extra brings. People with a loop of their own may have a part of it.
_MODULES = {
    "redis": ("redis",),
    "aws": ("aiobotocore",),
    "azure": ("azure.storage.queue", "azure.data.tables", "azure.storage.blob", "aiohttp"),
}
#: Schemes whose adapter needs an extra.
_EXTRAS = {
    "redis": "redis", "rediss": "redis", "redis+sentinel": "redis", "redis+cluster": "redis",
    "sqs": "aws", "s3": "aws", "cloudwatch": "aws", "azure": "azure", "blob": "azure",
}  # fmt: skip
#: Clouds, where things cost money and have rights: there `create=yes` must be said.
_MADE_IF_ASKED = ("sqs", "azure")
#: What an `azure://` URL says of the account as such, and so of its containers.
_OF_ACCOUNT = ("key", "create", "blob_endpoint", "timeout_seconds")


def connect(url: str, *, clock: Clock, must_exist: bool = False) -> Backend:
    """Broker and state for `url`, not yet open. `must_exist`: opening creates nothing, where that can be."""
    shown = safe_url(url)
    parts = _split(url, f"use one of: {_KNOWN}")
    match parts.scheme:
        case "sqlite":
            _refuse_windows()
            from tenure.adapters import sqlite

            path, query = _sqlite(url, parts)
            options = sqlite.read_options(url, query)
            return sqlite.connect(path, clock=clock, must_exist=must_exist, **options)
        case "memory":
            from tenure.adapters import memory

            return memory.connect(parts.netloc + parts.path, clock=clock)
        case "redis" | "rediss" | "redis+sentinel" | "redis+cluster":
            with _extra(parts.scheme):
                from tenure.adapters import redis

            return redis.connect(redis.read_options(shown, parts), clock=clock, must_exist=must_exist)
        case "sqs":
            with _extra(parts.scheme):
                from tenure.adapters import aws

            given = aws.read_options(shown, parts)
            make_table = aws.DynamoTable if given.state_url is None else _table(shown, given.state_url, clock)
            return aws.connect(given, clock=clock, must_exist=must_exist, make_table=make_table)
        case "azure":
            with _extra(parts.scheme):
                from tenure.adapters import azure

            account = azure.read_options(shown, parts)
            elsewhere = None if account.state_url is None else _table(shown, account.state_url, clock)
            return azure.connect(account, clock=clock, must_exist=must_exist, make_table=elsewhere)
    return _third_party(url, shown, parts.scheme, clock)


def migrator(url: str, *, clock: Clock) -> Migrator | None:
    """What carries over what an earlier version kept at `url`. None: later versions read it as it is."""
    shown = safe_url(url)
    parts = _split(url, f"use one of: {_KNOWN}")
    if parts.scheme != "azure":
        connect(url, clock=clock)  # raises where the URL is wrong
        return None
    with _extra(parts.scheme):
        from tenure.adapters import azure

    account = azure.read_options(shown, parts)
    elsewhere = None if account.state_url is None else _table(shown, account.state_url, clock)
    return azure.migrator(account, clock=clock, make_table=elsewhere)


def _meant(shown: str, scheme: str) -> str:
    """Suggest what a URL was probably meant to be, as the end of a sentence. `shown`: without its secrets."""
    if not scheme and shown.endswith(DATABASES):
        return f"; did you mean sqlite:///{shown}?"
    import difflib  # slow, and rarely needed

    near = difflib.get_close_matches(scheme, ("sqlite", "memory", *_EXTRAS), n=1)
    return f"; did you mean {near[0]}{shown[len(scheme) :]}?" if near else ""


def in_memory(*, clock: Clock, exact: bool, **limits: Any) -> Backend:
    """A private store in this process, in the shape of another broker: for simulations.

    `exact=False` is a cloud queue, for which the worker must claim and seal; `limits` are those of `BrokerTraits`.
    """
    from tenure.adapters import memory

    return memory.connect(clock=clock, exact=exact, **limits)


def blob_store(url: str, *, clock: Clock) -> BlobStore:
    """Make the blob store of `url`, not yet open."""
    shown = safe_url(url)
    parts = _split(url, f"for claim_check use one of: {_BLOB_STORES}")
    match parts.scheme:
        case "file":
            from tenure.adapters import folder

            return folder.connect(shown, parts, clock=clock)
        case "memory":
            from tenure.adapters.memory.blobs import MemoryBlobStore

            return MemoryBlobStore(parts.netloc + parts.path, clock)
        case "s3":
            with _extra(parts.scheme):
                from tenure.adapters.aws.s3 import S3BlobStore, read_bucket

            return S3BlobStore(read_bucket(shown, parts), clock)
        case "blob":
            with _extra(parts.scheme):
                from tenure.adapters.azure.container import AzureBlobStore, read_container

            return AzureBlobStore(read_container(shown, parts), clock)
    msg = f"{shown!r} names no place for large bodies; for claim_check use one of: {_BLOB_STORES}"
    raise BadURL(msg)


def figure_publisher(url: str) -> FigurePublisher:
    """Make what takes the figures of queues at `url`, not yet open."""
    shown = safe_url(url)
    parts = _split(url, "use cloudwatch://region/namespace. Nothing was sent")
    if parts.scheme == "cloudwatch":
        with _extra(parts.scheme):
            from tenure.adapters.aws.cloudwatch import CloudWatchPublisher, read_cloudwatch

        return CloudWatchPublisher(read_cloudwatch(shown, parts))
    msg = f"{shown!r} names no system that takes figures; use cloudwatch://region/namespace. Nothing was sent"
    raise BadURL(msg)


def _split(url: str, instead: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        msg = f"{safe_url(url)!r} is not a URL ({error}); {instead}"
        raise BadURL(msg) from error


def container_url(url: str, container: str | None) -> str | None:
    """The blob store `container` in the storage account of `url`. None: there is none, or `url` is no such account."""
    if container is None or not url.startswith("azure:"):
        return None
    parts = urlsplit(url)
    shared = [pair for pair in parse_qsl(parts.query) if pair[0] in _OF_ACCOUNT]
    return f"blob://{parts.netloc}/{container}?{urlencode(shared)}".rstrip("?")


def full_url(url: str) -> str:
    """The URL without its secrets, and of a file with its whole path: a relative one depends on the current folder."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        path, _ = _sqlite(url, parts)
        query = f"?{parts.query}" if parts.query else ""
        url = f"sqlite:///{quote(str(Path(path).resolve()))}{query}"
    return safe_url(url)


def creating(url: str) -> str:
    """Return the URL so that its store is created if missing: `create=yes` is added where a store needs it."""
    parts = urlsplit(url)
    if parts.scheme not in _MADE_IF_ASKED or "create" in dict(parse_qsl(parts.query, keep_blank_values=True)):
        return url
    return f"{url}{'&' if parts.query else '?'}create=yes"


def _third_party(url: str, shown: str, scheme: str, clock: Clock) -> Backend:
    """Broker and state of another package, by its entry point (`docs/how-to/write-a-broker.md`)."""
    from importlib.metadata import entry_points  # slow, and rarely needed

    others = entry_points(group=_GROUP)
    for entry in others.select(name=scheme):
        package = entry.dist.name if entry.dist is not None else entry.value
        try:
            make: Callable[..., Backend] = entry.load()
        except (ImportError, AttributeError) as error:
            msg = (
                f"{scheme}:// is a broker of the package {package}, which cannot be loaded ({error}); nothing was "
                "started. Install what it needs, or another version of it"
            )
            raise ConfigurationError(msg) from error
        return make(url, clock=clock)
    known = ", ".join([_KNOWN, *sorted(f"{entry.name}://…" for entry in others)])
    msg = f"{shown!r} names no broker Tenure knows; use one of: {known}{_meant(shown, scheme)}"
    raise BadURL(msg)


def _table(shown: str, url: str, clock: Clock) -> Callable[[object], GroupTable]:
    """Return the maker of the table for a broker whose state is kept elsewhere."""
    parts = urlsplit(url)
    match parts.scheme:
        case "redis" | "rediss" | "redis+sentinel" | "redis+cluster":
            with _extra(parts.scheme):
                from tenure.adapters import redis
                from tenure.adapters.redis.table import RedisTable

            options = redis.read_options(shown, parts)
            return lambda _: RedisTable(options, clock)
        case scheme if url == "local" or scheme == "sqlite":
            _refuse_windows()
            from tenure.adapters.sqlite.table import LocalTable

            path = _LOCAL if url == "local" else _sqlite(url, parts)[0]
            logger.warning("the state is the file %s of this machine alone: workers elsewhere know nothing of it", path)
            return lambda _: LocalTable(path, clock)
    msg = (
        f"{shown!r}: nothing can be kept at state={safe_url(url)!r}; use redis://…, sqlite:///file.db or local, or "
        "leave it out: then it is kept by the same cloud (dynamodb://region/table, or the storage account's tables)"
    )
    raise BadURL(msg)


def _refuse_windows() -> None:
    """SQLite files are shared by locks of `fcntl`, by which workers also know who is alive."""
    if sys.platform == "win32":
        msg = (
            "a SQLite file can keep messages on Linux and macOS, not on Windows, which lacks the file locks for it; "
            "nothing was started. Use WSL 2 or a container, or keep messages in Redis, SQS or Azure"
        )
        raise ConfigurationError(msg)


@contextmanager
def _extra(scheme: str) -> Iterator[None]:
    """Import within it what needs the scheme's extra. Raises `MissingExtra`, also where its packages do not fit."""
    extra = _EXTRAS[scheme]
    command = f"pip install 'tenure[{extra}]'"
    if not all(map(_is_there, _MODULES[extra])):
        raise MissingExtra(f"{scheme}:// needs an extra: {command}; nothing was started")
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "tenure":
            raise  # a mistake of our own
        msg = (
            f"{scheme}:// needs packages that fit each other, and those installed here do not ({error}); nothing was "
            f"started. {command}, in one command with what else needs them (such as boto3), finds some that do"
        )
        raise MissingExtra(msg) from error


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _sqlite(url: str, parts: SplitResult) -> tuple[str, list[tuple[str, str]]]:
    """`sqlite:///relative.db` or `sqlite:////absolute.db`, with `?synchronous=normal` and the like."""
    path = unquote(parts.path[1:])
    # urlsplit takes `sqlite:jobs.db` too, and would have us drop a letter.
    if not url.lower().startswith("sqlite:///") or parts.netloc or not path.strip("/"):
        msg = f"{url!r} names no file; write sqlite:///jobs.db (relative) or sqlite:////srv/jobs.db (absolute)"
        raise BadURL(msg)
    if path.startswith("~"):
        msg = f"{url!r}: ~ is not expanded in a URL; write sqlite:////home/… (absolute)"
        raise BadURL(msg)
    return path, parse_qsl(parts.query, keep_blank_values=True)
