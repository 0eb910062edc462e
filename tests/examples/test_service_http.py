"""The example service over HTTP: who may do what, endings once, and tasks that wait while they cannot be submitted."""

import json
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from .program import EXAMPLES, PATIENCE_SECONDS, environment
from .service_run import Service, service_in
from .test_webhook_receivers import post_ending

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("service"), SERVICE_PACE="0.01") as running:
        yield running


@contextmanager
def _client(service: Service, client: str) -> Iterator[httpx.Client]:
    """Signed in, as a browser is."""
    with httpx.Client(base_url=service.address, timeout=PATIENCE_SECONDS, trust_env=False) as http:
        assert http.post("/session", json={"key": service.key(client)}).json() == {"client": client}
        yield http


def _ended(http: httpx.Client, client: str, id: str) -> dict[str, object]:
    """The task as its stream tells it, once it has ended."""
    with http.stream("GET", f"/c/{client}/events") as stream:
        for line in stream.iter_lines():
            for row in json.loads(line[6:]) if line.startswith("data: ") else ():
                if row["task_id"] == id and row.get("ended_at"):
                    return dict(row)
    msg = "the stream ended before the task did"
    raise AssertionError(msg)


def test_a_client_sees_and_does_nothing_of_another(service: Service) -> None:
    with _client(service, "southhaven") as ours, _client(service, "demo") as theirs:
        answer = ours.post("/c/southhaven/tasks", json={"task_type": "ingest", "filename": "harbour-rules.md"})
        assert answer.status_code == 202
        id = answer.json()["task_id"]
        assert _ended(ours, "southhaven", id)["result"] == {
            "filename": "harbour-rules.md", "document_set": "southhaven", "passages": 6,
        }  # fmt: skip
        for path in ("tasks", "documents", "events"):
            assert theirs.get(f"/c/southhaven/{path}").status_code == 401
        assert theirs.post(f"/c/southhaven/tasks/{id}/cancel").status_code == 401
        assert theirs.post(f"/c/demo/tasks/{id}/cancel").status_code == 404
        assert theirs.get("/c/demo/tasks").json() == []
        # Not even with the cookie of one and the path of another.
        theirs.cookies.set("session", service.key("demo"), path="/c/southhaven")
        assert theirs.get("/c/southhaven/tasks").status_code == 401
        # A worker reads the documents of its own client, whatever the payload says.
        sent = theirs.post("/c/demo/tasks", json={"task_type": "ingest", "filename": "harbour-rules.md"}).json()
        assert _ended(theirs, "demo", sent["task_id"])["error"] == "there is no document harbour-rules.md"
        escape = {"task_type": "summarize", "filename": "../southhaven/harbour-rules.md"}
        sent = theirs.post("/c/demo/tasks", json=escape).json()
        assert _ended(theirs, "demo", sent["task_id"])["status"] == "failed"


@pytest.mark.parametrize("key", ["", "wrong", "südhafen"])
def test_without_a_key_nothing_is_shown(service: Service, key: str) -> None:
    with httpx.Client(base_url=service.address, timeout=PATIENCE_SECONDS, trust_env=False) as http:
        assert http.post("/session", json={"key": key}).status_code == 401
        assert http.get("/c/southhaven/tasks").status_code == 401
        assert http.get("/c/nobody/tasks").status_code == 401
        assert "Sign in" in http.get("/c/southhaven").text


def test_what_cannot_be_a_task_is_refused(service: Service) -> None:
    with _client(service, "demo") as http:
        for wrong in ({}, {"task_type": "inject", "filename": "a"}, {"task_type": "agent", "question": " "}):
            assert http.post("/c/demo/tasks", json=wrong).status_code == 422
        assert http.put("/c/demo/documents/a%2Fb.md", content=b"x").status_code in (404, 422)
        assert http.put("/c/demo/documents/.hidden", content=b"x").status_code == 422
        assert http.put("/c/demo/documents/large.md", content=b"x" * 300_000).status_code == 413


def test_endings_are_believed_if_they_are_signed_and_saved_once(service: Service) -> None:
    with _client(service, "demo") as http:
        id = http.post("/c/demo/tasks", json={"task_type": "ingest", "filename": "espresso-machine.md"}).json()[
            "task_id"
        ]
        assert _ended(http, "demo", id)["status"] == "completed"
        mine = service.secret()
        assert http.post("/internal/notify", content=b"{}").status_code == 401
        assert post_ending(http, "whsec_" + "00" * 16, "whd_0", task_id=id, status="failed", generation=1) == 401
        assert post_ending(http, mine, "whd_1", task_id=id, status="failed", error="first", generation=1) == 204
        assert post_ending(http, mine, "whd_1", task_id=id, status="failed", error="repeated", generation=1) == 204
        assert post_ending(http, mine, "whd_2", task_id=id, status="completed", generation=0) == 204  # late
        assert post_ending(http, mine, "whd_3", task_id="of another service", status="completed") == 204
        row = next(one for one in http.get("/c/demo/tasks").json() if one["task_id"] == id)
        assert (row["status"], row["error"]) == ("failed", "first")


def test_a_task_that_was_written_down_and_not_submitted_is_submitted_later(service: Service) -> None:
    """As after a crash between the two, or while the store was away."""
    with closing(sqlite3.connect(service.folder / "frontend.db")) as db, db:
        db.execute(
            "INSERT INTO task (task_id, client, task_type, payload) VALUES (?, ?, ?, ?)",
            ("t-9", "demo", "summarize", '{"filename": "espresso-machine.md"}'),
        )
    with _client(service, "demo") as http:
        assert _ended(http, "demo", "t-9")["status"] == "completed"


def test_the_keys_are_kept_for_their_owner_alone(service: Service) -> None:
    assert stat.S_IMODE((service.folder / "secrets.env").stat().st_mode) == 0o600


def test_a_port_that_is_taken_is_said_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        code, said = _start(tmp_path, PORT=str(other.getsockname()[1]))
    assert code == 1
    assert said.startswith("another program has port ")


def test_a_store_with_a_typo_is_said_and_nothing_is_left_running(tmp_path: Path) -> None:
    code, said = _start(tmp_path, TENURE_URL="sqlte:///jobs.db")
    assert code == 1
    assert "did you mean sqlite:///jobs.db?" in said
    assert "Stopped." in said


def _start(folder: Path, **more: str) -> tuple[int, str]:
    """Start a service that cannot start; its exit code, and what it said."""
    own = {"PORT": "0", "SERVICE_FOLDER": str(folder), "PYTHONUNBUFFERED": "1", **more}
    done = subprocess.run(
        [sys.executable, "-m", "service"], cwd=EXAMPLES, env=environment() | own, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    return done.returncode, done.stdout
