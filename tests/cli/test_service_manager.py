"""`Type=notify`: what a service manager hears on its socket, from real processes."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.process import SOON, started

from tenure.cli.service_manager import ServiceManager

_JOBS = '''
import os
import subprocess
import sys
import time

from tenure import Tenure

app = Tenure(os.environ["JOBS_URL"])


@app.task
async def block() -> None:
    """Blocks the worker's loop, until the file is there."""
    while not os.path.exists(os.environ["JOBS_GO"]):
        time.sleep(0.01)


@app.task
async def environment() -> str:
    """The socket as a child of the handler sees it."""
    code = "import os; print(os.environ.get('NOTIFY_SOCKET'))"
    return subprocess.check_output([sys.executable, "-c", code], text=True).strip()
'''
#: A sign of life is wanted so often, in microseconds: each third of it comes one.
_PERIOD = "900000"


class Manager:
    """The end of the socket that systemd has."""

    def __init__(self, folder: Path) -> None:
        (folder / "jobs.py").write_text(_JOBS, encoding="utf-8")
        self.go = folder / "go"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(folder / "notify"))
        self._socket.settimeout(SOON)
        self.environment = {
            "NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": _PERIOD, "JOBS_GO": str(self.go),
            "JOBS_URL": f"sqlite:///{folder / 'jobs.db'}",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2] / "src"), str(folder)]),
        }  # fmt: skip

    def hears(self, word: str) -> dict[str, str]:
        """The next message that says it."""
        while True:
            told = dict(line.split("=", 1) for line in self._socket.recv(65_536).decode().splitlines())
            if word in told:
                return told

    def hears_nothing(self, seconds: float) -> bool:
        """Whether no sign of life comes for so long, once those that were sent are read."""
        self._socket.setblocking(False)
        while True:
            try:
                self._socket.recv(65_536)
            except BlockingIOError:
                break
        self._socket.settimeout(seconds)
        try:
            self._socket.recv(65_536)
        except TimeoutError:
            return True
        else:
            return False
        finally:
            self._socket.settimeout(SOON)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    one = Manager(tmp_path)
    yield one
    one.close()


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("worker", "jobs:app"), "runs 2 tasks of default-tasks with 10 slots"),
        (("worker", "jobs:app", "--processes", "2"), "runs 2 processes"),
        (("serve", "jobs:app", "--port", "0"), "serves sqlite:///"),
    ],
)
def test_a_manager_hears_the_start_the_life_and_the_stop(manager: Manager, words: tuple[str, ...], status: str) -> None:
    with started(*words, **manager.environment) as process:
        assert manager.hears("READY")["STATUS"].startswith(status)
        for _ in range(3):
            manager.hears("WATCHDOG")
        process.send(signal.SIGTERM)
        manager.hears("STOPPING")
        assert process.ends() == 0


def test_a_worker_that_hangs_gives_no_sign_of_life(manager: Manager) -> None:
    with started("worker", "jobs:app", **manager.environment) as worker:
        manager.hears("WATCHDOG")
        with started("submit", "jobs:app", "block", **manager.environment) as submit:
            submit.output()
        worker.says("event loop has not moved")
        assert manager.hears_nothing(1.0)
        manager.go.touch()
        manager.hears("WATCHDOG")


def test_children_of_a_handler_cannot_speak_for_the_worker(manager: Manager) -> None:
    with started("worker", "jobs:app", **manager.environment):
        manager.hears("READY")
        with started("submit", "jobs:app", "environment", "--wait", **manager.environment) as submit:
            assert "None" in submit.output()


def test_a_socket_that_is_gone_is_said_and_does_no_harm(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ServiceManager(str(tmp_path / "gone"), None).ready("runs")
    assert "the service manager was not told 'READY=1'" in caplog.text


def test_a_watchdog_of_another_process_is_not_ours() -> None:
    environment = {"NOTIFY_SOCKET": "@tenure", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
    assert ServiceManager.from_environment(environment).watchdog_seconds is None
    assert environment == {}
