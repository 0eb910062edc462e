"""The port of a source, and the one that a URL names."""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol
from urllib.parse import unquote, urlsplit

from tenure.documents.sources.folder import FolderSource
from tenure.errors import BadURL


class Source(Protocol):
    """Has the files of documents. Verbs raise `IndexUnavailable` where it is away."""

    @property
    def place(self) -> str:
        """Where it is, for people: no secrets."""
        ...

    async def fetch(self, name: str, most: int) -> bytes:
        """The file of this name. Raises `DocumentMissing`, and `DocumentUnreadable` if it has over `most` bytes."""
        ...

    def names(self, prefix: str) -> AsyncIterator[str]:
        """The names below a folder, or all of them where it is empty, in order."""
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...


def source_of(url: str, environment: Mapping[str, str]) -> Source:
    """The source that a URL names."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    match parts.scheme:
        case "file" if path.strip("/") and parts.netloc in ("", "localhost"):
            return FolderSource(path)
        case "blob" if parts.netloc and path.strip("/") and "/" not in path.strip("/"):
            from tenure.documents.sources.blob import BlobSource

            return BlobSource(parts.netloc, path.strip("/"), environment)
        case "s3" if parts.netloc:
            from tenure.documents.sources.s3 import S3Source

            return S3Source(parts.netloc, path.strip("/"), parts.query)
    raise BadURL(
        f"{url!r} names no source of documents; write file:///srv/documents, blob://account/container or"
        " s3://bucket/prefix. Nothing was opened"
    )
