"""The store: one server, or several that act as one, shared by the broker and the state that stand on it.

Belongs to one event loop; another thread's loop gets a store of its own (`twin`). It knows the time, the names of keys
and which queues there are, and carries out scripts. It opens with the first `open` and closes with the last `close`.
"""

import asyncio
import os
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from redis.asyncio.connection import Connection
from redis.exceptions import RedisError

from tenure.adapters.redis import faults, strange
from tenure.adapters.redis.checking import check
from tenure.adapters.redis.cluster import ClusterLink
from tenure.adapters.redis.confirming import Confirmation
from tenure.adapters.redis.connecting import connection_to
from tenure.adapters.redis.link import Call, Link
from tenure.adapters.redis.listening import Listener
from tenure.adapters.redis.naming import Names
from tenure.adapters.redis.options import Options
from tenure.adapters.redis.script import LOOK, Script
from tenure.adapters.redis.sentinel import SentinelLink
from tenure.clock import Clock, SystemClock
from tenure.finding import Finding
from tenure.owner import retired

#: The ways to each kind of place.
_LINKS = {"one": Link, "sentinel": SentinelLink, "cluster": ClusterLink}
#: A queue that was made known so long ago is made known again: somebody may have flushed the server.
_KNOWN_SECONDS = 30.0

#: Every listener of a loop; in virtual time a write waits until all of them have heard of it.
_LISTENERS: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.WeakSet[Listener]]" = (
    weakref.WeakKeyDictionary()
)


def micros(seconds: float) -> int:
    """Whole microseconds."""
    return round(seconds * 1_000_000)


def read_queues(raws: Iterable[bytes]) -> list[str]:
    """The names of queues; without those that are no text, and so are none of ours."""
    queues = []
    for raw in raws:
        try:
            queues.append(raw.decode())
        except UnicodeDecodeError:
            strange.tell("the list of queues", raw)
    return queues


class Store:
    """One place for messages and state."""

    def __init__(self, options: Options, clock: Clock, *, must_exist: bool = False) -> None:
        """Nothing is opened yet."""
        self.options = options
        self._must_exist = must_exist
        self.clock = clock
        #: A clock that is not the machine's decides itself; else the server's does.
        self.is_virtual = not isinstance(clock, SystemClock)
        self.link: Link = _LINKS[options.kind](options)
        self.names = Names(options.prefix, is_cluster=self.link.is_cluster)
        self.listener = self._new_listener()
        self._keep = str(micros(options.keep_seconds))
        self._known: dict[str, float] = {}
        #: What is wrong with how the server is set up.
        self.findings: list[Finding] = []
        self._has_waitaof = False
        #: How often the link had dropped its connections when the listener was last told.
        self._drops = 0
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
                try:
                    self._has_waitaof, self.findings = await check(
                        self.command, self.options, self.names, must_exist=self._must_exist
                    )
                except BaseException:
                    await self.link.close()
                    raise
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
        return Store(self.options, self.clock, must_exist=self._must_exist)

    def busy(self) -> bool:
        """Whether an answer is on its way."""
        return self._busy > 0 or self.listener.pending > 0

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self.link = _LINKS[self.options.kind](self.options)
        self._drops = 0
        self.listener = self._new_listener()
        self._known.clear()
        self._pid = os.getpid()
        _LISTENERS.setdefault(loop, weakref.WeakSet()).add(self.listener)
        # A loop in virtual time must not let time pass while the server is at work for it.
        watch = getattr(loop, "watch", None)
        if watch is not None:
            watch(self.busy)

    def _new_listener(self) -> Listener:
        # What ended this connection has likely ended the others, and they do not notice.
        return Listener(self._connect_listener, self.options.place, self._drop, self.options.timeout_seconds)

    async def _drop(self) -> None:
        await self.link.drop()
        self._drops = self.link.drops
        self._known.clear()  # perhaps it came back empty

    async def _connect_listener(self) -> Connection:
        address = await self.link.address_of(self.names.common)
        connection = connection_to(self.options, address)
        try:
            async with asyncio.timeout(self.options.timeout_seconds):
                await connection.connect()  # type: ignore[no-untyped-call]
        except BaseException as error:
            await connection.disconnect(nowait=True)
            if isinstance(error, OSError | RedisError):  # a TimeoutError is one
                raise faults.translate(error, self.options.place, sent=False) from error
            raise
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

    async def run_all(self, calls: Iterable[Call], *, writes: bool = True, keeps: bool = False) -> list[Any]:
        """Run scripts, in order where they lie on one server.

        `keeps`: this is what somebody relies on. With `durability=replicated`, return when a replica has it.
        """
        self._require_open()
        if isinstance(calls, list) and not calls:
            return []
        options, confirmation = self.options, None
        if keeps and options.durability == "replicated":
            confirmation = Confirmation(options.timeout_seconds, disk_too=self._has_waitaof)
        self._busy += 1
        try:
            answers = await self.link.run_all(calls, confirmation)
            if writes and self.is_virtual:
                await self._let_hear()
        finally:
            await self._end_work()
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
            await self._end_work()

    async def commands_at(self, key: str, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Several."""
        self._require_open()
        self._busy += 1
        try:
            return await self.link.commands(key, commands)
        finally:
            await self._end_work()

    async def _end_work(self) -> None:
        self._busy -= 1
        drops = self.link.drops
        if drops != self._drops:
            # It lost its way, or found that it leads to another server. The listener would not notice: nothing is
            # said on its line for hours.
            self._drops = drops
            self._known.clear()
            await self.listener.hang_up()

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
            raise retired(owner)

    # --- queues -----------------------------------------------------------------------------------------

    async def make_known(self, queues: Iterable[str]) -> None:
        """Note that there are such queues, before anything is put into them."""
        now = self.clock.monotonic()
        new = [queue for queue in queues if now - self._known.get(queue, -_KNOWN_SECONDS) >= _KNOWN_SECONDS]
        if new:
            are_there = await self.command("SMISMEMBER", self.names.queues, *new)
            missing = [queue for queue, is_there in zip(new, are_there, strict=True) if not is_there]
            if missing:  # else nothing is written: a full server must go on lending
                await self.command("SADD", self.names.queues, *missing)
            self._known.update(dict.fromkeys(new, now))

    async def queues(self) -> list[str]:
        """Every queue that was ever used here."""
        return sorted(read_queues(await self.command("SMEMBERS", self.names.queues)))

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
