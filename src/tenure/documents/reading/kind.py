"""The kind of a document: what its name says, checked against what its first bytes say."""

from enum import StrEnum
from pathlib import PurePosixPath

from tenure.documents.errors import DocumentUnreadable


class Kind(StrEnum):
    """What can be read."""

    PDF = "pdf"
    DOCX = "docx"
    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"


#: By the end of the name.
SUFFIXES = {
    ".pdf": Kind.PDF, ".docx": Kind.DOCX, ".html": Kind.HTML, ".htm": Kind.HTML,
    ".md": Kind.MARKDOWN, ".markdown": Kind.MARKDOWN, ".txt": Kind.TEXT, ".text": Kind.TEXT, ".rst": Kind.TEXT,
}  # fmt: skip
#: A PDF may have something before its header; readers look this far.
_PDF_HEADER_WITHIN = 1024
#: The container of encrypted and of old Office files.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def can_be_read(name: str) -> bool:
    """Whether the name is that of a document."""
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def kind_of(name: str, data: bytes) -> Kind:
    """The kind of a document. Raises `DocumentUnreadable` where name and content disagree."""
    kind = SUFFIXES.get(PurePosixPath(name).suffix.lower())
    if kind is None:
        known = " ".join(sorted(SUFFIXES))
        raise DocumentUnreadable(f"{name} is of no kind that can be read; the kinds are {known}. It was not indexed")
    if kind is Kind.PDF and b"%PDF-" not in data[:_PDF_HEADER_WITHIN]:
        raise DocumentUnreadable(f"{name} is not a PDF: it has no PDF header. It was not indexed")
    if kind is Kind.DOCX and data.startswith(_OLE):
        raise DocumentUnreadable(f"{name} is encrypted, or a .doc of before 2007; save it as .docx without a password")
    if kind is Kind.DOCX and not data.startswith(b"PK"):
        raise DocumentUnreadable(f"{name} is not a DOCX: it is no zip archive. It was not indexed")
    return kind
