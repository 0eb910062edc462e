"""Examples that serve: under their own server, asked over HTTP."""

import shutil
from pathlib import Path

import pytest

from .program import EXAMPLES, client_of, free_port, log_of, poll, running

pytestmark = pytest.mark.scenario


def test_a_fastapi_app_works_by_itself(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "fastapi_app.py", tmp_path)
    port = free_port()
    command = ["fastapi_app.py"]
    with running(command, tmp_path, PORT=str(port)) as server, client_of(server, port) as client:
        sent = client.post("/thumbnails", params={"image": "a.png"})
        assert sent.status_code == 202
        answer = poll(client, f"/thumbnails/{sent.json()['id']}", "completed")
        assert answer["result"] == {"image": "a.png", "thumbnail": "small-a.png"}
        assert answer["error"] is None
        unknown = client.get("/thumbnails/nonsense")
        assert (unknown.status_code, "no message nonsense" in unknown.json()["detail"]) == (404, True)
    assert server.returncode in (0, -15), "uvicorn hands the signal on when it is done"
    assert "Traceback" not in log_of(command, tmp_path).read_text()


def test_a_flask_app_and_its_worker(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "flask_app.py", tmp_path)
    port = free_port()
    with (
        running(["-m", "tenure", "worker", "flask_app:jobs"], tmp_path) as worker,
        running(["flask_app.py"], tmp_path, PORT=str(port)) as server,
        client_of(server, port) as client,
    ):
        sent = client.post("/welcomes", params={"to": "ada@example.org"})
        assert (sent.status_code, sent.json()["duplicate"]) == (202, False)
        poll(client, f"/welcomes/{sent.json()['id']}", "completed")
        again = client.post("/welcomes", params={"to": "ada@example.org"}).json()
        assert again == {"id": sent.json()["id"], "duplicate": True}
        refused = client.post("/welcomes", params={"to": "nobody"}).json()
        assert "no such mailbox" in str(poll(client, f"/welcomes/{refused['id']}", "dead")["error"])
        assert client.get("/welcomes/nonsense").status_code == 404
    assert worker.returncode == 0
