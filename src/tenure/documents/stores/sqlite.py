"""The index in one SQLite file: FTS5 for words, numpy for vectors.

A document is replaced in one transaction. Vectors are compared one by one in memory, which is right up to
`MOST_VECTORS` chunks in a set: 100 MB, and some milliseconds a question. A larger set is refused with a sentence that
says so; PostgreSQL has an index for vectors. Each call has a connection of its own, in a thread, so that a slow disk
holds up nothing else.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tenure.documents.chunk import Chunk, StoredDocument
from tenure.documents.embedding.embedder import Embedder
from tenure.documents.errors import IndexUnavailable
from tenure.documents.stores.index import Candidate, Question, compare
from tenure.documents.stores.sqlite_schema import LAYOUT, statements
from tenure.documents.stores.vectors import MOST_VECTORS, VectorCache

T = TypeVar("T")

_BUSY_SECONDS = 30.0
#: A word in the title, in the file's name or in a heading counts more than one in the text.
_BY_WORDS = """
    SELECT chunk.id FROM chunk_text JOIN chunk ON chunk.id = chunk_text.rowid
    WHERE chunk_text MATCH ? AND chunk.document_set = ?
    ORDER BY bm25(chunk_text, 2.0, 3.0, 1.0), chunk.id LIMIT ?
"""


class SqliteIndex:
    """The index of one file."""

    def __init__(self, path: str) -> None:
        """Keep it at `path`; it is created when it is first opened."""
        self._path = path
        self._vectors = VectorCache()

    @property
    def place(self) -> str:
        """The file."""
        return f"sqlite:///{self._path}"

    async def open(self, embedder: Embedder | None) -> None:
        """Create the tables, and compare the embedder."""
        await self._do(lambda db: self._open(db, None if embedder is None else embedder.name))

    def _open(self, db: sqlite3.Connection, embedder: str | None) -> None:
        db.execute("PRAGMA journal_mode = WAL")
        with db:
            db.execute("BEGIN IMMEDIATE")
            for statement in statements():
                db.execute(statement)
            layout = _kept(db, "layout", LAYOUT)
            if layout != LAYOUT:
                raise IndexUnavailable(f"{self.place} has layout {layout}, and this Tenure knows {LAYOUT}: upgrade it")
            if embedder is not None:
                compare(self.place, _kept(db, "embedder", embedder), embedder)

    async def close(self) -> None:
        """Nothing is open between calls."""

    async def version(self, document_set: str, name: str) -> str | None:
        """As the port says."""
        rows = await self._rows("SELECT version FROM document WHERE document_set = ? AND name = ?", document_set, name)
        return rows[0][0] if rows else None

    async def put(self, document: StoredDocument, chunks: Sequence[Chunk], vectors: Sequence[bytes] | None) -> None:
        """As the port says."""
        at = (document.document_set, document.name)
        kept: Sequence[bytes | None] = [None] * len(chunks) if vectors is None else vectors
        rows = [
            (*at, chunk.number, chunk.page, document.title, chunk.heading, chunk.text, vector)
            for chunk, vector in zip(chunks, kept, strict=True)
        ]

        def replace(db: sqlite3.Connection) -> None:
            with db:
                db.execute("BEGIN IMMEDIATE")
                db.execute("DELETE FROM chunk WHERE document_set = ? AND name = ?", at)
                db.executemany(
                    "INSERT INTO chunk (document_set, name, number, page, title, heading, text, vector)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    rows,
                )
                db.execute(
                    "INSERT OR REPLACE INTO document (document_set, name, version, title, chunks, pages, size)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (*at, document.version, document.title, document.chunks, document.pages, document.size),
                )
                _count_change(db)

        await self._do(replace)

    async def remove(self, document_set: str, name: str) -> bool:
        """As the port says."""

        def remove(db: sqlite3.Connection) -> bool:
            with db:
                db.execute("BEGIN IMMEDIATE")
                at = (document_set, name)
                db.execute("DELETE FROM chunk WHERE document_set = ? AND name = ?", at)
                db.execute("DELETE FROM summary WHERE document_set = ? AND name = ?", at)
                _count_change(db)
                return db.execute("DELETE FROM document WHERE document_set = ? AND name = ?", at).rowcount > 0

        return await self._do(remove)

    async def find(self, question: Question) -> list[Candidate]:
        """As the port says."""
        return await self._do(lambda db: self._find(db, question))

    def _find(self, db: sqlite3.Connection, question: Question) -> list[Candidate]:
        db.execute("BEGIN")  # one state of the index for all that follows
        by_words: list[int] = []
        if question.words:
            match = " OR ".join(f'"{word}"' for word in question.words)
            by_words = [id for (id,) in db.execute(_BY_WORDS, (match, question.document_set, question.most))]
        by_meaning: list[int] = []
        if question.vector is not None:
            by_meaning = self._nearest(db, question, question.vector)
        text_rank = {id: rank for rank, id in enumerate(by_words, 1)}
        vector_rank = {id: rank for rank, id in enumerate(by_meaning, 1)}
        found = []
        for id in text_rank | vector_rank:
            row = db.execute(
                "SELECT document_set, name, number, title, heading, page, text FROM chunk WHERE id = ?", (id,)
            ).fetchone()
            if row is None:  # replaced since the list was made
                continue
            document_set, name, number, title, heading, page, text = row
            found.append(
                Candidate(
                    document_set=document_set, name=name, number=number, title=title, heading=heading, page=page,
                    text=text, text_rank=text_rank.get(id), vector_rank=vector_rank.get(id),
                )
            )  # fmt: skip
        return found

    def _nearest(self, db: sqlite3.Connection, question: Question, vector: bytes) -> list[int]:
        (changes,) = db.execute("SELECT coalesce(max(value), '0') FROM meta WHERE name = 'changes'").fetchone()

        def load() -> tuple[list[int], list[bytes]]:
            rows = db.execute(
                "SELECT id, vector FROM chunk WHERE document_set = ? AND vector IS NOT NULL ORDER BY id LIMIT ?",
                (question.document_set, MOST_VECTORS + 1),
            ).fetchall()
            if len(rows) > MOST_VECTORS:
                msg = (
                    f"{self.place} has more than {MOST_VECTORS:,} chunks in {question.document_set!r}, too many to"
                    " compare one by one; keep the index in PostgreSQL, or search with mode text"
                )
                raise IndexUnavailable(msg)
            return [id for id, _ in rows], [data for _, data in rows]

        return self._vectors.nearest(question.document_set, changes, load, vector, question.most)

    async def documents(self, document_set: str | None = None) -> list[StoredDocument]:
        """As the port says."""
        rows = await self._rows(
            "SELECT document_set, name, version, title, chunks, pages, size FROM document"
            " WHERE ?1 IS NULL OR document_set = ?1 ORDER BY document_set, name",
            document_set,
        )
        return [
            StoredDocument(
                document_set=of, name=name, version=version, title=title, chunks=chunks, pages=pages, size=size
            )
            for of, name, version, title, chunks, pages, size in rows
        ]

    async def chunks(self, document_set: str, name: str) -> list[Chunk]:
        """As the port says."""
        rows = await self._rows(
            "SELECT number, text, heading, page FROM chunk WHERE document_set = ? AND name = ? ORDER BY number",
            document_set, name,
        )  # fmt: skip
        return [Chunk(*row) for row in rows]

    async def save_summary(self, document_set: str, name: str, version: str, summary: str) -> None:
        """As the port says."""

        def save(db: sqlite3.Connection) -> None:
            with db:
                db.execute(
                    "INSERT OR REPLACE INTO summary (document_set, name, version, summary) VALUES (?, ?, ?, ?)",
                    (document_set, name, version, summary),
                )

        await self._do(save)

    async def summary(self, document_set: str, name: str) -> str | None:
        """As the port says."""
        rows = await self._rows("SELECT summary FROM summary WHERE document_set = ? AND name = ?", document_set, name)
        return rows[0][0] if rows else None

    async def _rows(self, statement: str, *values: object) -> list[Any]:
        return await self._do(lambda db: db.execute(statement, values).fetchall())

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.to_thread(self._with_connection, work)

    def _with_connection(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with self._connection() as db:
                return work(db)
        except sqlite3.Error as error:
            raise IndexUnavailable(f"the index at {self.place} cannot be used: {error}") from error

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if not Path(self._path).parent.is_dir():
            raise IndexUnavailable(f"there is no folder for the index at {self.place}; create it")
        db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            yield db
        finally:
            db.close()


def _kept(db: sqlite3.Connection, name: str, value: str) -> str:
    """A value of the index, set if there is none."""
    db.execute("INSERT OR IGNORE INTO meta (name, value) VALUES (?, ?)", (name, value))
    (kept,) = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return str(kept)


def _count_change(db: sqlite3.Connection) -> None:
    """Vectors that other processes keep in memory are old now."""
    db.execute(
        "INSERT INTO meta (name, value) VALUES ('changes', '1')"
        " ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1"
    )
