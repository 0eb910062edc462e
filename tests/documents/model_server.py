"""An endpoint that speaks OpenAI's API, on this machine: it embeds, follows a script, and fails to order."""

import array
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from .embedders import vector


class Failure(NamedTuple):
    """What it answers instead."""

    status: int
    body: bytes = b'{"error": {"message": "no"}}'
    headers: tuple[tuple[str, str], ...] = ()


class ModelServer:
    """The endpoint."""

    def __init__(self) -> None:
        #: Calls so far, each with its path, body and headers.
        self.calls: list[tuple[str, Any, dict[str, str]]] = []
        #: Answered first, one call each.
        self.failures: list[Failure] = []
        #: The next turns of the model; a callable is given the body.
        self.replies: list[dict[str, Any] | Callable[[Any], dict[str, Any]]] = []
        #: A call whose body has this text waits until `let_go` is set; `holds` is set meanwhile.
        self.hold_on = ""
        self.holds = threading.Event()
        self.let_go = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """By which a library finds it."""
        return {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": self.url}

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.let_go.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, body: Any) -> tuple[int, bytes, tuple[tuple[str, str], ...]]:
        if self.failures:
            return self.failures.pop(0)
        if self.hold_on and self.hold_on in json.dumps(body):
            self.holds.set()
            self.let_go.wait(60)
        if path.endswith("/embeddings"):
            answer = _embedded(body["input"])
        else:
            reply = self.replies.pop(0) if self.replies else {"content": "That is all."}
            answer = _said(reply(body) if callable(reply) else reply)
        return 200, json.dumps(answer).encode(), ()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.calls.append((self.path, body, dict(self.headers)))
                status, raw, headers = server.answer(self.path, body)
                try:
                    self.send_response(status)
                    for name, value in (*headers, ("Content-Length", str(len(raw)))):
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(raw)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the caller was killed, or has waited long enough

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's
                """Say nothing."""

        return Handler


def _embedded(texts: list[str]) -> dict[str, Any]:
    rows = [{"index": at, "embedding": list(array.array("f", vector(text)))} for at, text in enumerate(texts)]
    return {"data": rows[::-1], "model": "words"}  # the index says which is which


def _said(reply: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.get("content")}
    if "calls" in reply:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id, name, arguments in reply["calls"]
        ]
    return {"choices": [{"message": message}], "usage": {"total_tokens": reply.get("tokens", 10)}}


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Start one, and stop it."""
    server = ModelServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()
