"""Names of documents: relative paths with slashes, which cannot lead out of their document set."""

import re

from tenure.documents.errors import DocumentUnreadable
from tenure.errors import BadArgument

_LONGEST = 1_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
#: Of the names of document sets: one folder, and nothing that a shell or a URL reads differently.
_SET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def checked_name(name: str, *, may_be_folder: bool = False) -> str:
    """The name, if it stays inside its set; with `may_be_folder` also one with a slash at its end, or none.

    Raises `BadArgument`.
    """
    parts = name.split("/")
    if may_be_folder and not parts[-1]:
        parts.pop()
    is_outside = any(part in ("", ".", "..") for part in parts)
    if is_outside or len(name) > _LONGEST or _CONTROL.search(name):
        raise BadArgument(f"{name[:100]!r} is no name of a document: it must be a relative path inside the set")
    return name


def checked_set(document_set: str) -> str:
    """The name of a document set, if it is one. Raises `BadArgument`."""
    if not _SET.fullmatch(document_set):
        raise BadArgument(
            f"{document_set[:100]!r} is no name of a document set: letters, digits, dots, dashes, at most 100"
        )
    return document_set


def too_large(size: int, most: int, name: str) -> None:
    """Raise `DocumentUnreadable` for a file of more than `most` bytes, before it is read."""
    if size > most:
        raise DocumentUnreadable(f"{name} has {size:,} bytes, more than {most:,}. It was not indexed")
