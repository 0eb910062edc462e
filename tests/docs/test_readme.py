"""The README's example, pasted into an empty folder."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def _tenure(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "tenure", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=30).stdout


def _depth(folder: Path) -> dict[str, int]:
    queues = json.loads(_tenure(folder, "queues", "jobs:app", "--json"))["queues"]
    return {state: sum(queue[state] for queue in queues) for state in ("ready", "delayed", "leased", "dead")}


@pytest.mark.scenario
def test_the_example_runs_as_pasted(tmp_path: Path) -> None:
    (example,) = _blocks("python")
    (tmp_path / "jobs.py").write_text(example, encoding="utf-8")
    subprocess.run([sys.executable, "jobs.py"], cwd=tmp_path, check=True, timeout=30)
    assert sum(_depth(tmp_path).values()) == 3
    command = [sys.executable, "-m", "tenure", "worker", "jobs:app", "--concurrency", "50"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as worker:
        until = time.monotonic() + 30
        while any(_depth(tmp_path).values()) and time.monotonic() < until:
            pass  # each look is a process of its own, slow enough
        worker.send_signal(signal.SIGINT)
        _, log = worker.communicate(timeout=30)
    assert not any(_depth(tmp_path).values()), log
    assert worker.returncode == 0
    assert "Traceback" not in log


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for command in ("run", "test"):
        assert f"make {command} " in _blocks("sh")[0]
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_the_commands_in_the_readme_exist() -> None:
    known = _tenure(Path.cwd(), "--help")
    words = re.findall(r"^tenure (\w+)", "\n".join(_blocks("sh")), re.MULTILINE)
    assert words
    assert all(re.search(rf"^\s+{word}\s", known, re.MULTILINE) for word in words)
