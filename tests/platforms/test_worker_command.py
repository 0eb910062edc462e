"""`tenure worker --platform ecs`: the task is protected while a message runs, in one process and in several."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.process import started
from tests.servers.recorder import Reply, Request, recording

pytestmark = pytest.mark.scenario

JOBS = """
import pathlib, time
from tenure import Tenure

app = Tenure("sqlite:///jobs.db")


@app.task
def wait_for(file: str) -> None:
    while not pathlib.Path(file).exists():
        time.sleep(0.02)
"""


def _agree(request: Request) -> Reply:
    asked = json.loads(request.body)
    return Reply(body=json.dumps({"protection": {"ProtectionEnabled": asked["ProtectionEnabled"]}}).encode())


def _told(requests: list[Request]) -> list[bool]:
    return [json.loads(one.body)["ProtectionEnabled"] for one in requests]


@pytest.mark.parametrize("words", [(), ("--processes", "2")], ids=["one", "several"])
def test_a_task_is_protected_while_a_message_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: Sequence[str]
) -> None:
    (tmp_path / "jobs.py").write_text(JOBS)
    monkeypatch.chdir(tmp_path)
    with (
        recording(_agree) as agent,
        started("worker", "jobs:app", "--platform", "ecs", *words, ECS_AGENT_URI=agent.url) as worker,
    ):
        agent.wait(lambda seen: _told(seen) == [False])
        with started("submit", "jobs:app", "wait_for", '{"file": "go"}') as submit:
            assert submit.ends() == 0
        agent.wait(lambda seen: _told(seen) == [False, True])
        (tmp_path / "go").touch()
        agent.wait(lambda seen: _told(seen) == [False, True, False])
        worker.process.terminate()
        assert worker.ends() == 0


def test_outside_of_a_task_nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobs.py").write_text(JOBS)
    monkeypatch.chdir(tmp_path)
    with started("worker", "jobs:app", "--platform", "ecs", ECS_AGENT_URI="") as worker:
        worker.says("this is no task of ECS")
        assert worker.ends() == 2
