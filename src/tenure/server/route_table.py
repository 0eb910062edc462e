"""The table of routes: from a method and the segments of a path to a route and its parameters.

Paths are compared segment by segment, before percent-encoding is undone inside a segment: `/queues/shop%2Forders/pause`
names the queue `shop/orders`. A segment that is written out goes before a parameter. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote_to_bytes

from tenure.server.errors import MethodNotAllowed, RequestInvalid, RouteNotFound
from tenure.server.route import Route

#: What ends lines or texts elsewhere has no place in a name.
_LEAST_PRINTABLE = 0x20


class RouteTable:
    """Routes by their paths."""

    def __init__(self, routes: Iterable[Route]) -> None:
        """Raises `ValueError` where two routes are the same."""
        self.routes = tuple(routes)
        self._by_pattern: dict[tuple[str, ...], dict[str, Route]] = {}
        for route in self.routes:
            pattern = tuple(route.path.strip("/").split("/"))
            shape = tuple("{}" if _is_parameter(part) else part for part in pattern)
            methods = self._by_pattern.setdefault(shape, {})
            if route.method in methods:
                msg = f"two routes for {route.method} {route.path}"
                raise ValueError(msg)
            methods[route.method] = route
        #: By the number of segments, those with the most written out first.
        self._shapes: dict[int, list[tuple[str, ...]]] = {}
        for shape in sorted(self._by_pattern, key=lambda shape: [part == "{}" for part in shape]):
            self._shapes.setdefault(len(shape), []).append(shape)

    def find(self, method: str, raw: Sequence[str]) -> tuple[Route, Mapping[str, str]]:
        """The route and its parameters. Raises `RouteNotFound`, `MethodNotAllowed` or `RequestInvalid`.

        `raw`: the segments of the path, as they were sent.
        """
        segments = [_decoded(segment) for segment in raw]
        for shape in self._shapes.get(len(segments), ()):
            if all(part in ("{}", segment) for part, segment in zip(shape, segments, strict=True)) and all(segments):
                methods = self._by_pattern[shape]
                route = methods.get("GET" if method == "HEAD" else method)
                if route is None:
                    allowed = [*methods, *(["HEAD"] if "GET" in methods else [])]
                    msg = f"{_shown(method)} is not a method of this path; it has {', '.join(allowed)}"
                    raise MethodNotAllowed(msg, allowed)
                names = route.path.strip("/").split("/")
                pairs = zip(names, segments, strict=True)
                return route, {name[1:-1]: value for name, value in pairs if _is_parameter(name)}
        msg = "there is no such route; /api/v1/openapi.json lists them all"
        raise RouteNotFound(msg)


def _is_parameter(part: str) -> bool:
    return part.startswith("{") and part.endswith("}")


def _decoded(segment: str) -> str:
    try:
        text = unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        msg = "the path is not text in UTF-8"
        raise RequestInvalid(msg) from None
    if any(ord(character) < _LEAST_PRINTABLE for character in text):
        msg = "the path has control characters"
        raise RequestInvalid(msg)
    return text


def _shown(method: str) -> str:
    return method if method.isalpha() else repr(method)
