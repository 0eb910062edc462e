"""A way to a server that can be cut, held up, or lose the answers: a small TCP proxy on a loopback port.

    pass_on        as if it were not there; how it starts
    cut            every connection ends now, and none is taken until `pass_on`
    drop_replies   what is asked reaches the server; what it answers reaches nobody
    hold           nothing moves in either direction, no connection ends; `pass_on` lets go of what has come

It has threads of its own, so a test may do what it likes meanwhile.
"""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Self

_PIECE = 65_536
_SOON = 60.0


class Proxy:
    """Between clients, who connect to `port`, and the server on another port."""

    def __init__(self, server_port: int) -> None:
        """Start it."""
        self._server_port = server_port
        self._door = socket.create_server(("127.0.0.1", 0))
        #: Where clients connect to.
        self.port: int = self._door.getsockname()[1]
        self._moves = threading.Event()
        self._moves.set()
        self._answers = True
        self._takes = True
        self._is_over = False
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._start(self._listen)

    def pass_on(self) -> None:
        """Let everything through."""
        self._takes = self._answers = True
        self._moves.set()

    def cut(self) -> None:
        """End every connection, and take none."""
        with self._lock:
            self._takes = False
            for one in self._open:
                _hang_up(one)
        self._answers = True
        self._moves.set()

    def drop_replies(self) -> None:
        """Swallow what the server answers. Those that wait for it are helped by `cut`, or by their patience."""
        self._takes, self._answers = True, False
        self._moves.set()

    def hold(self) -> None:
        """Keep what comes, in both directions."""
        self._takes = self._answers = True
        self._moves.clear()

    def stop(self) -> None:
        """End it, and every connection through it."""
        self._is_over = True
        self.cut()
        with contextlib.suppress(OSError):  # wakes whoever listens; it may have ended
            socket.create_connection(("127.0.0.1", self.port), _SOON).close()
        for thread in self._threads:
            thread.join(_SOON)

    def __enter__(self) -> Self:
        """Itself, started."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def _start(self, run: Callable[..., None], *words: object) -> None:
        thread = threading.Thread(target=run, args=words, name="proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _listen(self) -> None:
        with self._door:
            while not self._is_over:
                client, _ = self._door.accept()
                if not self._take(client):
                    client.close()

    def _take(self, client: socket.socket) -> bool:
        try:
            server = socket.create_connection(("127.0.0.1", self._server_port), _SOON)
        except OSError:
            return False  # the server is away, and so is the client's connection
        server.settimeout(None)
        with self._lock:
            if not self._takes:
                server.close()
                return False
            self._open |= {client, server}
        self._start(self._serve, client, server)
        return True

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        """Both directions, until one side hangs up."""
        back = threading.Thread(target=self._pump, args=(server, client, True), name="proxy", daemon=True)
        back.start()
        self._pump(client, server, False)
        back.join()
        with self._lock:
            self._open -= {client, server}
            client.close()
            server.close()

    def _pump(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):  # one side hung up; the other is told
            while piece := source.recv(_PIECE):
                self._moves.wait()
                if self._answers or not is_answer:
                    target.sendall(piece)
        _hang_up(source)
        _hang_up(target)


def _hang_up(one: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it was over already
        one.shutdown(socket.SHUT_RDWR)
