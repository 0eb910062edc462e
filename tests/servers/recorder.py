"""A web server on a loopback port that keeps every request, and answers as the test says."""

import contextlib
import gzip
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Request(NamedTuple):
    """One request; its body unpacked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Reply(NamedTuple):
    """One answer."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"


class Recorder:
    """The server, from `recording`."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.requests: list[Request] = []
        self._grown = threading.Condition()
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                if headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                request = Request(self.command, self.path, headers, body)
                reply = answer(request)
                recorder.note(request)
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            do_GET = do_PUT = do_POST = do_PATCH = handle_any  # noqa: N815 - http.server's names

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def note(self, request: Request) -> None:
        """Keep a request."""
        with self._grown:
            self.requests.append(request)
            self._grown.notify_all()

    def wait(self, wanted: Callable[[list[Request]], bool], seconds: float = 60.0) -> list[Request]:
        """Return the requests once they are as wanted."""
        with self._grown:
            assert self._grown.wait_for(lambda: wanted(self.requests), seconds), self.requests
            return list(self.requests)

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextlib.contextmanager
def recording(answer: Callable[[Request], Reply] = lambda _: Reply()) -> Iterator[Recorder]:
    """A server for the time of the block."""
    recorder = Recorder(answer)
    try:
        yield recorder
    finally:
        recorder.close()
