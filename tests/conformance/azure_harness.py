"""What the Azure adapter brings along to the conformance suites: a prefix of its own on a real Azurite."""

import asyncio
import os
from typing import Any
from urllib.parse import urlsplit

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableClient, UpdateMode
from tests.servers.azure import ACCOUNT, KEY, shared_azure
from tests.servers.binary import NotInstalled

from tenure.adapters import azure
from tenure.adapters.azure.entry import life_row
from tenure.adapters.azure.naming import row_id
from tenure.broker import Broker
from tenure.owner import Owner
from tenure.state import State
from tenure.testing.harness import Fault, Harness

_LONG_AGO = 100.0


class AzureHarness(Harness):
    """Azurite, with its time told by every request."""

    options: tuple[str, ...] = ()

    def __init__(self, fault: Fault | None = None) -> None:
        """A prefix that nobody else has."""
        super().__init__(fault)
        try:
            self._server = shared_azure()
        except NotInstalled as missing:
            pytest.skip(str(missing))
        url = self._server.url(f"t{os.urandom(6).hex()}", *self.options)
        self._options = azure.read_options(url, urlsplit(url), {})

    async def connect(self) -> tuple[Broker, State]:
        """Open broker and state over one store."""
        broker, state = azure.connect(self._options, clock=self.clock, hook=self._tell_time)
        await broker.open()
        await state.open()
        self._store = broker._store
        return broker, state

    def _tell_time(self, request: Any) -> None:
        # Not the wall clock: the service's does not jump.
        request.headers["x-test-now"] = repr(self.clock.monotonic() + 1_767_225_600.0)

    def _behind(self) -> TableClient:
        """A plain client, to do things behind the adapter's back."""
        key = AzureNamedKeyCredential(ACCOUNT, KEY)
        return TableClient(self._options.table_endpoint, self._options.table, credential=key)

    async def kill(self, owner: Owner) -> None:
        """As if nothing had been heard of it for a while, and a new boot had taken its name: that proves its end."""
        now = self.clock.monotonic()
        with self._behind() as table:
            for name, change in {
                f"o:{owner.id}": {"Heard": now - 10.0, "ReplacedAt": now - 9.0},
                "looked": _looked(now),
            }.items():
                entity = {"PartitionKey": "common", "RowKey": _key(name), **change}
                table.upsert_entity(entity, mode=UpdateMode.MERGE)

    async def damage(self, id: str) -> bytes:
        """Write over the message in its queue, and its letter, behind the adapter's back."""
        raw = b'{"tenure":1,"id":"' + id.encode() + b'","queue":\x7f broken'
        letter = await self._store.letter(id)
        assert letter is not None
        client = self._store.queue(letter.queue)
        words = (letter.message_id, letter.receipt)
        await self._store.call(
            "damaging", lambda: client.update_message(*words, visibility_timeout=0, content=raw.decode())
        )
        with self._behind() as table:
            entity = {"PartitionKey": "00", "RowKey": f"s:{id}", "Envelope": raw}
            table.update_entity(entity, mode=UpdateMode.MERGE)
        return raw

    async def drop_deadline(self, id: str) -> None:
        """Forget the deadline, behind the adapter's back."""
        kept = await self._store.find(id)
        assert kept is not None
        kept.life.deadline = None
        self._store.shared.forget(id)
        row = life_row(kept, 1)
        with self._behind() as table:
            table.upsert_entity(
                {"PartitionKey": row.part, "RowKey": row.key, **{k: v for k, v in row.fields.items() if v is not None}}
            )

    async def reopen(self) -> None:
        """Close every connection and open new ones, which remember nothing."""
        await self._reopen()

    async def clean_up(self) -> None:
        """Let the connections end: Azurite forgets everything with its process."""
        await asyncio.sleep(0)


def _looked(now: float) -> dict[str, float]:
    return {"At": now, "Since": now - _LONG_AGO}


def _key(name: str) -> str:
    kind, colon, rest = name.partition(":")
    return f"{kind}:{row_id(rest)}" if colon else name
