"""`Library`: documents that can be searched, and the tasks that fill it. The face of the package for Python.

library = Library()             # where, the environment says
library.register(app)           # the tasks ingest, summarize and agent
await library.search("how long is a lease?", document_set="southhaven")
"""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from tenure import Tenure
from tenure.documents.agent.tool import Tool
from tenure.documents.chunk import Hit, StoredDocument
from tenure.documents.embedding.embedder import Embedder
from tenure.documents.embedding.openai import OpenAIEmbedder
from tenure.documents.embedding.wordllama import WordLlamaEmbedder
from tenure.documents.llm.chat import ChatModel, OpenAIModel
from tenure.documents.llm.endpoint import Endpoint
from tenure.documents.llm.scripted import QuotingModel
from tenure.documents.reading.limits import Limits
from tenure.documents.search import Mode, search
from tenure.documents.settings import SCRIPTED, settings_from
from tenure.documents.sources.names import checked_name, checked_set
from tenure.documents.sources.source import Source, source_of
from tenure.documents.stores.connect import index_of
from tenure.documents.stores.index import Index
from tenure.errors import BadSetting


class Library:
    """Documents in an index, by document set."""

    def __init__(
        self,
        index: str | None = None,
        source: str | None = None,
        *,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        limits: Limits | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the index at the URL `index`, and read documents from the URL `source`.

        - `embedder`, `model`: Your own; default: what the environment names, offline where it names nothing.
        - `limits`: How much of one document is read.
        - `environment`: Read instead of the process's own.
        """
        environment = os.environ if environment is None else environment
        said = settings_from(environment)
        #: Keeps documents and finds chunks.
        self.index: Index = index_of(index or said.index, said.index_key)
        #: Limits for one document.
        self.limits = limits or Limits()
        #: Whether PDF and DOCX are read by Docling.
        self.by_docling = said.reader == "docling"
        endpoint = Endpoint(said.endpoint, said.key, seconds=said.seconds)
        #: None: search goes by words alone.
        self.embedder: Embedder | None = embedder
        if embedder is None and said.embedder == "openai":
            self.embedder = OpenAIEmbedder(endpoint, said.embedding_model)
        elif embedder is None and said.embedder == "wordllama":
            self.embedder = WordLlamaEmbedder()
        #: None: there is none, and summaries are extracts.
        self.model: ChatModel | None = model
        if model is None and said.model:
            self.model = QuotingModel() if said.model == SCRIPTED else OpenAIModel(endpoint, said.model)
        self._source_url = source or said.source
        self._source: Source | None = None
        self._environment = environment
        self._opening = asyncio.Lock()
        self._is_open = False

    # -- asking --------------------------------------------------------------------------------------

    async def search(
        self, question: str, *, document_set: str = "default", limit: int = 5, mode: Mode | str = Mode.HYBRID
    ) -> list[Hit]:
        """Find the chunks of a document set that answer a question best, best first.

        - `mode`: `hybrid` joins the other two, `text` looks for words, `vector` for what means the same.
        """
        await self.open()
        checked_set(document_set)
        return await search(self.index, self.embedder, question, document_set, limit=limit, mode=Mode(mode))

    async def documents(self, document_set: str | None = None) -> list[StoredDocument]:
        """List the documents of a set; None: of all sets."""
        await self.open()
        return await self.index.documents(document_set)

    async def text(self, name: str, *, document_set: str = "default") -> str | None:
        """Return the text of a document, as it was indexed. None: there is no such document in the set."""
        await self.open()
        chunks = await self.index.chunks(checked_set(document_set), checked_name(name))
        return "\n\n".join(chunk.text for chunk in chunks) if chunks else None

    async def summary(self, name: str, *, document_set: str = "default") -> str | None:
        """Return the summary that was last made of a document. None: none was made."""
        await self.open()
        return await self.index.summary(checked_set(document_set), checked_name(name))

    async def remove(self, name: str, *, document_set: str = "default") -> bool:
        """Remove a document from the index; its file stays. False: it was not there."""
        await self.open()
        return await self.index.remove(checked_set(document_set), checked_name(name))

    # -- working -------------------------------------------------------------------------------------

    def register(self, app: Tenure, *, tools: Iterable[Tool] = (), tasks: Sequence[str] = ()) -> None:
        """Give an app the tasks `ingest`, `summarize` and `agent`, or those of them that `tasks` names.

        - `tools`: Tools of your own for the agent.
        """
        from tenure.documents.tasks import register  # noqa: PLC0415 - it knows this class

        register(app, self, tools=tuple(tools), tasks=tasks)

    @property
    def source(self) -> Source:
        """Where the files are. Raises `BadSetting` where nothing says so."""
        if self._source is None:
            if not self._source_url:
                raise BadSetting(
                    "nothing says where the files of documents are: set TENURE_DOCUMENTS_SOURCE, as in"
                    " file:///srv/documents or blob://account/documents"
                )
            self._source = source_of(self._source_url, self._environment)
        return self._source

    # -- opening and closing -------------------------------------------------------------------------

    async def open(self) -> None:
        """Open the index, and create what is missing. Every verb does it first."""
        async with self._opening:
            if not self._is_open:
                await self.index.open(self.embedder)
                self._is_open = True

    async def close(self) -> None:
        """Disconnect."""
        await self.index.close()
        if self._source is not None:
            await self._source.close()
        self._source, self._is_open = None, False

    async def __aenter__(self) -> Self:
        """Open the index."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Disconnect."""
        await self.close()
