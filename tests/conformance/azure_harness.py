"""What the Azure adapter brings along to the conformance suites: a prefix of its own on a real Azurite."""

import asyncio
import contextlib
import os
import shutil
import tempfile
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.servers.azure import shared_azure
from tests.servers.binary import NotInstalled
from tests.servers.shared import shared

from tenure.adapters import azure, redis
from tenure.adapters.azure import copy_text
from tenure.adapters.azure.entry import letter_key, life_row
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.session import Session
from tenure.adapters.azure.store import MakeTable
from tenure.adapters.redis.server_wall import ServerWall
from tenure.adapters.redis.table import RedisTable
from tenure.adapters.sqlite.table import LocalTable
from tenure.broker import Broker
from tenure.errors import StoreMissing
from tenure.state import State
from tenure.testing.harness import QUEUE, FaultWrapper, Harness

_LONG_AGO = 100.0


class AzureHarness(Harness):
    """Azurite, with its time told by every request."""

    options: tuple[str, ...] = ()
    storms = 2
    fills_boards = False
    has_own_clock = True

    def __init__(self, fault: FaultWrapper | None = None) -> None:
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
        broker, state = azure.connect(
            self._options, clock=self.clock, hook=self._tell_time, make_table=self._make_table()
        )
        await broker.open()
        await state.open()
        self._store: Any = broker._store  # type: ignore[attr-defined]
        return broker, state

    def _make_table(self) -> MakeTable | None:
        """Where the state lies, if not in the account."""
        return None

    def _tell_time(self, request: Any) -> None:
        # Not the wall clock: the service's does not jump.
        request.headers["x-test-now"] = repr(self.clock.monotonic() + 1_767_225_600.0)

    async def _change(self, act: str, part: str, key: str, fields: dict[str, Any]) -> None:
        """Change a row behind the adapter's back: nothing that it remembers knows of it."""
        assert await self._store.rows.commit_one(Change(act, Row(part, key, fields))) is not None

    async def damage(self, id: str) -> bytes:
        """Write over the message in its queue, and its letter."""
        raw = b'{"tenure":1,"id":"' + id.encode() + b'","queue":\x7f broken'
        letter = await self._store.letter(id)
        assert letter is not None
        client = self._store.queue(letter.queue)
        words = (letter.message_id, letter.receipt)
        await self._store.call(
            "damaging", lambda: client.update_message(*words, visibility_timeout=0, content=raw.decode())
        )
        await self._change("merge", self._store.part(id), letter_key(id), {"Envelope": raw})
        return raw

    async def drop_deadline(self, id: str) -> None:
        """Forget the deadline."""
        kept = await self._store.find(id)
        assert kept is not None
        kept.life.deadline = None
        self._store.shared.forget(id)
        row = life_row(kept, 1)
        await self._change("upsert", row.part, row.key, row.fields)

    async def remove_queue(self, queue: str) -> None:
        """Delete it, behind the adapter's back."""
        store = self._store
        with contextlib.suppress(StoreMissing):
            await store.call("removing", store.queue(queue).delete_queue)
        store.options = msgspec.structs.replace(store.options, create=False)

    async def make_queue(self, queue: str) -> None:
        """As somebody would by hand."""
        await self._store.create(self._store.queue(queue).create_queue)

    async def reopen(self) -> None:
        """Close every connection and open new ones, which remember nothing."""
        await self._reopen()

    async def clean_up(self) -> None:
        """Let the connections end: Azurite forgets everything with its process."""
        await asyncio.sleep(0)


class RowStoreAzureHarness(AzureHarness):
    """Azurite, with the core that SQS has too."""

    options: tuple[str, ...] = ("core=rowstore",)
    finds_ids = False
    finds_envelopes = False

    async def connect(self) -> tuple[Broker, State]:
        """Open broker and state over one store."""
        broker, state = await super().connect()
        queue, self.table = self._store.queue, self._store.table
        assert isinstance(queue, azure.AzureQueue)
        #: The way to the account.
        self.session: Session = queue._session
        self._store = self.session
        return broker, state

    async def damage(self, id: str) -> bytes:
        """Write over the copy in its queue, which nobody has received yet."""
        client, raw = self.session.queue(QUEUE), b'{"tenure":1,"id":"' + id.encode() + b'","queue":\x7f broken'
        copies: list[Any] = []

        async def receive() -> list[Any]:
            pages = client.receive_messages(max_messages=32, visibility_timeout=30)
            return [one async for one in pages]

        while some := await self.session.call("damaging", receive):
            copies += some
        for one in copies:
            words: dict[str, Any] = {"visibility_timeout": 0}
            if copy_text.read(one.content).id == id:
                words["content"] = raw.decode()
            await self.session.call("damaging", partial(client.update_message, one.id, one.pop_receipt, **words))
        return raw

    async def drop_deadline(self, id: str) -> None:
        """A lease and its deadline are one row here."""
        await Harness.drop_deadline(self, id)

    async def remove_queue(self, queue: str) -> None:
        """Delete it, behind the adapter's back."""
        session = self.session
        with contextlib.suppress(StoreMissing):
            await session.call("removing", session.queue(queue).delete_queue)
        session.options = msgspec.structs.replace(session.options, create=False)

    async def make_queue(self, queue: str) -> None:
        """As somebody would by hand."""
        await self.session.create(self.session.queue(queue).create_queue)


class RedisStateHarness(AzureHarness):
    """The state in Valkey."""

    def _make_table(self) -> MakeTable:
        url = f"{shared('valkey9').url}?prefix={self._options.prefix}"
        options = redis.read_options(url, urlsplit(url))
        wall = ServerWall(self.clock)

        def make(_store: object) -> RedisTable:
            table = RedisTable(options, self.clock)
            table._store.wall = wall  # in virtual time one server's clock, whenever a table was made
            return table

        return make


class LocalStateHarness(AzureHarness):
    """The state in a file."""

    fills_boards = True
    has_own_clock = False

    def __init__(self, fault: FaultWrapper | None = None) -> None:
        """The file is made when it is first opened."""
        super().__init__(fault)
        self._folder = tempfile.mkdtemp(prefix="tenure-")

    def _make_table(self) -> MakeTable:
        return lambda _store: LocalTable(f"{self._folder}/state.db", self.clock)

    async def clean_up(self) -> None:
        """Remove the file."""
        await super().clean_up()
        shutil.rmtree(self._folder, ignore_errors=True)


class RowStoreRedisHarness(RowStoreAzureHarness, RedisStateHarness):
    """The shared core, with its rows in Valkey."""


class RowStoreLocalHarness(RowStoreAzureHarness, LocalStateHarness):
    """The shared core, with its rows in a file."""

    options = RowStoreAzureHarness.options
