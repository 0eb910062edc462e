"""The ground of a storage account: a prefix of its own on Azurite, in real time.

Nobody holds a lock there, so a process may be frozen at any moment.
"""

import os
from contextlib import suppress
from typing import Any

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.data.tables import TableClient
from azure.storage.queue import QueueClient
from tests.servers.azure import ACCOUNT, KEY, shared_azure

from .process import Process


class AzureGround:
    """A prefix in an account."""

    def __init__(self) -> None:
        """Nothing is made before it is used."""
        self._server = shared_azure()
        self._prefix = f"s{os.urandom(6).hex()}"
        #: Where processes connect to instead, by the name of the service.
        self.detours: dict[str, int] = {}
        key = AzureNamedKeyCredential(ACCOUNT, KEY)
        #: A plain client, to look behind everybody's back.
        self.raw: Any = TableClient(self._server.endpoint("table"), f"{self._prefix}tenure", credential=key)

    def url(self, options: str) -> str:
        """Straight to the account."""
        return self._server.url(self._prefix, *([options] if options else []))

    def url_of_processes(self, options: str) -> str:
        """By the detours, if there are any."""
        return self._server.url(self._prefix, *([options] if options else []), **self.detours)

    def put_plain(self, queue: str, text: str) -> None:
        """Send a text as a producer does that never heard of Tenure."""
        with QueueClient(self._server.endpoint("queue"), f"{self._prefix}-{queue}", credential=KEY) as client:
            with suppress(ResourceExistsError):
                client.create_queue()
            client.send_message(text, time_to_live=-1)

    @property
    def ports(self) -> dict[str, int]:
        """Of the services themselves."""
        return self._server.ports

    def freeze(self, process: Process) -> None:
        """At any moment."""
        process.freeze()

    def last_sweep(self) -> object:
        """When it was, by the account's time."""
        try:
            return self.raw.get_entity("common", "swept")["At"]
        except ResourceNotFoundError:
            return None

    def damage(self, queue: str, id: str, raw: bytes) -> None:
        """Write over its letter; the text in the queue stays, so this is only for what is read from the table."""
        self.raw.update_entity({"PartitionKey": "00", "RowKey": f"s:{id}", "Queue": queue, "Envelope": raw})

    def close(self) -> None:
        """Azurite forgets everything with its process."""
        self.raw.close()
