"""A SQLite file that is deleted, replaced or restored under real processes: nobody goes on as if nothing were."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .process import OBEY_SECONDS

pytestmark = pytest.mark.scenario

JOBS = """
import os, time
from tenure import Context, Tenure

app = Tenure(f"sqlite:///{os.environ['DATABASE']}")

@app.task
async def note(ctx: Context, text: str) -> int:
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(f"{text} {ctx.fence}\\n")
    return ctx.fence
"""

#: A sender that lives on: it says what became of each line that it is given.
SENDER = """
import asyncio, sys
from jobs import app, note
from tenure.errors import TenureError

async def main():
    async with app:
        print("open", flush=True)
        for line in sys.stdin:
            try:
                await note.submit(text=line.strip())
            except TenureError as error:
                print(error.code, flush=True)
            else:
                print("sent", flush=True)

asyncio.run(main())
"""


class House:
    """One database, its worker and its senders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "jobs.db"
        self.notes = folder / "notes"
        (folder / "jobs.py").write_text(JOBS)
        self._environment = {
            **os.environ, "DATABASE": str(self.database), "NOTES": str(self.notes), "PYTHONPATH": str(folder),
        }  # fmt: skip
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, *words: str, stderr: int = subprocess.STDOUT) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, *words], cwd=self.folder, env=self._environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
        )  # fmt: skip
        self._processes.append(process)
        return process

    def worker(self, *words: str) -> "subprocess.Popen[str]":
        """It is at work when this returns."""
        worker = self.start("-m", "tenure", "worker", "jobs:app", *words)
        assert worker.stdout is not None
        assert any(" runs 1 task " in line for line in worker.stdout), "it ended"
        return worker

    def sender(self) -> "subprocess.Popen[str]":
        sender = self.start("-c", SENDER, stderr=subprocess.DEVNULL)
        assert self.heard(sender) == "open"
        return sender

    def submit(self, text: str) -> None:
        """By a process of its own that ends with it."""
        words = ["-m", "tenure", "submit", "jobs:app", "note", f'{{"text": "{text}"}}']
        subprocess.run([sys.executable, *words], cwd=self.folder, env=self._environment, check=True)

    def work_off(self) -> None:
        words = ["-m", "tenure", "worker", "jobs:app", "--until-empty"]
        subprocess.run([sys.executable, *words], cwd=self.folder, env=self._environment, check=True)

    def fences(self) -> list[int]:
        return [int(line.split()[1]) for line in self.notes.read_text().splitlines()]

    @staticmethod
    def heard(process: "subprocess.Popen[str]") -> str:
        assert process.stdout is not None
        return process.stdout.readline().strip()

    def tell(self, sender: "subprocess.Popen[str]", text: str) -> str:
        assert sender.stdin is not None
        sender.stdin.write(f"{text}\n")
        sender.stdin.flush()
        return self.heard(sender)

    def texts(self) -> list[str]:
        """What is in the file that the path names."""
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT CAST(envelope AS TEXT) FROM message").fetchall()
        return [str(text) for (text,) in rows]

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.close()


def _delete(house: House) -> None:
    house.database.unlink()


def _restore(house: House) -> None:
    shutil.copyfile(house.database, house.folder / "backup.db")
    (house.folder / "backup.db").rename(house.database)


harmed = pytest.mark.parametrize("harm", [_delete, _restore])


@harmed
def test_an_idle_worker_ends_and_says_why(house: House, harm: Callable[[House], None]) -> None:
    worker = house.worker()
    harm(house)
    said, _ = worker.communicate(timeout=OBEY_SECONDS)
    assert worker.returncode == 1, said
    assert "error[store_replaced]" in said


@harmed
def test_what_was_submitted_is_in_the_file_or_its_sender_knows(house: House, harm: Callable[[House], None]) -> None:
    sender = house.sender()
    assert house.tell(sender, "before") == "sent"
    harm(house)
    assert house.tell(sender, "after") == "store_replaced"
    house.submit("new")
    assert house.tell(sender, "again") == "store_replaced"
    assert [name for name in ("after", "again", "new") if any(name in text for text in house.texts())] == ["new"]


def test_supervised_workers_go_on_with_the_new_file(house: House) -> None:
    """Each one that ends is replaced, and the one that comes opens what is there then."""
    workers = house.worker("--processes", "1")
    _delete(house)
    assert workers.stdout is not None
    assert any(" runs 1 task " in line for line in workers.stdout), "no new one came"
    house.submit("new")
    house.work_off()
    assert len(house.fences()) == 1


@pytest.mark.parametrize("how", ["cp", "mv"])
def test_a_restored_backup_repeats_no_fence(house: House, how: str) -> None:
    """The same message runs again after the backup, and must not be taken for its earlier run."""
    house.submit("twice")
    shutil.copyfile(house.database, house.folder / "backup.db")
    for number in range(3):
        house.submit(f"m{number}")
    house.work_off()
    subprocess.run([how, house.folder / "backup.db", house.database], check=True)
    house.work_off()
    *before, after = house.fences()
    assert len(before) == 4
    assert after > max(before)
