"""The README's example, pasted into an empty folder."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tenure.config import _SETTINGS

#: The JPEG is rejected; that is what the example shows.
DRAINED = {"ready": 0, "delayed": 0, "leased": 0, "dead": 1}
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
    assert sum(_depth(tmp_path).values()) == 4
    command = [sys.executable, "-m", "tenure", "worker", "jobs:app", "--concurrency", "50"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as worker:
        until = time.monotonic() + 30
        while _depth(tmp_path) != DRAINED and time.monotonic() < until:
            pass  # each look is a process of its own, slow enough
        worker.send_signal(signal.SIGINT)
        _, log = worker.communicate(timeout=30)
    assert _depth(tmp_path) == DRAINED, log
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


def test_every_setting_is_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    names = [name for setting in _SETTINGS for name in setting.names]
    assert len(names) > 10
    assert all(f"`{name}`" in text for name in names)
