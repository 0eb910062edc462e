"""The composition root: from a URL to a broker and its state.

The only importer of adapters, and only of the one that is asked for. Brokers of others are found by the
entry point group `tenure.brokers`: a function `connect(url, clock=…)` that returns `(broker, state)`.
"""

import importlib.util
import re
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BadURL, MissingExtra
from tenure.state import State

Backend = tuple[Broker, State]

_KNOWN = "sqlite:///file.db, redis://host:6379/0, memory://name"
#: Schemes whose adapter needs an extra: the extra, and a module that only it brings.
_EXTRAS = {
    "redis": ("redis", "redis"), "rediss": ("redis", "redis"), "redis+sentinel": ("redis", "redis"),
    "redis+cluster": ("redis", "redis"), "sqs": ("aws", "aiobotocore"), "azure": ("azure", "azure.storage.queue"),
}  # fmt: skip
#: A password, also one with a `/` or `@` that should have been quoted, and in options.
_SECRETS = re.compile(r"(://[^/?#:@]*:).*(?=@)|(password=)[^&#]*", re.IGNORECASE)


def connect(url: str, *, clock: Clock, must_exist: bool = False) -> Backend:
    """Broker and state for `url`, not yet open. `must_exist`: opening creates nothing, where that can be."""
    shown = safe_url(url)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        msg = f"{shown!r} is no URL ({error}); use one of: {_KNOWN}"
        raise BadURL(msg) from error
    match parts.scheme:
        case "sqlite":
            from tenure.adapters import sqlite

            path, query = _sqlite(url, parts)
            options = sqlite.read_options(url, query)
            return sqlite.connect(path, clock=clock, must_exist=must_exist, **options)
        case "memory":
            from tenure.adapters import memory

            return memory.connect(parts.netloc + parts.path, clock=clock)
        case "redis" | "rediss" | "redis+sentinel" | "redis+cluster" if _is_there("redis"):
            from tenure.adapters import redis

            return redis.connect(redis.read_options(shown, parts), clock=clock, must_exist=must_exist)
        case scheme if scheme in _EXTRAS:
            raise _not_here(scheme)
    from importlib.metadata import entry_points  # slow, and rarely needed

    for entry in entry_points(group="tenure.brokers", name=parts.scheme):
        backend: Backend = entry.load()(url, clock=clock)
        return backend
    msg = f"{shown!r} names no broker Tenure knows; use one of: {_KNOWN}"
    raise BadURL(msg)


def safe_url(url: str) -> str:
    """The URL without its secrets, for errors, logs and screens."""
    return _SECRETS.sub(lambda found: f"{found[1] or found[2]}…", url)


def _not_here(scheme: str) -> Exception:
    extra, module = _EXTRAS[scheme]
    if not _is_there(module):
        return MissingExtra(f"{scheme}:// needs an extra: pip install 'tenure[{extra}]'; nothing was started")
    return BadURL(f"{scheme}:// is not served by this version of Tenure; use one of: {_KNOWN}")


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
        msg = f"{url!r}: nobody makes a home folder of ~ here; write sqlite:////home/… (absolute)"
        raise BadURL(msg)
    return path, parse_qsl(parts.query, keep_blank_values=True)
