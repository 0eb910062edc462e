"""PDF by pypdf, page by page. A scanned page has no text; a document without any is refused, saying so."""

import io
from collections.abc import Iterator

from tenure.documents.chunk import Part
from tenure.documents.errors import DocumentUnreadable
from tenure.documents.reading.limits import Limits

#: Pages, and one of them.
Page = tuple[int, Part]


def read_pdf(name: str, data: bytes, limits: Limits) -> Iterator[Page]:
    """Yield the number of pages with each page."""
    import pypdf
    from pypdf.errors import PyPdfError

    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentUnreadable(f"{name} is encrypted; save it without a password. It was not indexed")
        pages = len(reader.pages)
        if pages > limits.pages:
            raise DocumentUnreadable(f"{name} has {pages:,} pages, more than {limits.pages:,}. It was not indexed")
        for number in range(pages):
            yield pages, Part(reader.pages[number].extract_text(), page=number + 1)
    except (PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError) as error:
        # pypdf's own errors, and what it stumbles over in files that are damaged.
        what = str(error) or type(error).__name__
        raise DocumentUnreadable(f"{name} is a damaged PDF: {what}. It was not indexed") from error
