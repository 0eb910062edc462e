"""Summarise one document: by a model where one is set, else by the sentences that it has. Kept in the index.

The text is read from the source, or, where the document is not there, from the index.
"""

from collections.abc import Sequence

import msgspec

from tenure import Context
from tenure.documents.chunk import Part
from tenure.documents.errors import DocumentMissing
from tenure.documents.ingest import version_of
from tenure.documents.library import Library
from tenure.documents.reading.reader import read_document
from tenure.documents.sources.names import checked_name
from tenure.documents.summarizing.by_model import Progress, summarise_by_model
from tenure.documents.summarizing.textrank import most_important, sentences_of
from tenure.errors import BadSetting

_MOST_SENTENCES = 50
_READING = 0.3


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary, as it was kept."""

    document_set: str
    name: str
    summary: str
    #: `textrank`, or the name of the model.
    by: str


async def summarize_document(ctx: Context, library: Library, of: str, name: str, sentences: int) -> Summary:
    """Make a summary of a document, and keep it."""
    version, texts = await _read(ctx, library, of, checked_name(name))
    wanted = min(max(1, sentences), _MOST_SENTENCES)
    if library.model is None:
        ctx.progress(_READING, f"{name}: ranking sentences")
        by, summary = "textrank", " ".join(most_important(sentences_of(texts), wanted)) or texts[0][:500]
    else:
        progress = await ctx.last_checkpoint(Progress)
        if progress is None or progress.version != version:
            progress = Progress(version)
        by = library.model.name

        def tell(fraction: float, note: str) -> None:
            ctx.progress(_READING + (1 - _READING) * fraction, f"{name}: {note}")

        summary = await summarise_by_model(library.model, texts, wanted, progress, ctx.checkpoint, tell)
    await library.index.save_summary(of, name, version, summary)
    return Summary(document_set=of, name=name, summary=summary, by=by)


async def _read(ctx: Context, library: Library, of: str, name: str) -> tuple[str, Sequence[str]]:
    """The version of a document, and its text in pieces."""
    data = await _file(library, f"{of}/{name}")
    if data is None:
        chunks = await library.index.chunks(of, name)
        if not chunks:
            raise DocumentMissing(f"there is no {name} in the index, nor where files of documents are")
        return await library.index.version(of, name) or "", [chunk.text for chunk in chunks]
    await ctx.set_size(len(data))
    reading = await read_document(
        name, data, library.limits, by_docling=library.by_docling,
        on_page=lambda page, pages: ctx.progress(_READING * page / pages, f"{name}: page {page:,} of {pages:,}"),
    )  # fmt: skip
    return version_of(data, library.embedder, by_docling=library.by_docling), [_text(part) for part in reading.parts]


async def _file(library: Library, path: str) -> bytes | None:
    """The file of a document. None: there is none, or nothing says where files are."""
    try:
        return await library.source.fetch(path, library.limits.size)
    except (BadSetting, DocumentMissing):
        return None


def _text(part: Part) -> str:
    return part.text
