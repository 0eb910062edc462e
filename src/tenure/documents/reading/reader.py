"""Reads one document, whatever its kind. Used by `ingest.py` and `summarizing`."""

from collections.abc import Callable
from contextlib import aclosing

import msgspec

from tenure.documents.chunk import Part
from tenure.documents.errors import DocumentUnreadable
from tenure.documents.reading.docling import read_by_docling
from tenure.documents.reading.kind import Kind, kind_of
from tenure.documents.reading.limits import MIB, Limits
from tenure.documents.reading.plain import decode, read_markdown, read_text
from tenure.documents.reading.sandbox import read_apart


class Reading(msgspec.Struct, frozen=True):
    """A document that was read."""

    kind: Kind
    parts: list[Part]
    #: None: this kind of document has no pages.
    pages: int | None


def _say_nothing(page: int, pages: int) -> None:
    pass


async def read_document(
    name: str, data: bytes, limits: Limits, *, by_docling: bool = False,
    on_page: Callable[[int, int], None] = _say_nothing,
) -> Reading:  # fmt: skip
    """Read a document; `on_page` is called after each page. Raises `DocumentUnreadable`."""
    if len(data) > limits.size:
        size, most = len(data) // MIB, limits.size // MIB
        raise DocumentUnreadable(f"{name} has {size:,} MiB, more than {most:,} MiB. It was not indexed")
    kind = kind_of(name, data)
    parts: list[Part] = []
    pages: int | None = None
    if by_docling and kind in (Kind.PDF, Kind.DOCX):
        parts = await read_by_docling(name, data)
    elif kind in (Kind.TEXT, Kind.MARKDOWN):
        text = decode(name, data)
        if len(text) > limits.characters:
            raise DocumentUnreadable(f"{name} has more than {limits.characters:,} characters. It was not indexed")
        parts = list(read_text(text) if kind is Kind.TEXT else read_markdown(text))
    else:
        async with aclosing(read_apart(name, kind, data, limits)) as pieces:
            async for what, value in pieces:
                if what == "pages":
                    pages = value
                elif what == "part":
                    parts.append(value)
                else:
                    on_page(value, pages or value)
    if not any(part.text.strip() for part in parts):
        scanned = "; its pages may be scanned pictures, which need OCR" if kind is Kind.PDF else ""
        raise DocumentUnreadable(f"{name} has no text{scanned}. It was not indexed")
    return Reading(kind, parts, pages)
