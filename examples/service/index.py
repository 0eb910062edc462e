"""The search index: passages of each client's documents, in SQLite's full-text search.

In its place stands what you have, such as Supabase with vectors. These functions block: call them in a thread.
"""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

_WAIT_SECONDS = 30.0


class Passage(NamedTuple):
    """A part of a document."""

    filename: str
    text: str


class Index:
    """One file for all workers of this machine."""

    def __init__(self, path: Path) -> None:
        """Use this file; it is made if it is missing."""
        self._path = path

    def replace(self, client: str, filename: str, texts: Sequence[str]) -> None:
        """Keep the passages of a document in place of older ones, so a second run of the task changes nothing."""
        with closing(self._opened()) as opened, opened:
            opened.execute("DELETE FROM passage WHERE client = ? AND filename = ?", (client, filename))
            opened.executemany("INSERT INTO passage VALUES (?, ?, ?)", [(client, filename, text) for text in texts])

    def is_empty(self, client: str) -> bool:
        """Whether nothing of a client was indexed yet."""
        with closing(self._opened()) as opened:
            return opened.execute("SELECT 1 FROM passage WHERE client = ? LIMIT 1", (client,)).fetchone() is None

    def search(self, client: str, question: str, limit: int = 2) -> list[Passage]:
        """The passages that fit the words of a question best."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w{4,}", question))
        if not words:
            return []
        with closing(self._opened()) as opened:
            rows = opened.execute(
                "SELECT filename, text FROM passage WHERE passage MATCH ? AND client = ? ORDER BY rank LIMIT ?",
                (f"text: ({words})", client, limit),
            )
            return [Passage(*row) for row in rows.fetchall()]

    def _opened(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        opened = sqlite3.connect(self._path, timeout=_WAIT_SECONDS)
        opened.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS passage USING fts5(client UNINDEXED, filename UNINDEXED, text, "
            "tokenize = 'porter')"
        )
        return opened
