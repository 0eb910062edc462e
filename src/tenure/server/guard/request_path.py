"""The path of a request inside this application, wherever it is mounted."""

from urllib.parse import quote, unquote

from starlette.types import Scope

_BASE = "tenure.base_path"
#: For probes: no token, no host, nothing secret in the answer.
PROBES = ("livez", "readyz")


def set_base_path(scope: Scope, base_path: str) -> None:
    """Note under which path browsers find this application behind a proxy."""
    scope[_BASE] = base_path


def segments_of(scope: Scope) -> list[str]:
    """The segments of the path below the mount, as they were sent: with their percent-encoding."""
    raw = scope.get("raw_path")
    path = raw.decode("latin-1") if raw else quote(scope["path"])
    for prefix in (scope.get("root_path", ""), scope.get(_BASE, "")):
        path = _without(path, prefix.rstrip("/"))
    return path.removeprefix("/").split("/")


def prefix_of(scope: Scope) -> str:
    """The path under which clients find this application; empty: at the root."""
    prefix: str = scope.get(_BASE, "") or scope.get("root_path", "")
    return prefix.rstrip("/")


def is_probe(scope: Scope) -> bool:
    """Whether a container manager asks for our health."""
    segments = segments_of(scope)
    return len(segments) == 1 and segments[0] in PROBES


def _without(path: str, prefix: str) -> str:
    """The path after a prefix. Some proxies and frameworks have removed it already."""
    if not prefix:
        return path
    parts = path.split("/")
    depth = prefix.count("/") + 1
    if unquote("/".join(parts[:depth])) != prefix:
        return path
    return "/" + "/".join(parts[depth:])
