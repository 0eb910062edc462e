"""The newsroom that is told when the site was built: a receiver of webhooks that believes only what is signed."""

import importlib.util
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tenure.webhooks import WebhookError, verify


class Receiver:
    """Where webhooks go, and which came."""

    def __init__(self) -> None:
        """Nothing came yet."""
        self.secret = "whsec_" + secrets.token_hex(16)
        self.url = ""
        #: By their id: a repeat changes nothing.
        self.endings: dict[str, Any] = {}


def can_deliver() -> bool:
    """Whether `tenure[webhooks]` is installed here: workers need it to call receivers."""
    return all(importlib.util.find_spec(name) for name in ("aiohttp", "cryptography"))


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver, while the block lasts."""
    receiver = Receiver()

    class Notify(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                hook = verify(body, dict(self.headers), receiver.secret)
            except WebhookError:
                self.send_response(401)
            else:
                receiver.endings[hook.id] = hook.body
                self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Notify) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}/internal/notify"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield receiver
        finally:
            server.shutdown()
