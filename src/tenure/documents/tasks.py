"""The tasks of a library: `ingest`, `summarize` and `agent`, as seed messages name them.

    {"task_type": "ingest", "payload": {"filename": "document.pdf", "document_set": "southhaven"}}

A document's file is `{source}/{document_set}/{filename}`. Without a `document_set` it is that of the message's client.
"""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from tenure import Context, Reject, Tenure
from tenure.documents.agent.journey import AgentAnswer, Bounds, Journey
from tenure.documents.agent.tool import Tool
from tenure.documents.errors import DocumentMissing, DocumentUnreadable
from tenure.documents.failing import verdicts
from tenure.documents.ingest import Ingested, ingest_document
from tenure.documents.library import Library
from tenure.documents.reading.kind import can_be_read
from tenure.documents.sources.names import checked_name, checked_set
from tenure.documents.summarize import Summary, summarize_document
from tenure.errors import BadArgument

#: The tasks, by name.
NAMES = ("ingest", "summarize", "agent")
#: Of a folder, so many refused documents are listed in the result.
_LISTED = 100


class Refused(msgspec.Struct, frozen=True):
    """A document of a folder that could not be indexed."""

    name: str
    reason: str


class IngestedFolder(msgspec.Struct, kw_only=True):
    """What became of the documents of a folder; also the checkpoint, after each of them."""

    document_set: str
    folder: str
    indexed: int = 0
    unchanged: int = 0
    chunks: int = 0
    failed: int = 0
    #: The first of them.
    refused: list[Refused] = []
    #: The last document that is done.
    last: str = ""


def register(app: Tenure, library: Library, *, tools: Sequence[Tool] = (), tasks: Sequence[str] = ()) -> None:
    """Add the tasks to an app."""
    handlers = {"ingest": _ingest(library), "summarize": _summarize(library), "agent": _agent(library, tools)}
    for name in tasks or NAMES:
        app.task(name=name)(handlers[name])


def _set_of(ctx: Context, document_set: str) -> str:
    return checked_set(document_set or ctx.message.client or "default")


def _ingest(library: Library) -> Callable[..., Awaitable[object]]:
    async def ingest(ctx: Context, filename: str, document_set: str = "") -> Ingested | IngestedFolder:
        """Index a document, or every one below a folder (`reports/`)."""
        with verdicts():
            await library.open()
            of = _set_of(ctx, document_set)
            if filename.endswith("/") or not filename:
                return await _ingest_folder(ctx, library, of, filename)
            return await _ingest_one(ctx, library, of, filename, ctx.progress)

    return ingest


async def _ingest_one(
    ctx: Context, library: Library, of: str, name: str, tell: Callable[[float, str], None]
) -> Ingested:
    path = f"{of}/{checked_name(name)}"
    return await ingest_document(ctx, library, of, name, lambda most: library.source.fetch(path, most), tell)


async def _ingest_folder(ctx: Context, library: Library, of: str, folder: str) -> IngestedFolder:
    """Index the documents of a folder one by one, with a checkpoint after each. One that cannot be read stops none."""
    done = await ctx.last_checkpoint(IngestedFolder) or IngestedFolder(document_set=of, folder=folder)
    below = f"{of}/{checked_name(folder, may_be_folder=True)}"
    names = [name.removeprefix(f"{of}/") async for name in library.source.names(below) if can_be_read(name)]
    for number, name in enumerate(sorted(names)):
        if name <= done.last:
            continue

        def tell(fraction: float, note: str, number: int = number) -> None:
            ctx.progress((number + fraction) / len(names), f"{number + 1:,} of {len(names):,} · {note}")

        try:
            one = await _ingest_one(ctx, library, of, name, tell)
        except (DocumentUnreadable, DocumentMissing, BadArgument) as error:
            done.failed += 1
            done.refused = [*done.refused, Refused(name, str(error))][:_LISTED]
        else:
            done.indexed += one.status == "indexed"
            done.unchanged += one.status == "unchanged"
            done.chunks += one.chunks
        done.last = name
        await ctx.checkpoint(done)
    return done


def _summarize(library: Library) -> Callable[..., Awaitable[object]]:
    async def summarize(ctx: Context, filename: str, document_set: str = "", sentences: int = 5) -> Summary:
        """Summarise a document, keep the summary in the index, and return it."""
        with verdicts():
            await library.open()
            return await summarize_document(ctx, library, _set_of(ctx, document_set), filename, sentences)

    return summarize


def _agent(library: Library, tools: Sequence[Tool]) -> Callable[..., Awaitable[object]]:
    async def agent(
        ctx: Context, question: str, document_set: str = "", steps: int = 8, tokens: int = 20_000, seconds: float = 300
    ) -> AgentAnswer:
        """Answer a question from the documents of a set, by a model with tools."""
        from tenure.documents.agent.run import Run  # noqa: PLC0415 - most workers run none
        from tenure.documents.agent.tools import tools_of  # noqa: PLC0415

        if library.model is None:
            raise Reject(
                "no model is set: set OPENAI_API_KEY, or TENURE_DOCUMENTS_MODEL=scripted to try the agent offline"
            )
        with verdicts():
            await library.open()
            bounds = Bounds(steps=max(1, steps), tokens=max(1, tokens), seconds=seconds)
            offered = [*tools_of(library, _set_of(ctx, document_set)), *tools]
            run = Run(library.model, offered, bounds, ctx.checkpoint, ctx.progress)
            return await run.answer(question, await ctx.last_checkpoint(Journey))

    return agent
