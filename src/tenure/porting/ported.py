"""What porting yields: the text of a module, notes about what differs, and the calls to change elsewhere.

Made by `celery.py`; shown by `cli/commands/migrate_celery.py`.
"""

from enum import StrEnum

import msgspec

from tenure.audit import Located


class Kind(StrEnum):
    """What a note asks of its reader."""

    #: It was carried over, and behaves differently in a way that matters.
    CHECK = "check"
    #: It was not carried over.
    BY_HAND = "by hand"


class Note(msgspec.Struct, frozen=True):
    """One thing to know about one place of the source."""

    kind: Kind
    #: The task or the setting that it is about.
    about: str
    path: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """`shop/tasks.py:12`, as editors and terminals open it."""
        return f"{self.path}:{self.line}"


class Send(msgspec.Struct, frozen=True):
    """A call in a file that is not carried over, and what to write in its place."""

    path: str
    line: int
    before: str
    after: str


class Ported(msgspec.Struct, frozen=True):
    """The whole of it."""

    module: str
    tasks: tuple[str, ...]
    schedules: tuple[str, ...]
    notes: tuple[Note, ...]
    sends: tuple[Send, ...]
    #: What the audit says of the same files: mistakes that are there today.
    findings: tuple[Located, ...]
    files: int


class NotPortable(Exception):
    """There is nothing to carry over, or it cannot be read; the text says why."""
