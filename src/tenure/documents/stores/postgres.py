"""The index in PostgreSQL with pgvector: its full-text search for words, its vectors for meaning.

Every verb is one transaction on a connection of its own, so that a server that was restarted needs no care.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tenure.documents.chunk import Chunk, StoredDocument
from tenure.documents.embedding.embedder import Embedder
from tenure.documents.errors import IndexUnavailable
from tenure.documents.stores.index import Candidate, Question, compare
from tenure.documents.stores.rows import CHUNK, DOCUMENT, asked, chunk_rows, document_row
from tenure.documents.stores.schema import schema
from tenure.errors import MissingExtra

_CONNECT_SECONDS = 10
#: Two writers of one document wait for each other; two processes that create the tables, too.
_ONE_DOCUMENT = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_ONE_CREATOR = "SELECT pg_advisory_xact_lock(hashtextextended('tenure documents', 0))"
_COLUMNS = ("document_set", "name", "version", "number", "page", "title", "heading", "text", "embedding")


class PostgresIndex:
    """The index of one database."""

    def __init__(self, url: str) -> None:
        """Keep it in the database at `url`."""
        self._url = url

    @property
    def place(self) -> str:
        """The server and database."""
        parts = urlsplit(self._url)
        return f"postgresql://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"

    async def open(self, embedder: Embedder | None) -> None:
        """Create the tables if they are missing, and compare the embedder."""
        async with self._transaction() as db:
            (there,) = await _one(db, "SELECT to_regclass('tenure_document_meta')")
        if there is None:
            sql = await schema(embedder)  # may ask an endpoint, which no lock waits for
            async with self._transaction() as db:
                await db.execute(_ONE_CREATOR)
                await db.execute(sql)
        if embedder is not None:
            async with self._transaction() as db:
                await db.execute(
                    "INSERT INTO tenure_document_meta (name, value) VALUES ('embedder', %s) ON CONFLICT DO NOTHING",
                    [embedder.name],
                )
                (kept,) = await _one(db, "SELECT value FROM tenure_document_meta WHERE name = 'embedder'")
            compare(self.place, kept, embedder.name)

    async def close(self) -> None:
        """Nothing is open between calls."""

    async def version(self, document_set: str, name: str) -> str | None:
        """As the port says."""
        rows = await self._rows(
            "SELECT version FROM tenure_documents WHERE document_set = %s AND name = %s", document_set, name
        )
        return rows[0][0] if rows else None

    async def put(self, document: StoredDocument, chunks: Sequence[Chunk], vectors: Sequence[bytes] | None) -> None:
        """As the port says. The trigger removes the chunks of the version before."""
        rows = chunk_rows(document, chunks, vectors)
        row = document_row(document)
        async with self._transaction() as db:
            await db.execute(_ONE_DOCUMENT, [f"{document.document_set}/{document.name}"])
            await db.execute(
                "DELETE FROM tenure_chunks WHERE document_set = %s AND name = %s",
                [document.document_set, document.name],
            )
            async with (
                db.cursor() as cursor,
                cursor.copy(f"COPY tenure_chunks ({', '.join(_COLUMNS)}) FROM STDIN") as copy,
            ):
                for one in rows:
                    await copy.write_row([one[name] for name in _COLUMNS])
            values = ", ".join(["%s"] * len(DOCUMENT))
            changes = ", ".join(f"{name} = excluded.{name}" for name in DOCUMENT[2:])
            await db.execute(
                f"INSERT INTO tenure_documents ({', '.join(DOCUMENT)}) VALUES ({values})"
                f" ON CONFLICT (document_set, name) DO UPDATE SET {changes}",
                [row[name] for name in DOCUMENT],
            )

    async def remove(self, document_set: str, name: str) -> bool:
        """As the port says."""
        async with self._transaction() as db:
            deleted = await db.execute(
                "DELETE FROM tenure_documents WHERE document_set = %s AND name = %s", [document_set, name]
            )
            return bool(deleted.rowcount > 0)

    async def find(self, question: Question) -> list[Candidate]:
        """As the port says."""
        given = asked(question)
        rows = await self._rows(
            "SELECT * FROM match_documents(%s, %s::vector, %s, %s::jsonb)",
            given["query_words"], given["query_embedding"], given["match_count"],
            msgspec.json.encode(given["filter"]).decode(),
        )  # fmt: skip
        return [Candidate(**dict(zip(Candidate.__struct_fields__, row, strict=True))) for row in rows]

    async def documents(self, document_set: str | None = None) -> list[StoredDocument]:
        """As the port says."""
        rows = await self._rows(
            f"SELECT {', '.join(DOCUMENT)} FROM tenure_documents"
            ' WHERE %s::text IS NULL OR document_set = %s ORDER BY document_set COLLATE "C", name COLLATE "C"',
            document_set, document_set,
        )  # fmt: skip
        return [StoredDocument(**dict(zip(DOCUMENT, row, strict=True))) for row in rows]

    async def chunks(self, document_set: str, name: str) -> list[Chunk]:
        """As the port says."""
        rows = await self._rows(
            f"SELECT {', '.join(f'c.{column}' for column in CHUNK)}"
            " FROM tenure_chunks c JOIN tenure_documents d USING (document_set, name, version)"
            " WHERE document_set = %s AND name = %s ORDER BY number",
            document_set, name,
        )  # fmt: skip
        return [Chunk(*row) for row in rows]

    async def save_summary(self, document_set: str, name: str, version: str, summary: str) -> None:
        """As the port says."""
        async with self._transaction() as db:
            await db.execute(
                "INSERT INTO tenure_summaries (document_set, name, version, summary) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (document_set, name) DO UPDATE"
                " SET version = excluded.version, summary = excluded.summary",
                [document_set, name, version, summary],
            )

    async def summary(self, document_set: str, name: str) -> str | None:
        """As the port says."""
        rows = await self._rows(
            "SELECT summary FROM tenure_summaries WHERE document_set = %s AND name = %s", document_set, name
        )
        return rows[0][0] if rows else None

    async def _rows(self, statement: str, *values: object) -> list[Any]:
        async with self._transaction() as db:
            return list(await (await db.execute(statement, values)).fetchall())

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Any]:
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtra(
                f"{self.place} needs a driver for PostgreSQL: pip install 'tenure[documents-postgres]'"
            ) from error
        try:
            connection = await psycopg.AsyncConnection.connect(self._url, connect_timeout=_CONNECT_SECONDS)
            async with connection as db:  # commits, or rolls back, and closes
                yield db
        except psycopg.Error as error:
            said = str(error).strip().partition("\n")[0] or type(error).__name__
            raise IndexUnavailable(f"the index at {self.place} cannot be used: {said}") from error


async def _one(db: Any, statement: str) -> Any:
    return await (await db.execute(statement)).fetchone()
