"""The programs of the page about FastAPI under a real server, and what no block of the page shows: the store away."""

from pathlib import Path

import pytest
from tests.examples.program import client_of, free_port, log_of, poll, running
from tests.servers import start_redis

from .markdown import ROOT, blocks_of

PAGE = ROOT / "docs" / "how-to" / "embed-in-fastapi.md"
KEY = {"Idempotency-Key": "a1"}

pytestmark = pytest.mark.scenario


def _write_files(folder: Path, url: str = "sqlite:///jobs.db") -> None:
    for block in blocks_of(PAGE):
        if block.file:
            (folder / block.file).write_text(block.code.replace("sqlite:///jobs.db", url), encoding="utf-8")


def _serve(module: str, port: int) -> list[str]:
    return ["-m", "uvicorn", "--host", "127.0.0.1", "--port", str(port), f"{module}:web"]


def test_a_server_that_only_submits_answers_503_while_the_store_is_away(tmp_path: Path) -> None:
    folder = tmp_path / "redis"
    folder.mkdir()
    redis = start_redis("valkey9", folder)
    try:
        _write_files(tmp_path, f"redis://localhost:{redis.port}")
        port = free_port()
        with running(_serve("web", port), tmp_path) as server, client_of(server, port) as client:
            sent = client.post("/reports", params={"month": "May"}, headers=KEY)
            assert (sent.status_code, sent.json()["duplicate"]) == (202, False)
            other = client.post("/reports", params={"month": "June"}, headers=KEY)
            assert (other.status_code, other.json()["code"]) == (409, "key_conflict")
            assert client.get("/reports/nonsense").status_code == 404
            redis.kill()
            asked = client.get(f"/reports/{sent.json()['id']}")
            again = client.post("/reports", params={"month": "May"}, headers=KEY)
            for away in (asked, again):
                assert (away.status_code, away.headers["Retry-After"]) == (503, "5"), away.text
                assert away.json() == {"code": "broker_unavailable", "detail": "try again soon"}
        assert "Traceback" not in log_of(_serve("web", port), tmp_path).read_text()
    finally:
        redis.stop()


def test_a_server_that_only_submits_starts_while_the_store_is_away(tmp_path: Path) -> None:
    _write_files(tmp_path, f"redis://localhost:{free_port()}")
    port = free_port()
    with running(_serve("web", port), tmp_path) as server, client_of(server, port) as client:
        sent = client.post("/reports", params={"month": "May"}, headers=KEY)
        assert sent.status_code == 503


def test_a_server_with_a_worker_runs_what_the_other_shape_sent(tmp_path: Path) -> None:
    _write_files(tmp_path)
    ports = free_port(), free_port()
    with running(_serve("web", ports[0]), tmp_path) as web, client_of(web, ports[0]) as client:
        sent = client.post("/reports", params={"month": "May"}, headers=KEY).json()["id"]
        with running(_serve("main", ports[1]), tmp_path) as main, client_of(main, ports[1]) as other:
            assert other.get(f"/reports/{sent}").json() == {"text": "the report of May"}
            poll(client, f"/reports/{sent}", "completed")
        assert "Traceback" not in log_of(_serve("main", ports[1]), tmp_path).read_text()
