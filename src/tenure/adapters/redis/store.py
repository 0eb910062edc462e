"""The store: one server, or several that act as one, shared by the broker and the state that stand on it.

Belongs to one event loop; another thread's loop gets a store of its own (`twin`). It knows the time, the names of keys
and which queues there are, and carries out scripts. It opens with the first `open` and closes with the last `close`.
"""

import asyncio
import logging
import os
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from redis.asyncio.connection import Connection
from redis.exceptions import RedisError

from tenure.adapters.redis import faults
from tenure.adapters.redis.link import Call, Link, connection_to, link_to
from tenure.adapters.redis.listening import Listener
from tenure.adapters.redis.naming import Names
from tenure.adapters.redis.options import Options
from tenure.adapters.redis.script import LOOK, Script
from tenure.clock import Clock, SystemClock
from tenure.errors import BrokerError, ConfigurationError

logger = logging.getLogger("tenure.redis")

_OLDEST = (6, 2)
#: A queue that was made known so long ago is made known again: somebody may have flushed the server.
_KNOWN_SECONDS = 30.0

#: Every listener of a loop; in virtual time a write waits until all of them have heard of it.
_LISTENERS: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.WeakSet[Listener]]" = (
    weakref.WeakKeyDictionary()
)


def micros(seconds: float) -> int:
    """Whole microseconds."""
    return round(seconds * 1_000_000)


class Store:
    """One place for messages and state."""

    def __init__(self, options: Options, clock: Clock) -> None:
        """Nothing is opened yet."""
        self.options = options
        self.clock = clock
        #: A clock that is not the machine's decides itself; else the server's does.
        self.is_virtual = not isinstance(clock, SystemClock)
        self.link: Link = link_to(options)
        self.names = Names(options.prefix, is_cluster=self.link.is_cluster)
        #: What others find in the server's list of connections, for as long as this process lives.
        self.token = os.urandom(8).hex()
        self.listener = self._new_listener()
        self._keep = str(micros(options.keep_seconds))
        self._known: dict[str, float] = {}
        self._users = 0
        self._pid = 0
        self._busy = 0
        self._opening = asyncio.Lock()

    # --- its life ---------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect and look at the server, for one more user."""
        async with self._opening:
            if self._users == 0 or self._pid != os.getpid():
                self._start()
                await self._check()
                self._users = 0
            self._users += 1

    async def close(self) -> None:
        """One user less; the last one closes all connections."""
        if self._pid != os.getpid() or self._users == 0:
            return
        self._users -= 1
        if self._users == 0:
            await self.listener.close()
            await self.link.close()

    def twin(self) -> "Store":
        """The same place, for another loop."""
        return Store(self.options, self.clock)

    def busy(self) -> bool:
        """Whether an answer is on its way."""
        return self._busy > 0 or self.listener.pending > 0

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self.link = link_to(self.options)
        self.listener = self._new_listener()
        self._known.clear()
        self._pid = os.getpid()
        _LISTENERS.setdefault(loop, weakref.WeakSet()).add(self.listener)
        # A loop in virtual time must not let time pass while the server is at work for it.
        watch = getattr(loop, "watch", None)
        if watch is not None:
            watch(self.busy)

    async def _check(self) -> None:
        """Old servers cannot do it; a server that drops keys will lose messages."""
        info = await self.command("INFO", "server")
        said = dict(line.partition(":")[::2] for line in bytes(info).decode(errors="replace").splitlines())
        version = said.get("redis_version", "0")
        if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < _OLDEST:
            raise faults.too_old(self.options.place, version)
        try:
            _, policy = await self.command("CONFIG", "GET", "maxmemory-policy")
        except (ConfigurationError, BrokerError, ValueError):
            return  # not everybody may ask, and hosted servers do not tell
        if policy != b"noeviction":
            logger.warning(
                "%s may drop keys when its memory is full (maxmemory-policy is %s), and messages with them; set it to "
                "noeviction [eviction_policy]",
                self.options.place,
                policy.decode(),
            )

    def _new_listener(self) -> Listener:
        # What ended this connection has likely ended the others, and they do not notice.
        return Listener(self._connect_listener, self.options.place, self._drop)

    async def _drop(self) -> None:
        await self.link.drop()

    async def _connect_listener(self) -> Connection:
        address = await self.link.address_of(self.names.common)
        connection = connection_to(self.options, address, client_name=f"tenure:{self.token}")
        try:
            async with asyncio.timeout(self.options.timeout_seconds):
                await connection.connect()  # type: ignore[no-untyped-call]
        except (TimeoutError, OSError, RedisError) as error:
            raise faults.translate(error, self.options.place, sent=False) from error
        return connection

    # --- asking -----------------------------------------------------------------------------------------

    def call(self, script: Script, queues: Sequence[str], arguments: Sequence[Any]) -> Call:
        """A run of `script` on these queues, which share a slot; none: on what belongs to no queue."""
        names = self.names
        keys = [names.queue(queue) for queue in queues]
        keys.append(names.beside(queues[0]) if queues else names.common)
        clock = self.clock
        now = str(micros(clock.monotonic())) if self.is_virtual else ""
        return Call(script, keys, [now, repr(clock.wall()), self._keep, *arguments])

    async def run(self, script: Script, queues: Sequence[str], *arguments: Any, writes: bool = True) -> Any:
        """Run one script."""
        (answer,) = await self.run_all([self.call(script, queues, arguments)], writes=writes)
        return answer

    async def run_all(self, calls: Iterable[Call], *, writes: bool = True) -> list[Any]:
        """Run scripts, in order where they lie on one server."""
        self._require_open()
        if isinstance(calls, list) and not calls:
            return []
        self._busy += 1
        try:
            answers = await self.link.run_all(calls)
            if writes and self.is_virtual:
                await self._let_hear()
        finally:
            self._busy -= 1
        return answers

    async def command(self, *command: Any) -> Any:
        """One plain command about what belongs to no queue."""
        return await self.command_at(self.names.common, *command)

    async def command_at(self, key: str, *command: Any) -> Any:
        """One plain command, on the server that has `key`."""
        self._require_open()
        self._busy += 1
        try:
            return await self.link.command(key, *command)
        finally:
            self._busy -= 1

    async def commands_at(self, key: str, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Several."""
        self._require_open()
        self._busy += 1
        try:
            return await self.link.commands(key, commands)
        finally:
            self._busy -= 1

    async def replicate(self) -> None:
        """With `durability=replicated`: return when a replica has what was written."""
        if self.options.durability == "replicated":
            count = await self.command("WAIT", 1, round(1000 * self.options.timeout_seconds))
            if count < 1:
                raise faults.not_replicated(self.options.place)

    def _require_open(self) -> None:
        if self._users == 0 and self._pid != os.getpid():
            raise faults.closed(self.options.place)
        if self._pid != os.getpid():
            raise faults.forked(self.options.place)

    async def _let_hear(self) -> None:
        for listener in list(_LISTENERS.get(asyncio.get_running_loop(), ())):
            await listener.settle(self.link.publish_everywhere)

    async def refuse_banned(self, owner: str) -> None:
        """In a cluster a queue that came later does not know who is banned; what belongs to no queue does."""
        if await self.command("ZSCORE", f"{self.names.common}ban", owner) is not None:
            raise faults.retired(owner)

    # --- queues -----------------------------------------------------------------------------------------

    async def make_known(self, queues: Iterable[str]) -> None:
        """Note that there are such queues, before anything is put into them."""
        now = self.clock.monotonic()
        new = [queue for queue in queues if now - self._known.get(queue, -_KNOWN_SECONDS) >= _KNOWN_SECONDS]
        if new:
            await self.command("SADD", self.names.queues, *new)
            self._known.update(dict.fromkeys(new, now))

    async def queues(self) -> list[str]:
        """Every queue that was ever used here."""
        return sorted(one.decode() for one in await self.command("SMEMBERS", self.names.queues))

    # --- waiting ----------------------------------------------------------------------------------------

    async def wait(self, queues: Sequence[str], limit: float) -> None:
        """Return when something may have become leasable in `queues`, or after `limit` seconds."""
        deadline = self.clock.monotonic() + limit
        channels = [self.names.wake(queue) for queue in queues]
        await self.listener.subscribe(channels)
        # First enter, then look: what happens after the look is heard.
        waiter = self.listener.enter(channels)
        try:
            due_in = await self._leasable_in(queues)
            left = deadline - self.clock.monotonic()
            if due_in is not None:
                left = min(left, due_in)
            if left > 0:
                await asyncio.wait((waiter,), timeout=left)
            if waiter.done() and not waiter.result():
                raise faults.away(self.options.place, None, sent=False)
        finally:
            self.listener.leave(waiter)

    async def _leasable_in(self, queues: Sequence[str]) -> float | None:
        groups = [[queue] for queue in queues] if self.link.is_cluster else [list(queues)]
        answers = await self.run_all([self.call(LOOK, group, ()) for group in groups], writes=False)
        # A timer may go off a hair too early.
        return min(((answer + 1) / 1e6 if answer else 0.0 for answer in answers if answer >= 0), default=None)
