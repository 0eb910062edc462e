"""A real server that is asked to stop: long polls are answered, and nothing stays leased."""

import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from ..serving import served, until  # noqa: TID252 - the helpers of the folder above

pytestmark = pytest.mark.real_time


def test_long_polls_are_answered_when_the_server_is_asked_to_stop(tmp_path: Path) -> None:
    told: list[Any] = []
    body = {"queues": ["acme-tasks"], "wait": 20, "request_id": "r1"}
    with served(f"sqlite:///{tmp_path}/jobs.db", "--create") as (process, client):
        polling = threading.Thread(target=lambda: told.append(client.post("/api/v1/lease", json=body)))
        polling.start()
        # It waits when its consumer is known; then nothing but the end of the wait can answer it.
        until(lambda: bool(client.get("/api/v1/workers").json()["consumers"]))
        process.process.send_signal(signal.SIGTERM)
        polling.join(15)
        assert [(one.status_code, one.json()) for one in told] == [(200, {"messages": []})]
        until(lambda: process.process.poll() == 0)
