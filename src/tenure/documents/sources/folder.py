"""A folder of this machine, or a share that it sees."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from tenure.documents.errors import DocumentMissing, IndexUnavailable
from tenure.documents.sources.names import checked_name, too_large


class FolderSource:
    """The files below a folder."""

    def __init__(self, path: str | Path) -> None:
        """Read below `path`."""
        self._root = Path(path)

    @property
    def place(self) -> str:
        """The folder."""
        return f"file://{self._root}"

    async def fetch(self, name: str, most: int) -> bytes:
        """As the port says. A link that leads out of the folder is no document of it."""
        return await asyncio.to_thread(self._fetch, checked_name(name), most)

    def _fetch(self, name: str, most: int) -> bytes:
        try:
            root = self._root.resolve(strict=True)
        except OSError as error:
            raise IndexUnavailable(f"the folder {self._root} cannot be read: {error.strerror}") from error
        try:
            path = (root / name).resolve(strict=True)
            if not path.is_relative_to(root) or not path.is_file():
                raise DocumentMissing(f"{name} is no file inside {self._root}. It was not indexed")
            too_large(path.stat().st_size, most, name)
            return path.read_bytes()
        except FileNotFoundError:
            raise DocumentMissing(f"there is no {name} in {self._root}. It was not indexed") from None
        except OSError as error:
            raise IndexUnavailable(f"{name} in {self._root} cannot be read: {error.strerror}") from error

    async def names(self, prefix: str) -> AsyncIterator[str]:
        """As the port says. Hidden files and folders are left out."""
        for name in await asyncio.to_thread(self._names, checked_name(prefix, may_be_folder=True)):
            yield name

    def _names(self, prefix: str) -> list[str]:
        below = self._root / prefix
        if not below.is_dir():
            raise DocumentMissing(f"there is no folder {prefix or self._root} to read documents from")
        found = (path.relative_to(self._root) for path in below.rglob("*") if path.is_file())
        return sorted(path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts))

    async def close(self) -> None:
        """Nothing is open between calls."""
