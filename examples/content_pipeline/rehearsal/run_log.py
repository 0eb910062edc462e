"""Reads what `pace.py` noted: which process ran what, and when."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Note:
    """One line."""

    at: float
    pid: int
    what: str
    task: str
    id: str


class RunLog:
    """Follows the file as it grows."""

    def __init__(self, path: Path) -> None:
        """It need not be there yet."""
        self.path = path
        self.notes: list[Note] = []
        self._offset = 0

    def follow(self) -> list[Note]:
        """The notes since the last call."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as log:
            log.seek(self._offset)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        new = [_note(line) for line in whole.decode().splitlines()]
        self.notes += new
        return new

    def in_hand(self, pid: int) -> set[str]:
        """The messages that a process has begun and not ended."""
        begun = {note.id for note in self.notes if note.pid == pid and note.what == "start"}
        return begun - {note.id for note in self.notes if note.pid == pid and note.what == "end"}

    def messages(self, task: str) -> int:
        """How many messages of a task were begun."""
        return len({note.id for note in self.notes if note.task == task})

    def count(self, what: str, task: str) -> int:
        """How many such notes there are."""
        return sum(note.what == what and note.task == task for note in self.notes)


def _note(line: str) -> Note:
    at, pid, what, task, id = line.split(" ", 4)
    return Note(float(at), int(pid), what, task, id)
