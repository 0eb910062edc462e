"""A store in a file of its own, and other processes that use the same file."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

import tenure
from tenure.adapters.sqlite import SqliteBroker, SqliteState, connect
from tenure.broker import Sent
from tenure.clock import Clock
from tenure.lease import Lease, LeaseRequest
from tenure.message import Message, Outgoing
from tenure.record import Record
from tenure.testing.virtual import VirtualClock

QUEUE = "mail"


def message(id: str, **changes: Any) -> Message:
    fields = {"id": id, "queue": QUEUE, "task": "deliver", "body": msgspec.Raw(b'{"to":"ada"}')}
    return Message(**{**fields, **changes})


class Place:
    """Broker and state over one file, open from `async with` to its end."""

    def __init__(self, path: Path, clock: Clock | None = None, **options: Any) -> None:
        self.path = path
        self.clock = clock or VirtualClock()
        self.broker: SqliteBroker
        self.state: SqliteState
        self.broker, self.state = connect(str(path), clock=self.clock, **{"synchronous": "normal", **options})

    @property
    def store(self) -> Any:
        return self.broker._store

    async def __aenter__(self) -> Self:
        await self.broker.open()
        await self.state.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.state.close()
        await self.broker.close()

    async def send(self, *ids: str, delay: float = 0.0, **changes: Any) -> list[Sent]:
        return await self.broker.send([Outgoing(message(id, **changes), delay) for id in ids])

    async def lease(self, want: int = 1, owner: str = "w/1", **changes: Any) -> list[Lease]:
        fields = {"owner": owner, "request_id": "r", "queues": (QUEUE,), "want": want, "seconds": 30.0}
        return await self.broker.lease(LeaseRequest(**{**fields, **changes}))

    async def record(self, id: str) -> Record:
        record = await self.state.records.get(id)
        assert record is not None
        return record

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Behind the adapter's back."""
        with contextlib.closing(sqlite3.connect(self.path)) as db, db:
            return db.execute(statement, values).fetchall()


def start(script: str, *arguments: object) -> "subprocess.Popen[str]":
    """Another process; it speaks by lines."""
    folder = str(Path(tenure.__file__).parents[1]) if tenure.__file__ else str(Path(tenure.__path__[0]).parent)
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": folder},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def say(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


@contextlib.contextmanager
def ended(process: "subprocess.Popen[str]") -> Any:
    """Whatever happens, the process does not outlive the test."""
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
