"""What the adapters bring along to the conformance suites."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from tenure.adapters import memory, sqlite
from tenure.broker import Broker
from tenure.owner import Owner
from tenure.state import State
from tenure.testing.harness import FaultWrapper, Harness


class MemoryHarness(Harness):
    """The in-memory broker in its exact shape."""

    exact = True
    changes: ClassVar[dict[str, Any]] = {}

    def __init__(self, fault: FaultWrapper | None = None) -> None:
        """A private store."""
        super().__init__(fault)
        self._broker, self._state = memory.connect(clock=self.clock, exact=self.exact, **self.changes)

    async def connect(self) -> tuple[Broker, State]:
        """Open the only store there is."""
        await self._broker.open()
        await self._state.open()
        return self._broker, self._state

    async def damage(self, id: str) -> bytes:
        """Write over the stored bytes."""
        return self._state.damage(id)

    async def drop_deadline(self, id: str) -> None:
        """Forget the deadline."""
        self._state.drop_deadline(id)


class LooseMemoryHarness(MemoryHarness):
    """The in-memory broker as a cloud queue: it knows neither keys nor results."""

    exact = False


class SmallMemoryHarness(MemoryHarness):
    """The in-memory broker with the limits of a small cloud queue: few at a time, not for long, no priorities."""

    exact = False
    changes: ClassVar[dict[str, Any]] = {
        "min_lease_seconds": 1.0,
        "max_lease_seconds": 43_200.0,
        "max_hold_seconds": 100.0,
        "body_limit": 64 * 1024,
        "batch_limit": 10,
        "lease_byte_limit": 32 * 1024,
        "lease_per_message": False,
        "priority_levels": 1,
        "fairness": None,
    }


class SqliteHarness(Harness):
    """SQLite in a file of its own."""

    def __init__(self, fault: FaultWrapper | None = None) -> None:
        """The file is made when it is first opened."""
        super().__init__(fault)
        self._folder = Path(tempfile.mkdtemp(prefix="tenure-"))
        self._path = str(self._folder / "store.db")

    async def connect(self) -> tuple[Broker, State]:
        """Open the file; what the disk promises is not what is tested here, so it need not be flushed."""
        broker, self._real = sqlite.connect(self._path, clock=self.clock, synchronous="normal")
        await broker.open()
        await self._real.open()
        return broker, self._real

    async def second(self) -> Broker:
        """A connection of its own, as another process would have."""
        broker, _ = sqlite.connect(self._path, clock=self.clock, synchronous="normal")
        await broker.open()
        self._seconds.append(broker)
        return broker if self._fault is None else self._fault.broker(broker, self.clock)

    async def kill(self, owner: Owner) -> None:
        """Free the lock file too, as the kernel does when the process ends."""
        await super().kill(owner)
        presence = self._real._store.presence
        with contextlib.suppress(KeyError):
            os.close(presence._held.pop(owner.id))

    async def go_unseen(self, owner: Owner) -> None:
        """Remove the lock file."""
        self._real._store.presence._file(owner.id).unlink(missing_ok=True)

    async def damage(self, id: str) -> bytes:
        """Write over the stored bytes, behind the adapter's back."""
        raw = b'\xff{"tenure":\x1e\x00 damaged'
        self._execute("UPDATE message SET envelope = ? WHERE id = ?", raw, id)
        return raw

    async def drop_deadline(self, id: str) -> None:
        """Forget the deadline, behind the adapter's back."""
        self._execute("UPDATE message SET moment = NULL WHERE id = ?", id)

    async def reopen(self) -> None:
        """Close the file and open it again."""
        await self._reopen()

    async def clean_up(self) -> None:
        """Remove the file."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _execute(self, statement: str, *values: object) -> None:
        with contextlib.closing(sqlite3.connect(self._path)) as db, db:
            changed = db.execute(statement, values).rowcount
        assert changed == 1
