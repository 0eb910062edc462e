"""`tenure worker --reload`: the worker restarts when a Python file changes."""

import os
import signal
from pathlib import Path

import pytest

from tenure.cli.commands.worker.reload import difference, snapshot

from .conftest import JOBS, Run
from .process import Tenure, started


def test_python_files_are_seen_and_others_are_not(folder: Path) -> None:
    for name in ("pkg/deep/a.py", ".hidden/b.py", "env/lib/c.py", "node_modules/d.py", "__pycache__/e.py", "data.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "env/pyvenv.cfg").write_text("")
    assert sorted(map(Path, snapshot(folder))) == [folder / "jobs.py", folder / "pkg/deep/a.py"]


def test_what_was_changed_added_or_removed_is_a_difference(folder: Path) -> None:
    (folder / "old.py").write_text("")
    before = snapshot(folder)
    assert not difference(before, snapshot(folder))
    (folder / "old.py").unlink()
    (folder / "new.py").write_text("")
    os.utime(folder / "jobs.py", ns=(1, 1))
    names = [Path(file).name for file in difference(before, snapshot(folder))]
    assert names == ["jobs.py", "new.py", "old.py"]


def save(folder: Path, result: str) -> None:
    (folder / "jobs.py").write_text(JOBS.replace("return image\n", f"return {result!r}\n"))


def wait_for_lines(worker: Tenure, words: str, number: int) -> None:
    """Until so many lines have these words."""
    with worker._grown:
        assert worker._grown.wait_for(lambda: sum(words in line for line in worker.lines) >= number, 60), worker.lines


@pytest.mark.parametrize("options", [[], ["--processes", "1"]], ids=["worker", "supervisor"])
def test_a_change_starts_the_worker_anew(tenure: Run, folder: Path, options: list[str]) -> None:
    with started("worker", "jobs:app", "--reload", *options) as worker:
        worker.says("runs 4 tasks")
        save(folder, "the new code")
        worker.says("jobs.py changed: restarting the worker")
        worker.says(" stopped")  # gracefully
        wait_for_lines(worker, "runs 4 tasks", 2)
        sent = tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--wait", "60s")
        assert sent.stdout == '"the new code"\n'
        worker.send(signal.SIGTERM)
        assert worker.ends() == 0


def test_a_worker_that_cannot_start_is_started_after_the_next_change(folder: Path) -> None:
    (folder / "jobs.py").write_text("this is no Python")
    with started("worker", "jobs:app", "--reload") as worker:
        worker.says("error[import_failed]")
        worker.says("ended with exit code 2; it starts again when a file changes")
        save(folder, "fixed")
        worker.says("runs 4 tasks")
        worker.send(signal.SIGINT)
        assert worker.ends() == 0
    assert "Traceback" not in "".join(worker.lines)


def test_stopping_without_a_worker_ends_with_its_exit_code(folder: Path) -> None:
    (folder / "jobs.py").write_text("this is no Python")
    with started("worker", "jobs:app", "--reload") as worker:
        worker.says("ended with exit code 2")
        worker.send(signal.SIGINT)
        assert worker.ends() == 2


def test_reload_never_ends_by_itself(tenure: Run) -> None:
    refused = tenure("worker", "jobs:app", "--reload", "--until-empty")
    assert refused.exit_code == 2
    assert "leave out --until-empty" in refused.stderr
