"""Receivers of webhooks, under their own server: signed requests are saved once, others are refused."""

import shutil
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tenure.clock import SYSTEM_CLOCK
from tenure.webhooks.secret import new_secret
from tenure.webhooks.signature import headers_for, key_of

from .program import EXAMPLES, client_of, free_port, log_of, running

pytestmark = pytest.mark.scenario


def post_ending(client: httpx.Client, secret: str, id: str, *, age: float = 0.0, **body: Any) -> int:
    """Post an ending, signed with `secret`; the status of the answer."""
    given = {"task_id": "t1", "status": "completed", "result": 1, "error": None, "generation": 0, "ended_at": "now"}
    raw = msgspec.json.encode(given | body)
    headers = headers_for(id, int(SYSTEM_CLOCK.wall() - age), raw, [key_of(secret)])
    return client.post("/internal/notify", content=raw, headers=headers).status_code


@pytest.mark.parametrize("name", ["webhook_fastapi.py", "webhook_flask.py"])
def test_a_receiver_saves_each_ending_once(tmp_path: Path, name: str) -> None:
    shutil.copy(EXAMPLES / name, tmp_path)
    port, secret, old = free_port(), new_secret(), new_secret()
    secrets = f"{secret} {old}"
    with running([name], tmp_path, PORT=str(port), WEBHOOK_SECRET=secrets) as server, client_of(server, port) as client:
        assert post_ending(client, secret, "whd_1", status="failed", error="it broke") == 204
        assert post_ending(client, secret, "whd_1", status="failed", error="it broke") == 204  # the answer was lost
        assert post_ending(client, old, "whd_3", generation=2) == 204
        assert post_ending(client, secret, "whd_2", generation=1, status="failed") == 204  # late: a newer one is there
        assert post_ending(client, new_secret(), "whd_4", task_id="t2") == 401
        assert post_ending(client, secret, "whd_5", task_id="t2", age=600) == 401
        assert client.post("/internal/notify", content=b"{}").status_code == 401
        saved = client.get("/endings").json()
    assert saved == [{"task_id": "t1", "generation": 2, "status": "completed", "error": None}]
    assert "Traceback" not in log_of([name], tmp_path).read_text()
