"""The ground of Redis and Valkey: a prefix of its own on a real server, which all processes share.

Nobody holds a lock there, so a process may be frozen at any moment. Where a scenario harms the server itself, the
server is its own and keeps its data on the disk.
"""

from pathlib import Path
from typing import Any

from redis import Redis
from tests.servers import Kind, RedisServer, start_redis

from tenure.adapters.redis.naming import RedisNames

from .process import Process


class Servers:
    """One server of each kind for a whole run, started when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        """Their files lie in `folder`."""
        self._folder = folder
        self._running: dict[Kind, RedisServer] = {}

    def of(self, kind: Kind) -> RedisServer:
        """The one of this kind."""
        if kind not in self._running:
            self._running[kind] = start_redis(kind, self._folder)
        return self._running[kind]

    def stop(self) -> None:
        """End them all."""
        for server in self._running.values():
            server.stop()


class RedisGround:
    """A prefix on a server."""

    def __init__(self, server: RedisServer, prefix: str, *, own: bool = False) -> None:
        """`own`: the server belongs to this scenario, and ends with it."""
        self.server = server
        self.names = RedisNames(prefix, is_cluster=False)
        #: Where processes connect to, if not to the server itself.
        self.detour: int | None = None
        self._prefix = prefix
        self._own = own
        #: A plain client, to look and to do things behind everybody's back.
        self.raw: Any = Redis(port=server.port)

    def url(self, options: str) -> str:
        """Straight to the server."""
        return self._url(self.server.port, options)

    def url_of_processes(self, options: str) -> str:
        """By the detour, if there is one."""
        return self._url(self.detour or self.server.port, options)

    def _url(self, port: int, options: str) -> str:
        return f"redis://127.0.0.1:{port}/0?prefix={self._prefix}{'&' if options else ''}{options}"

    def freeze(self, process: Process) -> None:
        """At any moment."""
        process.freeze()

    def last_sweep(self) -> object:
        """When it was, by the server's time."""
        return self.raw.hget(f"{self.names.common}meta", "swept")

    def damage(self, queue: str, id: str, raw: bytes) -> None:
        """Entries of a stream cannot be changed: write it anew, with the same numbers."""
        names = self.names.queue(queue)
        record = self.raw.hget(f"{names}m", id)
        level, place = record[:1].decode(), record[1:].partition(b"|")[0]
        stream = f"{names}s{level}"
        entries = self.raw.xrange(stream)
        self.raw.delete(stream)
        for number, fields in entries:
            changed = {**fields, b"e": raw} if number == place + b"-0" else fields
            self.raw.xadd(stream, changed, id=number)
        self.raw.xgroup_create(stream, "tenure", self.raw.hget(f"{names}meta", f"c{level}") or "0")

    def close(self) -> None:
        """Remove what is under the prefix, or the whole server."""
        if self._own:
            self.server.stop()
        else:
            for key in self.raw.scan_iter(f"{self._prefix}:*", count=1000):
                self.raw.unlink(key)
        self.raw.close()
