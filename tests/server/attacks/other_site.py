"""Another site: it serves one empty page, and notes every request that comes to it. Also a proxy that says nothing.

As a gullible server it is the control of the browser attacks: what does not arrive here would prove nothing there.
"""

import contextlib
import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

_PAGE = b"<!doctype html><title>Another page</title><iframe name=sink></iframe>"


class _Site(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream: int | None, *, speaks_http_1_0: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.speaks_http_1_0 = speaks_http_1_0
        self.requests: list[tuple[str, str]] = []

    def handle_error(self, *_args: object) -> None:
        """The browser has left before the end of an answer."""

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    server: _Site
    protocol_version = "HTTP/1.1"
    #: Headers of a connection, not of a request.
    _OF_HOPS: ClassVar = {"host", "connection", "keep-alive", "transfer-encoding", "content-length"}

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, self.path))
        if self.server.upstream is None:
            self._answer(200, "text/html", b"" if self.command == "HEAD" else _PAGE)
        else:
            self._pass_on(self.server.upstream, body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = _handle  # noqa: N815 - http.server's names

    def _pass_on(self, upstream: int, body: bytes) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", upstream, timeout=10)
        if self.server.speaks_http_1_0:
            connection._http_vsn, connection._http_vsn_str = 10, "HTTP/1.0"  # type: ignore[attr-defined]
        headers = {name: value for name, value in self.headers.items() if name.lower() not in self._OF_HOPS}
        headers["Host"] = f"127.0.0.1:{upstream}"
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            self._answer(answer.status, answer.headers["Content-Type"], answer.read())

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *_args: object) -> None:  # noqa: A002 - its name
        """Nothing on standard error."""


@contextlib.contextmanager
def other_site(upstream: int | None = None, *, speaks_http_1_0: bool = False) -> Iterator[_Site]:
    """On a free port. `upstream`: be a proxy of the server on this port."""
    with _Site(upstream, speaks_http_1_0=speaks_http_1_0) as site:
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()
