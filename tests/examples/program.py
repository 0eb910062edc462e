"""An example, copied into an empty folder and run there as a process of its own, ended by pid whatever happens."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import httpx

from tenure.clock import SYSTEM_CLOCK

T = TypeVar("T")

EXAMPLES = Path(__file__).parents[2] / "examples"

#: For one look of many at something that another process does; a test fails when it is over.
PATIENCE_SECONDS = 60.0


def environment() -> dict[str, str]:
    """Ours, without settings that would change what an example does."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "PYTHON"))}


def run(name: str, folder: Path) -> list[str]:
    """Run an example to its end, which must be a good one; the lines it printed."""
    ended = _run(name, folder)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr  # warnings of retries and dead letters may be there
    return ended.stdout.splitlines()


def refused(name: str, folder: Path) -> list[str]:
    """Run an example that cannot do what it is for; the lines in which it says so."""
    ended = _run(name, folder)
    assert ended.returncode == 1, ended.stdout
    return ended.stderr.splitlines()


def _run(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    shutil.copy(EXAMPLES / name, folder)
    return subprocess.run(
        [sys.executable, name], cwd=folder, env=environment(), capture_output=True, text=True,
        timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip


@contextlib.contextmanager
def running(command: Sequence[str], folder: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process while the block lasts; ended by SIGTERM, as a supervisor does. What it says goes to `log_of`."""
    with log_of(command, folder).open("w") as log, subprocess.Popen(
        [sys.executable, *command], cwd=folder, env=environment() | more, stdout=log, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            yield process
            process.terminate()
            process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()


def log_of(command: Sequence[str], folder: Path) -> Path:
    """Where a process that is `running` says what it has to say."""
    return folder / f"{command[-1].replace(':', '-')}.log"


def free_port() -> int:
    """One that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def client_of(process: subprocess.Popen[bytes], port: int) -> httpx.Client:
    """A client, once the server answers."""
    until = SYSTEM_CLOCK.monotonic() + PATIENCE_SECONDS
    while SYSTEM_CLOCK.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10):
            return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS, trust_env=False)
        time.sleep(0.02)
    msg = "the server does not answer; its log is in the test's folder"
    raise AssertionError(msg)


def poll(client: httpx.Client, path: str, state: str) -> dict[str, object]:
    """The answer at `path` once it tells that state."""
    until = SYSTEM_CLOCK.monotonic() + PATIENCE_SECONDS
    while (answer := client.get(path).json())["state"] != state and SYSTEM_CLOCK.monotonic() < until:
        time.sleep(0.02)
    assert answer["state"] == state, answer
    found: dict[str, object] = answer
    return found


def waited_for(look: Callable[[], T]) -> T:
    """What `look` finds, once that is something."""
    until = SYSTEM_CLOCK.monotonic() + PATIENCE_SECONDS
    while not (found := look()) and SYSTEM_CLOCK.monotonic() < until:
        time.sleep(0.05)
    assert found
    return found
