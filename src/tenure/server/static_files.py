"""The dashboard: its files, as `make dashboard` built them, and its page for every path that people may open.

`GET /leases` and `GET /queues/mail` answer the same `index.html`: the page reads its own address. Two things are put
into it: the path below which the server is found, and what the page must know before its first request. There is no
script in the page itself, so the content security policy stays strict.

File names carry no hashes. Browsers keep files and ask each time whether they are still the same (ETag); an update of
the server is seen with the next load. Called by `application.py`; nothing here asks the store.
"""

import asyncio
import gzip
import html
import mimetypes
from collections.abc import Mapping, Sequence
from importlib.resources import files

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tenure.server.encode import has_tag, tag_of, takes_gzip

#: The first segment of every path that the page knows (`dashboard/src/router.tsx`).
PAGES = frozenset({
    "", "queues", "leases", "messages", "dead", "workers", "schedules", "webhooks", "clients", "findings", "events",
    "groups", "system",
})  # fmt: skip
_DEEPEST = {"queues": 2, "messages": 2, "clients": 2, "groups": 2}
_ASSETS = "assets"
_PLACE_OF_CONFIG = b'name="tenure-config" content="{}"'
#: Smaller ones gain nothing.
_LEAST_COMPRESSED = 1_024
_HEADERS = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding"}


class PageConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The data that the page needs before its first request. It is public: the page comes before the login."""

    #: The path below which the server is found, as in `/tenure`; empty: at the root.
    base: str


class _File(msgspec.Struct, frozen=True):
    body: bytes
    compressed: bytes | None
    tag: str
    media_type: str


class StaticFiles:
    """The files of the dashboard."""

    def __init__(self) -> None:
        """Serve the dashboard's files; they are read for the first browser."""
        self._files: Mapping[str, _File] | None = None
        self._pages: dict[str, _File] = {}
        self._reading = asyncio.Lock()

    def has(self, method: str, segments: Sequence[str]) -> bool:
        """Whether a path is one of the dashboard's."""
        if method not in ("GET", "HEAD"):
            return False
        first = segments[0]
        if len(segments) == 1 and ("." in first and first not in (".", "..")):
            return True
        if first == _ASSETS:
            return len(segments) == 2  # noqa: PLR2004 - there are no folders in it
        return first in PAGES and len(segments) <= _DEEPEST.get(first, 1)

    async def respond(self, request: Request, segments: Sequence[str]) -> Response:
        """The file or the page. 404: there is no such file."""
        all_files = await self._all()
        name = "/".join(segments)
        file = all_files.get(name) if name != "index.html" else None
        if file is None and (segments[0] == _ASSETS or (len(segments) == 1 and "." in segments[0])):
            return Response("there is no such file\n", 404, media_type="text/plain")
        if file is None:
            file = self._page(request, all_files)
        headers = {**_HEADERS, "ETag": file.tag}
        if has_tag(request.headers.get("if-none-match", ""), file.tag):
            return Response(None, 304, headers)
        if file.compressed is not None and takes_gzip(request):
            return Response(file.compressed, 200, {**headers, "Content-Encoding": "gzip"}, file.media_type)
        return Response(file.body, 200, headers, file.media_type)

    def _page(self, request: Request, all_files: Mapping[str, _File]) -> _File:
        base = base_of(request)
        known = self._pages.get(base)
        if known is None:
            if len(self._pages) > 16:  # noqa: PLR2004 - a server is found below one path, or a few
                self._pages.clear()
            known = self._pages[base] = _file("index.html", _filled(all_files["index.html"].body, base))
        return known

    async def _all(self) -> Mapping[str, _File]:
        if self._files is None:
            async with self._reading:
                if self._files is None:
                    self._files = await asyncio.to_thread(_read)
        return self._files


def base_of(request: Request) -> str:
    """Return the path under which browsers find this server: the mount, or the path that a proxy takes away."""
    base = request.scope.get("tenure.base_path") or request.scope.get("root_path", "")
    return str(base).rstrip("/")


def _filled(page: bytes, base: str) -> bytes:
    config = html.escape(msgspec.json.encode(PageConfig(base=base)).decode(), quote=True)
    prefix = html.escape(base, quote=True).encode()
    filled = page.replace(_PLACE_OF_CONFIG, f'name="tenure-config" content="{config}"'.encode())
    # The page is served at many depths: its files are named from the root.
    return filled.replace(b'="./', b'="' + prefix + b"/")


def _read() -> Mapping[str, _File]:
    root = files("tenure.server") / "static"
    found: dict[str, _File] = {}
    for folder, prefix in ((root, ""), (root / _ASSETS, f"{_ASSETS}/")):
        for one in folder.iterdir():
            if one.is_file():
                found[prefix + one.name] = _file(one.name, one.read_bytes())
    return found


def _file(name: str, body: bytes) -> _File:
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    if name.endswith(".js"):
        media_type = "text/javascript"
    compressed = gzip.compress(body, 9, mtime=0) if len(body) >= _LEAST_COMPRESSED else None
    tag = tag_of(body)
    return _File(body, compressed if compressed is not None and len(compressed) < len(body) else None, tag, media_type)
