"""What the environment says. `python -m service` fills in what is missing, for a try on one machine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where things are, and who may come in."""

    #: Of the front end's database, the index, and the documents where they are files.
    folder: Path
    #: The storage account of the documents. Empty: they are files.
    connection: str
    #: Its container: one for all clients, with a folder for each.
    container: str
    #: The front end, as its workers reach it.
    address: str
    #: What each client signs in with.
    keys: Mapping[str, str]
    #: The secret of `/internal/notify`; while it is rotated, the new one and the old one.
    webhook_secrets: tuple[str, ...]
    #: Seconds that a passage takes, so that there is something to see.
    pace: float

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read them. A worker needs no keys and no secrets."""
        given = environment.get
        pairs = (pair.partition("=") for pair in given("SERVICE_CLIENTS", "").split())
        return cls(
            folder=Path(given("SERVICE_FOLDER", "service-data")),
            connection=given("AZURE_STORAGE_CONNECTION_STRING", ""),
            container=given("AZURE_STORAGE_CONTAINER_NAME", "documents"),
            address=given("SERVICE_ADDRESS", "http://127.0.0.1:8000").rstrip("/"),
            keys={client: key for client, _, key in pairs},
            webhook_secrets=tuple(given("WEBHOOK_SECRET", "").split()),
            pace=float(given("SERVICE_PACE", "0.4")),
        )
