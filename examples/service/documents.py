"""The clients' documents. A message names a document; the text itself does not travel through the queue.

Each client has a folder: in the container of a storage account if there is one, else on this machine.
"""

import contextlib
import re
from pathlib import Path
from typing import Protocol

from .settings import Settings

#: A name of a document: no folders in it, and nothing that would lead out of one.
_NAME = re.compile(r"\w[\w .-]{0,99}")


class NoSuchDocument(LookupError):
    """The client has no document of this name."""


class Documents(Protocol):
    """Where they are. These functions block: call them in a thread."""

    def names(self, client: str) -> list[str]:
        """What a client has."""
        ...

    def read(self, client: str, name: str) -> bytes:
        """One document. Raises `NoSuchDocument`."""
        ...

    def write(self, client: str, name: str, data: bytes) -> None:
        """Keep a document, in place of an older one of its name."""
        ...


class Folder:
    """Documents that are files of this machine."""

    def __init__(self, path: Path) -> None:
        """Keep them below `path`."""
        self._path = path

    def names(self, client: str) -> list[str]:
        """What a client has."""
        folder = self._path / client
        return sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []

    def read(self, client: str, name: str) -> bytes:
        """One document."""
        try:
            return (self._path / client / checked(name)).read_bytes()
        except FileNotFoundError as error:
            raise NoSuchDocument(name) from error

    def write(self, client: str, name: str, data: bytes) -> None:
        """Keep a document."""
        folder = self._path / client
        folder.mkdir(parents=True, exist_ok=True)
        (folder / checked(name)).write_bytes(data)


class Container:
    """Documents in a storage account, as `{client}/{name}` in one container."""

    def __init__(self, connection: str, container: str) -> None:
        """Use this account; the container is made if it is missing."""
        from azure.core.exceptions import ResourceExistsError  # noqa: PLC0415 - only where there is an account
        from azure.storage.blob import ContainerClient  # noqa: PLC0415

        self._blobs = ContainerClient.from_connection_string(connection, container)
        with contextlib.suppress(ResourceExistsError):
            self._blobs.create_container()

    def names(self, client: str) -> list[str]:
        """What a client has; not the folder in which Tenure keeps what is too large for the queue."""
        found = (one.removeprefix(f"{client}/") for one in self._blobs.list_blob_names(name_starts_with=f"{client}/"))
        return [name for name in found if "/" not in name]

    def read(self, client: str, name: str) -> bytes:
        """One document."""
        from azure.core.exceptions import ResourceNotFoundError  # noqa: PLC0415

        try:
            return self._blobs.download_blob(f"{client}/{checked(name)}").readall()
        except ResourceNotFoundError as error:
            raise NoSuchDocument(name) from error

    def write(self, client: str, name: str, data: bytes) -> None:
        """Keep a document."""
        self._blobs.upload_blob(f"{client}/{checked(name)}", data, overwrite=True)


def documents_of(settings: Settings) -> Documents:
    """Where the environment says they are."""
    if settings.connection:
        return Container(settings.connection, settings.container)
    return Folder(settings.folder / "documents")


def checked(name: str) -> str:
    """The name, if it is one."""
    if not _NAME.fullmatch(name):
        msg = f"{name!r} is no name of a document: letters, digits, spaces, dots and dashes, at most 100"
        raise NoSuchDocument(msg)
    return name
