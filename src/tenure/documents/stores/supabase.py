"""The index in Supabase, over its REST API (PostgREST): upserts, and `rpc/match_documents` of `schema.sql`.

There is no transaction over two calls. So chunks of a new version are upserted first, where nothing finds them; then
one upsert of the document's row makes them the ones that are found, and a trigger removes the others in the same step.
A run that is killed between the calls leaves chunks that nothing finds, and the next one writes over them.

Held by the tests to the same suite as PostgreSQL, on a stand-in for the REST API that runs the shipped SQL. It was not
run against Supabase itself.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from tenure.documents.chunk import Chunk, StoredDocument
from tenure.documents.embedding.embedder import Embedder
from tenure.documents.errors import EndpointError, IndexUnavailable, Trouble
from tenure.documents.llm.endpoint import Endpoint
from tenure.documents.stores.index import Candidate, Question, compare
from tenure.documents.stores.rows import CHUNK, DOCUMENT, asked, chunk_rows, document_row

#: Rows in one call: about 3 MB of vectors.
_BATCH = 200
#: PostgREST answers with so many rows at most, as Supabase sets it up.
_PAGE = 1_000
#: What the trigger says where another writer of the document has removed chunks of this version.
_MISSING = "tenure_chunks_missing"
_TRIES = 10
_UPSERT = {"Prefer": "resolution=merge-duplicates,return=minimal"}
_IF_MISSING = {"Prefer": "resolution=ignore-duplicates,return=minimal"}


class SupabaseIndex:
    """The index of one project."""

    def __init__(self, url: str, key: str) -> None:
        """Keep it in the project at `url`, with the key of its service role."""
        self._place = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"
        self._key = {"apikey": key}
        self._endpoint = Endpoint(f"{url.rstrip('/')}/rest/v1", key)

    @property
    def place(self) -> str:
        """The project."""
        return self._place

    async def open(self, embedder: Embedder | None) -> None:
        """Compare the embedder. The tables must be there: the key may not create them."""
        try:
            if embedder is not None:
                row = {"name": "embedder", "value": embedder.name}
                await self._call("POST", "tenure_document_meta?on_conflict=name", [row], _IF_MISSING)
            kept = await self._call("GET", "tenure_document_meta?select=value&name=eq.embedder")
        except EndpointError as error:
            if error.trouble is Trouble.WRONG and "(404)" in str(error):
                raise IndexUnavailable(
                    f"the tables of the index are not in {self.place}: run what `tenure documents schema` prints in its"
                    " SQL editor"
                ) from error
            raise
        if embedder is not None and kept:
            compare(self.place, kept[0]["value"], embedder.name)

    async def close(self) -> None:
        """Nothing is open between calls."""

    async def version(self, document_set: str, name: str) -> str | None:
        """As the port says."""
        rows = await self._call("GET", f"tenure_documents?select=version&{_at(document_set, name)}")
        return rows[0]["version"] if rows else None

    async def put(self, document: StoredDocument, chunks: Sequence[Chunk], vectors: Sequence[bytes] | None) -> None:
        """As the port says."""
        for _ in range(_TRIES):
            try:
                return await self._put(document, chunks, vectors)
            except EndpointError as error:
                if _MISSING not in str(error):
                    raise
        raise IndexUnavailable(f"others write {document.name} to {self.place} at the same time; nothing was changed")

    async def _put(self, document: StoredDocument, chunks: Sequence[Chunk], vectors: Sequence[bytes] | None) -> None:
        rows = chunk_rows(document, chunks, vectors)
        for start in range(0, len(rows), _BATCH):
            conflict = "on_conflict=document_set,name,version,number"
            await self._call("POST", f"tenure_chunks?{conflict}", rows[start : start + _BATCH], _UPSERT)
        row = document_row(document)
        await self._call("POST", "tenure_documents?on_conflict=document_set,name", [row], _UPSERT)

    async def remove(self, document_set: str, name: str) -> bool:
        """As the port says."""
        headers = {"Prefer": "return=representation"}
        path = f"tenure_documents?select=name&{_at(document_set, name)}"
        return bool(await self._call("DELETE", path, None, headers))

    async def find(self, question: Question) -> list[Candidate]:
        """As the port says."""
        return msgspec.convert(await self._call("POST", "rpc/match_documents", asked(question)), list[Candidate])

    async def documents(self, document_set: str | None = None) -> list[StoredDocument]:
        """As the port says."""
        of = "" if document_set is None else f"document_set=eq.{quote(document_set, safe='')}&"
        rows = await self._pages(f"tenure_documents?{of}select={','.join(DOCUMENT)}&order=document_set,name")
        found = msgspec.convert(rows, list[StoredDocument])
        return sorted(found, key=lambda one: (one.document_set, one.name))

    async def chunks(self, document_set: str, name: str) -> list[Chunk]:
        """As the port says."""
        version = await self.version(document_set, name)
        if version is None:
            return []
        where = f"{_at(document_set, name)}&version=eq.{version}"
        return msgspec.convert(
            await self._pages(f"tenure_chunks?{where}&select={','.join(CHUNK)}&order=number"), list[Chunk]
        )

    async def save_summary(self, document_set: str, name: str, version: str, summary: str) -> None:
        """As the port says."""
        row = {"document_set": document_set, "name": name, "version": version, "summary": summary}
        await self._call("POST", "tenure_summaries?on_conflict=document_set,name", [row], _UPSERT)

    async def summary(self, document_set: str, name: str) -> str | None:
        """As the port says."""
        rows = await self._call("GET", f"tenure_summaries?select=summary&{_at(document_set, name)}")
        return rows[0]["summary"] if rows else None

    async def _pages(self, path: str) -> list[Any]:
        rows: list[Any] = []
        while True:
            page = await self._call("GET", f"{path}&limit={_PAGE}&offset={len(rows)}")
            rows += page
            if len(page) < _PAGE:
                return rows

    async def _call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        return await self._endpoint.call(method, path, body, {**self._key, **(headers or {})})


def _at(document_set: str, name: str) -> str:
    """The filter for one document."""
    return f"document_set=eq.{quote(document_set, safe='')}&name=eq.{quote(name, safe='')}"
