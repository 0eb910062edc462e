"""The commands of the systemd units, run as systemd runs them: its socket, its watchdog, its variables, its signals.

What systemd itself does (rights, restarts) is not run here; `test_systemd.py` has its own checks of the units.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.cli.process import SOON, Tenure

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]
_UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
_JOBS = '''
import asyncio
import os

from tenure import Tenure

app = Tenure()


@app.task
async def wait() -> str:
    """The first run waits to be killed."""
    if not os.path.exists("seen"):
        open("seen", "w").close()
        await asyncio.sleep(3600)
    return "done"
'''


class Manager:
    """The part of systemd that starts the process of a unit, and listens to it."""

    def __init__(self, folder: Path, name: str, instance: str) -> None:
        self.folder = folder
        text = (_UNITS / name).read_text("utf-8")
        specifiers = {"%i": instance, "%m": "0a1b", "%n": name.replace("@", f"@{instance}"), "%S": str(folder)}
        for sign, value in specifiers.items():
            text = text.replace(sign, value)
        self._command = [sys.executable, "-m", "tenure", *self._one(text, "ExecStart").split()[1:]]
        self._environment = dict(one.split("=", 1) for one in re.findall(r"(?m)^Environment=(.+)$", text))
        self._watchdog = int(self._one(text, "WatchdogSec"))
        self.stop_seconds = int(self._one(text, "TimeoutStopSec"))
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(folder / "notify"))
        self._socket.settimeout(SOON)
        self._started: list[subprocess.Popen[str]] = []

    @staticmethod
    def _one(text: str, key: str) -> str:
        (found,) = re.findall(rf"(?m)^{key}=(.+)$", text)
        return str(found)

    @property
    def environment(self) -> Mapping[str, str]:
        """What the process gets, the file of /etc/tenure included."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        given = {"TENURE_URL": f"sqlite:///{self.folder / 'jobs.db'}", "TENURE_SERVER_PORT": "0"}
        return {**own, **given, **self._environment}

    def start(self) -> Tenure:
        """Start it, and wait for READY=1."""
        notify = {"NOTIFY_SOCKET": str(self.folder / "notify"), "WATCHDOG_USEC": str(self._watchdog * 1_000_000)}
        process = subprocess.Popen(
            self._command, cwd=self.folder, env={**self.environment, **notify},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._started.append(process)
        self.hears("READY=1")
        return Tenure(process)

    def hears(self, word: str) -> None:
        """Wait until the process says it."""
        while word not in self._socket.recv(65_536).decode().splitlines():
            pass

    def tenure(self, *words: str) -> str:
        """A command with the settings of the unit."""
        environment = {name: value for name, value in self.environment.items() if name != "TENURE_SLOT"}
        done = subprocess.run(
            [sys.executable, "-m", "tenure", *words], cwd=self.folder, env=environment, check=True,
            capture_output=True, text=True, timeout=SOON,
        )  # fmt: skip
        return done.stdout

    def close(self) -> None:
        """End everything."""
        for process in self._started:
            process.kill()
            process.communicate()
        self._socket.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.py").write_text(_JOBS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def worker(folder: Path) -> Iterator[Manager]:
    one = Manager(folder, "tenure-worker@.service", "acme")
    yield one
    one.close()


@pytest.fixture
def server(folder: Path) -> Iterator[Manager]:
    one = Manager(folder, "tenure-server.service", "")
    yield one
    one.close()


def test_a_worker_that_was_killed_and_started_again_has_its_message_back(worker: Manager) -> None:
    """The next process of the unit has its slot, so the message need not wait for the end of its lease."""
    first = worker.start()
    worker.hears("WATCHDOG=1")
    id = worker.tenure("submit", "jobs:app", "wait").split()[0]
    first.says("")  # it has begun to log
    while json.loads(worker.tenure("show", "jobs:app", id, "--json"))["state"] != "leased":
        pass
    first.send(signal.SIGKILL)
    first.process.wait()
    second = worker.start()
    while (record := json.loads(worker.tenure("show", "jobs:app", id, "--json")))["state"] != "completed":
        pass
    assert (record["queue"], record["result"], record["counters"]["crashes"]) == ("acme-tasks", "done", 1)
    (member,) = [
        one for one in json.loads(worker.tenure("workers", "jobs:app", "--json"))["workers"] if one["slot"] is not None
    ]
    assert member["slot"] == "0a1b/tenure-worker@acme.service"
    second.send(signal.SIGTERM)
    worker.hears("STOPPING=1")
    assert second.ends(worker.stop_seconds) == 0
    # One JSON object a line, for whatever ships the journal.
    assert all(json.loads(line)["message"] for line in second.lines)


def test_a_server_is_ready_lives_and_stops(server: Manager) -> None:
    process = server.start()
    server.hears("WATCHDOG=1")
    process.send(signal.SIGTERM)
    server.hears("STOPPING=1")
    assert process.ends(server.stop_seconds) == 0
