"""What the Redis adapter brings along to the conformance suites: a prefix of its own on a real server."""

import os
from typing import Any
from urllib.parse import urlsplit

from redis import Redis
from redis.cluster import ClusterNode
from redis.cluster import RedisCluster as Cluster
from tests.servers import Kind
from tests.servers.shared import shared, shared_cluster

from tenure.adapters import redis
from tenure.broker import Broker
from tenure.state import State
from tenure.testing.harness import QUEUE, FaultWrapper, Harness

_DAMAGED = b'\xff{"tenure":\x1e\x00 damaged'
#: Entries of a stream cannot be changed: write it anew, with the same numbers, and lend on from the same place.
_SPOIL = """
local P, id = KEYS[1], ARGV[1]
local record = redis.call('HGET', P .. 'm', id)
local level, place = string.match(record, '^x?(%d)(%d+)|')
if redis.call('HEXISTS', P .. 'x:' .. id, 'e') == 1 then return redis.call('HSET', P .. 'x:' .. id, 'e', ARGV[2]) end
local key = P .. 's' .. level
local entries = redis.call('XRANGE', key, '-', '+')
redis.call('DEL', key)
for _, entry in ipairs(entries) do
  local fields = entry[2]
  if entry[1] == place .. '-0' then fields[4] = ARGV[2] end
  redis.call('XADD', key, entry[1], unpack(fields))
end
redis.call('XGROUP', 'CREATE', key, 'tenure', redis.call('HGET', P .. 'meta', 'c' .. level) or '0')
"""


class RedisHarness(Harness):
    """Valkey 9."""

    kind: Kind = "valkey9"
    has_own_clock = True

    def __init__(self, fault: FaultWrapper | None = None) -> None:
        """A prefix that nobody else has."""
        super().__init__(fault)
        self._prefix = f"t{os.urandom(6).hex()}"
        url = f"{self._url()}?prefix={self._prefix}"
        self._options = redis.read_options(url, urlsplit(url))
        self._raw: Any = self._behind()

    def _url(self) -> str:
        return shared(self.kind).url

    def _behind(self) -> Any:
        """A plain client, to do things behind the adapter's back."""
        return Redis(port=shared(self.kind).port)

    async def connect(self) -> tuple[Broker, State]:
        """Open broker and state over one store."""
        broker, state = redis.connect(self._options, clock=self.clock)
        await broker.open()
        await state.open()
        self._store = broker._store
        return broker, state

    async def damage(self, id: str) -> bytes:
        """Write over the stored bytes, behind the adapter's back."""
        self._raw.eval(_SPOIL, 1, self._store.names.queue(QUEUE), id, _DAMAGED)
        return _DAMAGED

    async def drop_deadline(self, id: str) -> None:
        """Forget the deadline, behind the adapter's back."""
        assert self._raw.zrem(f"{self._store.names.queue(QUEUE)}d", id) == 1

    async def reopen(self) -> None:
        """Close every connection and open new ones."""
        await self._reopen()

    async def clean_up(self) -> None:
        """Remove what is under the prefix."""
        for key in self._raw.scan_iter(f"{self._prefix}:*", count=1000):
            self._raw.unlink(key)
        self._raw.close()


class OldRedisHarness(RedisHarness):
    """Redis 6.2."""

    kind = "redis62"


class DebianRedisHarness(RedisHarness):
    """Redis 7.0, as Debian has it."""

    kind = "redis70"


class ClusterHarness(RedisHarness):
    """Three nodes of Valkey 9 that share the slots."""

    def _url(self) -> str:
        return shared_cluster(self.kind).url

    def _behind(self) -> Any:
        node: Any = ClusterNode
        return Cluster(startup_nodes=[node("127.0.0.1", one.port) for one in shared_cluster(self.kind).nodes])


#: Which of them are run is said in `tests/selection.py`.
SINGLE = (RedisHarness, OldRedisHarness, DebianRedisHarness)

__all__ = ["SINGLE", "ClusterHarness", "DebianRedisHarness", "OldRedisHarness", "RedisHarness"]
