"""A broker of another package is found by its entry point, and is as good as those that are built in.

The package is the one of `docs/how-to/write-a-broker.md`, taken from the page and installed in a folder of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.markdown import ROOT, blocks_of

PAGE = ROOT / "docs" / "how-to" / "write-a-broker.md"
JOBS = """
from tenure import Tenure
app = Tenure()
ran = open("ran.txt", "a")

@app.task(max_attempts=2)
async def greet(name: str) -> str:
    if name == "nobody":
        raise ValueError("who is that?")
    print(name, file=ran, flush=True)
    return f"Hello {name}"
"""
SUBMIT = """
import asyncio, jobs
async def main():
    async with jobs.app:
        print((await jobs.greet.submit("Ada")).id, (await jobs.greet.submit("nobody")).id)
asyncio.run(main())
"""


class Installed:
    """A folder with the package in it, and a program that uses it."""

    def __init__(self, folder: Path, entry: str = "letterbox:connect") -> None:
        for block in blocks_of(PAGE):
            if block.file is not None and not block.file.startswith("test_"):
                (folder / block.file).write_text(block.code, encoding="utf-8")
        told = folder / "tenure_letterbox-1.0.dist-info"
        told.mkdir()
        (told / "METADATA").write_text("Metadata-Version: 2.1\nName: tenure-letterbox\nVersion: 1.0\n")
        (told / "entry_points.txt").write_text(f"[tenure.brokers]\nletterbox = {entry}\n")
        (folder / "jobs.py").write_text(JOBS)
        self._folder = folder

    def run(self, *command: str, url: str = "letterbox:///jobs.db") -> subprocess.CompletedProcess[str]:
        """Run Python with the package on its path."""
        environment = os.environ | {"PYTHONPATH": str(self._folder), "TENURE_URL": url}
        return subprocess.run(
            [sys.executable, *command], cwd=self._folder, env=environment, capture_output=True, text=True, check=False
        )

    def tenure(self, *words: str, url: str = "letterbox:///jobs.db") -> subprocess.CompletedProcess[str]:
        """Run the command."""
        return self.run("-m", "tenure", *words, url=url)


@pytest.mark.scenario
def test_a_worker_and_the_command_use_a_broker_of_another_package(tmp_path: Path) -> None:
    installed = Installed(tmp_path)
    sent = installed.run("-c", SUBMIT)
    assert sent.returncode == 0, sent.stderr
    done, dead = sent.stdout.split()
    worked = installed.tenure("worker", "jobs:app", "--until-empty")
    assert worked.returncode == 0, worked.stderr
    assert (tmp_path / "ran.txt").read_text() == "Ada\n"
    shown = installed.tenure("show", done, "--json")
    assert '"state":"completed"' in shown.stdout.replace(" ", "").replace("\n", ""), shown.stdout + shown.stderr
    listed = installed.tenure("dead")
    assert dead in listed.stdout, listed.stdout + listed.stderr


def test_a_package_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    told = Installed(tmp_path, "letterbox_of_yesterday:connect").tenure("queues")
    assert told.returncode != 0
    words = " ".join(told.stderr.split())
    assert "letterbox:// is a broker of the package tenure-letterbox, which cannot be loaded" in words, words
    assert "nothing was started" in words


def test_an_unknown_scheme_is_told_which_others_there_are(tmp_path: Path) -> None:
    told = Installed(tmp_path).tenure("queues", url="mailbox:///jobs.db")
    assert told.returncode != 0
    assert "letterbox://…" in " ".join(told.stderr.split())
