"""Killed anywhere with a real `kill -9`, and run again: every document is there, with one copy of each chunk."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from .model_server import model_server

pytestmark = [pytest.mark.scenario, pytest.mark.real_time]

_ROOT = Path(__file__).parents[2]
_POINTS = ["after the fetch", "in the write", "after the write"]
_SECONDS = 60


def index(path: Path) -> dict[str, list[int]]:
    """The numbers of the chunks of every document. Raises where the index of words is not of these chunks."""
    db = sqlite3.connect(path)
    rows = db.execute("SELECT name, number FROM chunk ORDER BY name, number").fetchall()
    db.execute("INSERT INTO chunk_text (chunk_text, rank) VALUES ('integrity-check', 1)")
    db.close()
    found: dict[str, list[int]] = {}
    for name, number in rows:
        found.setdefault(name, []).append(number)
    return found


def write_documents(folder: Path) -> dict[str, list[int]]:
    """Four documents of three chunks each, and what the index has of them."""
    folder.mkdir(parents=True)
    text = "\n\n".join(f"# Part {part}\n\n" + "A lease is renewed. " * 30 for part in range(3))
    for name in "abcd":
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}", encoding="utf-8")
    return {f"{name}.md": [0, 1, 2] for name in "abcd"}


@pytest.mark.parametrize("point", _POINTS)
def test_a_worker_killed_anywhere_leaves_one_copy_of_each_chunk(point: str, tmp_path: Path) -> None:
    whole = write_documents(tmp_path / "source" / "south")

    def run(point: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.documents.killed", str(tmp_path), point, "c.md"]
        return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False, timeout=_SECONDS)

    assert run(point).returncode == -signal.SIGKILL
    begun = index(tmp_path / "documents.db")
    assert begun == {
        name: chunks for name, chunks in whole.items() if name < ("d" if point == "after the write" else "c")
    }
    again = run("nowhere")
    assert again.returncode == 0, again.stderr
    assert index(tmp_path / "documents.db") == whole
    # The documents before the checkpoint were not looked at again.
    assert re.search(r"'indexed': (\d)", again.stdout), again.stdout
    assert "'unchanged': 1" in again.stdout if point == "after the write" else "'unchanged': 0" in again.stdout


def test_the_command_killed_half_way_does_the_rest_when_it_is_run_again(tmp_path: Path) -> None:
    """`tenure documents ingest docs && tenure documents search "…"`, over our own pages."""
    (tmp_path / "docs").symlink_to(_ROOT / "docs")
    command = [sys.executable, "-m", "tenure", "documents"]
    with model_server() as server:
        environment = os.environ | server.environment
        # The endpoint keeps the page on leases waiting; the command is killed while it waits.
        server.hold_on = "The life of a lease"
        process = subprocess.Popen([*command, "ingest", "docs", "-c", "2"], cwd=tmp_path, env=environment)
        assert server.holds.wait(_SECONDS)
        process.send_signal(signal.SIGKILL)
        process.wait(_SECONDS)
        begun = index(tmp_path / "documents.db")
        server.hold_on = ""
        server.let_go.set()

        def run(*words: str) -> bytes:
            done = subprocess.run(
                [*command, *words, "--json"], cwd=tmp_path, env=environment, capture_output=True, check=False,
                timeout=_SECONDS,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            return done.stdout

        report = msgspec.json.decode(run("ingest", "docs"))
        whole = index(tmp_path / "documents.db")
        pages = {path.relative_to(_ROOT / "docs").as_posix() for path in (_ROOT / "docs").rglob("*.md")}
        assert whole.keys() == pages
        assert 0 < len(begun) < len(pages)
        assert all(whole[name] == chunks == list(range(len(chunks))) for name, chunks in begun.items())
        assert report["documents"] == len(pages)
        # A message of the killed run may have been run beside those of this one.
        assert report["indexed"] + report["unchanged"] == len(pages)
        assert report["unchanged"] >= len(begun)
        hits = msgspec.json.decode(run("search", "how long is a lease?"))
        assert "explanation/leases.md" in {hit["name"] for hit in hits}
        assert msgspec.json.decode(run("ingest", "docs"))["indexed"] == 0
