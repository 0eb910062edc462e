"""Real servers for tests: `tenure serve` and uvicorn, as processes on free loopback ports."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

import httpx
from tests.cli.process import SOON, Tenure, started

from tenure.clock import SYSTEM_CLOCK


@contextlib.contextmanager
def served(*words: str, **environment: str) -> Iterator[tuple[Tenure, httpx.Client]]:
    """`tenure serve …` on a free port, and a client of it. Ended at the latest when the block is left."""
    with started("serve", *words, "--port", "0", **environment) as process:
        assert process.process.stdout is not None
        line = process.process.stdout.readline()
        assert " at http://" in line, "".join(process.lines)
        url = line.split(" at ")[1].split()[0]
        with httpx.Client(base_url=url, timeout=SOON, trust_env=False) as client:
            yield process, client


@contextlib.contextmanager
def connected(client: httpx.Client) -> Iterator[socket.socket]:
    """A bare connection to the same server."""
    url = client.base_url
    with socket.create_connection((url.host, url.port or 80), timeout=SOON) as connection:
        yield connection


def answer_of(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            found += part
    return found


def until(condition: Callable[[], bool], seconds: float = SOON) -> None:
    """Wait until it is so."""
    end = SYSTEM_CLOCK.monotonic() + seconds
    while not condition():
        assert SYSTEM_CLOCK.monotonic() < end
        time.sleep(0.05)
