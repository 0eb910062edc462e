"""Where a contender's messages are while things go wrong: a store, what can be done to it, and what it still has.

A fault that a store does not know raises `NotPossible` with the reason.
"""

import asyncio
import fnmatch
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from redis import Redis
from tests.servers import Proxy, start_redis

from benchmarks.proof.peer import Contender, Store
from benchmarks.proof.program import Program, Worker
from benchmarks.proof.verdict import Whereabouts
from tenure import Tenure
from tenure.adapters.redis.naming import RedisNames
from tenure.message import MessageState

QUEUE = "default-tasks"
_GARBAGE = (b"{not json", b"\xff\x00", b"")


class NotPossible(Exception):
    """A store cannot meet with a fault."""


class Place(Protocol):
    """One store, for one contender."""

    #: What programs are told, that go straight to it.
    direct: dict[str, object]
    #: What workers are told: there may be a proxy in their way.
    detour: dict[str, object]
    #: It has so many times fewer messages than the others: a stand-in for a cloud takes long for each.
    share: int

    def restart(self, away: float) -> None:
        """Kill the store, and start it again with its data so many seconds later."""
        ...

    def cut(self) -> None:
        """End every connection of the workers."""
        ...

    def refuse(self, seconds: float) -> None:
        """Refuse to write for so long."""
        ...

    def malform(self, program: Program) -> None:
        """Put entries into the queue that cannot be read."""
        ...

    def freeze(self, worker: Worker) -> None:
        """Freeze a worker at a moment when others can go on."""
        ...

    def where(self, contender: Contender, ids: Iterable[str]) -> dict[str, Whereabouts]:
        """Where messages are that did not come to their end."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


class RedisPlace:
    """A Valkey of its own, which keeps its data on disk, behind a proxy."""

    share = 1

    def __init__(self, folder: Path) -> None:
        """Start both."""
        self._server = start_redis("valkey9", folder, appendonly=True)
        self._proxy = Proxy(self._server.port)
        self.direct: dict[str, object] = {"port": self._server.port, "store": self._server.url}
        port = self._proxy.port
        self.detour: dict[str, object] = {"port": port, "store": f"redis://127.0.0.1:{port}/0"}

    def restart(self, away: float) -> None:
        """`kill -9`."""
        self._server.kill()
        time.sleep(away)
        self._server.restart()

    def cut(self) -> None:
        """At the proxy."""
        self._proxy.cut()
        self._proxy.pass_on()

    def refuse(self, seconds: float) -> None:
        """Every write, scripts too, is answered NOREPLICAS."""
        self._server.ask("CONFIG", "SET", "min-replicas-to-write", "1")
        time.sleep(seconds)
        self._server.ask("CONFIG", "SET", "min-replicas-to-write", "0")

    def malform(self, program: Program) -> None:
        """By the peer's own program, which knows its keys."""
        if program.contender.peer.key != "tenure":
            program.ask("malform")
            return
        names = RedisNames("tenure", is_cluster=False)
        with Redis(port=self._server.port) as redis:
            for number, entry in enumerate(_GARBAGE):
                redis.xadd(f"{names.queue(QUEUE)}s5", {b"i": f"bad-{number}".encode(), b"e": entry})

    def freeze(self, worker: Worker) -> None:
        """At any moment."""
        worker.freeze()

    def where(self, contender: Contender, ids: Iterable[str]) -> dict[str, Whereabouts]:
        """Of Tenure's by their records; of others by looking for the id in everything that the server holds."""
        if contender.peer.key == "tenure":
            return recorded(str(self.direct["store"]), ids)
        with Redis(port=self._server.port) as redis:
            held = {key.decode(errors="replace"): _content(redis, key) for key in redis.scan_iter(count=1000)}
        dead = [text for key, text in held.items() if any(fnmatch.fnmatch(key, one) for one in contender.peer.dead)]
        return {id: _find(id.encode(), dead, list(held.values())) for id in ids}

    def close(self) -> None:
        """Both."""
        self._proxy.stop()
        self._server.stop()


def _find(id: bytes, dead: list[bytes], held: list[bytes]) -> Whereabouts:
    if any(id in text for text in dead):
        return "dead"
    return "waiting" if any(id in text for text in held) else "gone"


def _content(redis: Any, key: bytes) -> bytes:
    """Everything in a key, and its name."""
    match redis.type(key):
        case b"string":
            parts = [redis.get(key) or b""]
        case b"list":
            parts = redis.lrange(key, 0, -1)
        case b"hash":
            parts = [part for pair in redis.hgetall(key).items() for part in pair]
        case b"zset":
            parts = redis.zrange(key, 0, -1)
        case b"set":
            parts = list(redis.smembers(key))
        case b"stream":
            parts = [part for _, fields in redis.xrange(key) for pair in fields.items() for part in pair]
        case _:
            parts = []
    return b"\n".join([key, *parts, *filter(None, map(_unpacked, parts))])


def _unpacked(part: bytes) -> bytes:
    try:
        return zlib.decompress(part)
    except zlib.error:
        return b""


def recorded(url: str, ids: Iterable[str]) -> dict[str, Whereabouts]:
    """By Tenure's own records."""

    async def look() -> dict[str, Whereabouts]:
        found: dict[str, Whereabouts] = {}
        async with Tenure(url) as app:
            for id in ids:
                record = await app.record(id)
                if record is None or record.state is MessageState.COMPLETED:
                    found[id] = "gone"
                else:
                    found[id] = "dead" if record.state is MessageState.DEAD else "waiting"
        return found

    return asyncio.run(look())


class SqlitePlace:
    """A file on the disk that holds the project."""

    share = 1

    def __init__(self, folder: Path) -> None:
        """Nothing is made before it is used."""
        self._file = folder / "proof.db"
        self._url = f"sqlite:///{self._file}"
        self.direct: dict[str, object] = {"store": self._url}
        self.detour = self.direct

    def restart(self, away: float) -> None:
        """There is no server."""
        del away
        raise NotPossible("no server")

    def cut(self) -> None:
        """There is no connection."""
        raise NotPossible("no connection")

    def refuse(self, seconds: float) -> None:
        """Somebody else holds the write lock."""
        with closing(sqlite3.connect(self._file, timeout=60, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)
            db.execute("ROLLBACK")

    def malform(self, program: Program) -> None:
        """Write over the envelopes of messages that wait."""
        ids = [f"bad-{os.urandom(6).hex()}" for _ in _GARBAGE]
        program.ask("send", messages=[(id, "work", 0.0) for id in ids])
        with closing(sqlite3.connect(self._file, timeout=60)) as db:
            for id, entry in zip(ids, _GARBAGE, strict=True):
                db.execute("UPDATE message SET envelope = ? WHERE id = ?", (entry, id))
            db.commit()

    def freeze(self, worker: Worker) -> None:
        """When it does not hold the write lock: else nobody could go on."""
        while True:
            worker.freeze()
            with closing(sqlite3.connect(self._file, timeout=0.2, isolation_level=None)) as db:
                try:
                    db.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError:
                    worker.resume()
                else:
                    return

    def where(self, contender: Contender, ids: Iterable[str]) -> dict[str, Whereabouts]:
        """By their records."""
        del contender
        return recorded(self._url, ids)

    def close(self) -> None:
        """The file goes with the folder."""


#: Stand-ins are shared; they are started by one thread only.
_STARTING = threading.Lock()


def make_place(store: Store, folder: Path, fault: str) -> Place:
    """The store of one contender, for one fault. Raises NotInstalled where a stand-in is not here."""
    match store:
        case "redis":
            return RedisPlace(folder)
        case "sqlite":
            return SqlitePlace(folder)
        case _:
            # Needs packages of its own.
            from benchmarks.proof.cloud_place import CloudPlace  # noqa: PLC0415

            with _STARTING:
                return CloudPlace(store, refuses=fault == "refused_ack")
