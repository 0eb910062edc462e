"""The commands of Compose, Kubernetes and ECS, run against a real Valkey with the options of the Compose file."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from tests.cli.process import SOON
from tests.servers import RedisServer
from tests.servers.server import free_port

from tenure.clock import SYSTEM_CLOCK

from .deployed import DEPLOY, Deployed, compose, ecs, kubernetes, run, running

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]
Read = Callable[[str, str], Deployed]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    words = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text("utf-8"))["services"]["store"]["command"][1:]
    lines = [f"{option.removeprefix('--')} {value}" for option, value in zip(words[::2], words[1::2], strict=True)]
    store = RedisServer("valkey9", tmp_path_factory.mktemp("store"), free_port(), ["bind 127.0.0.1", *lines])
    store.start()
    yield store.url
    store.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the image has in its working directory."""
    (tmp_path / "jobs.py").write_bytes((DEPLOY / "docker" / "jobs.py").read_bytes())
    return tmp_path


def _until(check: Callable[[], bool]) -> None:
    until = SYSTEM_CLOCK.monotonic() + SOON
    while not check():
        assert SYSTEM_CLOCK.monotonic() < until
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("read", "slot"),
    [(compose, "3f2a9c"), (kubernetes, "7b1e-uid/worker"), (ecs, "")],
    ids=["compose", "kubernetes", "ecs"],
)
def test_a_worker_works_is_healthy_and_stops_in_time(url: str, folder: Path, read: Read, slot: str) -> None:
    worker = read("worker", url)
    assert worker.checks
    # A process that has not started, or is gone, is not healthy: nothing else runs in this container.
    check = worker.checks[0]
    with running(worker, folder) as process:
        _until(lambda: run(worker, folder, *check).returncode == 0)
        told = run(
            worker, folder, "tenure", "submit", "jobs:app", "square", '{"number": 12}', "--wait", "60s", "--json"
        )
        assert json.loads(told.stdout)["result"] == 144, told.stderr
        members = json.loads(run(worker, folder, "tenure", "workers", "jobs:app", "--json").stdout)["workers"]
        assert slot in {one["slot"] or "" for one in members}
        began = SYSTEM_CLOCK.monotonic()
        process.send(signal.SIGTERM)
        assert process.ends(worker.stop_seconds) == 0
        assert SYSTEM_CLOCK.monotonic() - began < worker.stop_seconds
    gone = run(worker, folder, *check)
    assert (gone.returncode, gone.stdout.partition(":")[0]) == (1, "unhealthy")


@pytest.mark.parametrize("read", [compose, kubernetes, ecs], ids=["compose", "kubernetes", "ecs"])
def test_a_server_answers_its_checks_and_stops_in_time(url: str, folder: Path, read: Read) -> None:
    port = free_port()
    server = read("server", url)
    server = server._replace(environment={**server.environment, "TENURE_SERVER_PORT": str(port)})
    token = run(
        server, folder, "tenure", "token", "create", "jobs:app", f"keda-{port}", "--scope", "read"
    ).stdout.strip()
    checks = [[word.replace("8383", str(port)) for word in check] for check in server.checks]
    assert checks or server.paths
    with running(server, folder) as process:
        for check in checks:
            _until(lambda: run(server, folder, *check).returncode == 0)  # noqa: B023 - it is called at once
        for path in server.paths:
            _until(lambda: _status(port, path) == 200)  # noqa: B023 - likewise
        assert _status(port, "/api/v1/queues") == 401
        assert _keda_reads(port, token) == 0
        if server.before_stop:
            assert run(server, folder, *server.before_stop).returncode == 0
        process.send(signal.SIGTERM)
        assert process.ends(server.stop_seconds) == 0
    assert all(run(server, folder, *check).returncode for check in checks)


def _keda_reads(port: int, token: str) -> object:
    """What KEDA's metrics-api trigger makes of the answer, by the fields of keda.yaml."""
    documents = yaml.safe_load_all((DEPLOY / "kubernetes" / "keda.yaml").read_text("utf-8"))
    (trigger,) = next(one for one in documents if one["kind"] == "ScaledObject")["spec"]["triggers"]
    asked = trigger["metadata"]
    assert (trigger["type"], asked["authMode"]) == ("metrics-api", "bearer")
    path = asked["url"].removeprefix("http://tenure-server:8383")
    headers = {"Authorization": f"Bearer {token}"}
    found = httpx.get(f"http://127.0.0.1:{port}{path}", headers=headers, trust_env=False).json()
    for word in asked["valueLocation"].split("."):
        found = found[int(word)] if word.isdecimal() else found[word]
    return found


def _status(port: int, path: str) -> int:
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False).status_code
    except httpx.TransportError:
        return 0
