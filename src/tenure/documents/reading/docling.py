"""Docling, where it is installed: better tables and reading order. Chosen by `TENURE_DOCUMENTS_READER=docling`.

Docling fetches its models when it is first used, so it works only where it can, or where they are there already. It
runs in a thread of the worker, so a file can hurt the worker here; read what comes from strangers without it.
"""

import asyncio
import io
from pathlib import PurePosixPath
from typing import Any

from tenure.documents.chunk import Part
from tenure.documents.errors import DocumentUnreadable
from tenure.documents.reading.plain import read_markdown
from tenure.errors import MissingExtra


def is_installed() -> bool:
    """Whether Docling is here."""
    from importlib.util import find_spec

    return find_spec("docling") is not None


async def read_by_docling(name: str, data: bytes) -> list[Part]:
    """The parts of a document, by way of the Markdown that Docling makes of it."""
    if not is_installed():
        raise MissingExtra("TENURE_DOCUMENTS_READER=docling, but docling is not installed: pip install docling")
    return await asyncio.to_thread(_convert, name, data)


def _convert(name: str, data: bytes) -> list[Part]:
    import importlib

    models: Any = importlib.import_module("docling.datamodel.base_models")
    converter: Any = importlib.import_module("docling.document_converter").DocumentConverter()
    stream = models.DocumentStream(name=PurePosixPath(name).name, stream=io.BytesIO(data))
    try:
        text: str = converter.convert(stream).document.export_to_markdown()
    except Exception as error:
        raise DocumentUnreadable(f"Docling cannot read {name}: {error}. It was not indexed") from error
    return list(read_markdown(text))
