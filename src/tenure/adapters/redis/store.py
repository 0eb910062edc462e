"""The store: one server, or several that act as one, shared by the broker and the state that stand on it.

Belongs to one event loop; another thread's loop gets a store of its own (`twin`). It knows the time, the names of keys
and which queues there are, and carries out scripts. It opens with the first `open` and closes with the last `close`.
"""

import asyncio
import logging
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redis.asyncio.connection import Connection
from redis.exceptions import RedisError

from tenure.adapters.redis import faults, foreign_keys
from tenure.adapters.redis.cluster import ClusterLink
from tenure.adapters.redis.connecting import connection_to
from tenure.adapters.redis.naming import RedisNames
from tenure.adapters.redis.options import RedisOptions
from tenure.adapters.redis.replication import Replication
from tenure.adapters.redis.script import Script
from tenure.adapters.redis.sentinel import SentinelLink
from tenure.adapters.redis.server_check import check
from tenure.adapters.redis.server_wall import ServerWall
from tenure.adapters.redis.subscriber import Subscriber
from tenure.adapters.redis.topology import ScriptCall, Topology
from tenure.clock import Clock, SystemClock
from tenure.errors import BrokerError, ConfigurationError
from tenure.finding import Finding
from tenure.message import Message
from tenure.owner import retired

logger = logging.getLogger("tenure.redis")

#: On the list of queues that have something: the time less this is the score of one that is ready (`lua/listed.lua`).
READY = 1 << 52
#: The ways to each kind of place.
_LINKS = {"one": Topology, "sentinel": SentinelLink, "cluster": ClusterLink}
#: The name of a queue is written again after this time: the server may have been flushed.
_KNOWN_SECONDS = 30.0

#: Every listener of a loop; in virtual time a write waits until all of them have received it.
_LISTENERS: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.WeakSet[Subscriber]]" = (
    weakref.WeakKeyDictionary()
)


def micros(seconds: float) -> int:
    """Whole microseconds."""
    return round(seconds * 1_000_000)


def read_queues(raws: Iterable[bytes]) -> list[str]:
    """The names of queues; without those that are not text, and so are foreign."""
    queues = []
    for raw in raws:
        try:
            queues.append(raw.decode())
        except UnicodeDecodeError:
            foreign_keys.tell("the list of queues", raw)
    return queues


class RedisStore:
    """One place for messages and state."""

    def __init__(
        self, options: RedisOptions, clock: Clock, *, must_exist: bool = False, wall: ServerWall | None = None
    ) -> None:
        """Take the options and the clock. `open` connects."""
        self.options = options
        self._must_exist = must_exist
        self.clock = clock
        #: What the server's wall clock shows; twins go on from what is known here.
        self.wall = ServerWall(clock) if wall is None else wall
        #: A clock that is not the machine's decides itself; else the server's does.
        self.is_virtual = not isinstance(clock, SystemClock)
        self.link: Topology = _LINKS[options.kind](options)
        self.names = RedisNames(options.prefix, is_cluster=self.link.is_cluster)
        self.listener = self._new_listener()
        self._keep = str(micros(options.keep_seconds))
        self._known: dict[str, float] = {}
        #: Likewise the queues that were noted as `announcing`.
        self._announcing: dict[str, float] = {}
        #: Findings about how the server is set up.
        self.findings: list[Finding] = []
        self._has_waitaof = False
        #: How often the link had dropped its connections when the listener was last updated.
        self._drops = 0
        #: How often queues had their turn, in a cluster.
        self._turns = 0
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
                    await self.commands_and_time(self.names.common, [])
                except BaseException:
                    await self.link.close()
                    raise
                self._users = 0
            self._users += 1

    async def close(self) -> None:
        """Remove one user of the connections. The last one closes them."""
        if self._pid != os.getpid() or self._users == 0:
            return
        self._users -= 1
        if self._users == 0:
            await self.listener.close()
            await self.link.close()

    def twin(self) -> "RedisStore":
        """The same place, for another loop."""
        return RedisStore(self.options, self.clock, must_exist=self._must_exist, wall=self.wall)

    def busy(self) -> bool:
        """Whether an answer is on its way."""
        return self._busy > 0 or self.listener.pending > 0

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self.link = _LINKS[self.options.kind](self.options)
        self._drops = 0
        self.listener = self._new_listener()
        self._forget_known()
        self._pid = os.getpid()
        _LISTENERS.setdefault(loop, weakref.WeakSet()).add(self.listener)
        # A loop in virtual time must not let time pass while the server is at work for it.
        watch = getattr(loop, "watch", None)
        if watch is not None:
            watch(self.busy)

    def _new_listener(self) -> Subscriber:
        # What ended this connection has likely ended the others, and they do not notice.
        return Subscriber(self._connect_listener, self.options.place, self._drop, self.options.timeout_seconds)

    async def _drop(self) -> None:
        await self.link.drop()
        self._drops = self.link.drops
        self._forget_known()  # perhaps it came back empty

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

    def call(self, script: Script, queues: Sequence[str], arguments: Sequence[Any]) -> ScriptCall:
        """A run of `script` on these queues, which share a slot; none: on what belongs to no queue."""
        names = self.names
        keys = [names.queue(queue) for queue in queues]
        keys.append(names.beside(queues[0]) if queues else names.common)
        clock = self.clock
        now = str(micros(clock.monotonic())) if self.is_virtual else ""
        return ScriptCall(script, keys, [now, repr(clock.wall()), self._keep, *arguments])

    async def run(self, script: Script, queues: Sequence[str], *arguments: Any, writes: bool = True) -> Any:
        """Run one script."""
        (answer,) = await self.run_all([self.call(script, queues, arguments)], writes=writes)
        return answer

    async def run_all(self, calls: Iterable[ScriptCall], *, writes: bool = True, keeps: bool = False) -> list[Any]:
        """Run scripts, in order where they run on one server.

        `keeps`: the caller relies on this write. With `durability=replicated`, return when a replica has it.
        """
        self._require_open()
        if isinstance(calls, list) and not calls:
            return []
        return await self._run(calls, writes=writes, keeps=keeps, each=False)

    async def run_each(self, calls: Sequence[ScriptCall], *, writes: bool = True) -> list[Any]:
        """Run scripts on one queue each, where the garbage in one must not stop the others.

        The answer of a queue in which a key is not ours is a `StoreForeign`; nothing was changed there.
        """
        self._require_open()
        return await self._run(calls, writes=writes, keeps=False, each=True) if calls else []

    async def _run(self, calls: Iterable[ScriptCall], *, writes: bool, keeps: bool, each: bool) -> list[Any]:
        options, confirmation = self.options, None
        if keeps and options.durability == "replicated":
            confirmation = Replication(options.timeout_seconds, disk_too=self._has_waitaof)
        self._busy += 1
        try:
            answers = await self.link.run_all(calls, confirmation, each=each)
            if writes and self.is_virtual:
                await self._let_hear()
        finally:
            await self._end_work()
        return answers

    def checked(self, answers: list[Any], *, each: bool = False) -> list[Any]:
        """Return the answers, or raise the first error among them.

        `each`: where a key is not ours, the answer is a `StoreForeign`, as in `run_each`.
        """
        return self.link.all_checked(answers, each=each)

    async def command(self, *command: Any) -> Any:
        """Send one plain command about a key that belongs to no queue."""
        return await self.command_at(self.names.common, *command)

    async def command_at(self, key: str, *command: Any) -> Any:
        """Send one plain command to the server that has `key`."""
        self._require_open()
        self._busy += 1
        try:
            return await self.link.command(key, *command)
        finally:
            await self._end_work()

    async def commands_at(self, key: str, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Send several plain commands to the server that has `key`."""
        self._require_open()
        self._busy += 1
        try:
            return await self.link.commands(key, commands)
        finally:
            await self._end_work()

    async def commands_and_time(self, key: str, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Run several commands, and read the server's time in the same exchange."""
        asked = self.clock.monotonic()
        *answers, told = await self.commands_at(key, [*commands, ("TIME",)])
        self.wall.hear(told, asked)
        return answers

    async def _end_work(self) -> None:
        self._busy -= 1
        drops = self.link.drops
        if drops != self._drops:
            # It lost its way, or found that it leads to another server. The listener would not notice: nothing is
            # said on its line for hours.
            self._drops = drops
            self._forget_known()
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
        await self._make_known(self.names.queues, self._known, queues)

    async def make_announcing(self, messages: Iterable[Message]) -> None:
        """In a cluster: note the queues of those that ask to be announced, before they are sent."""
        if self.link.is_cluster:
            await self.make_announcing_in(message.queue for message in messages if message.announce)

    async def make_announcing_in(self, queues: Iterable[str]) -> None:
        """In a cluster: note that messages in these queues ask to be announced (`announcing.py`)."""
        if self.link.is_cluster:
            await self._make_known(self.names.announcing, self._announcing, dict.fromkeys(queues))

    async def _make_known(self, key: str, known: dict[str, float], queues: Iterable[str]) -> None:
        now = self.clock.monotonic()
        new = [queue for queue in queues if now - known.get(queue, -_KNOWN_SECONDS) >= _KNOWN_SECONDS]
        if new:
            are_there = await self.command("SMISMEMBER", key, *new)
            missing = [queue for queue, is_there in zip(new, are_there, strict=True) if not is_there]
            if missing:  # else nothing is written: a full server must go on lending
                await self.command("SADD", key, *missing)
            known.update(dict.fromkeys(new, now))

    def knows(self, queues: Iterable[str]) -> list[bool]:
        """Whether each was made known lately."""
        since, known = self.clock.monotonic() - _KNOWN_SECONDS, self._known
        return [known.get(queue, since) > since for queue in queues]

    def note_known(self, queues: Iterable[str]) -> None:
        """They were made known just now."""
        self._known.update(dict.fromkeys(queues, self.clock.monotonic()))

    def not_known(self, queue: str) -> None:
        """Make it known again with the next message."""
        self._known.pop(queue, None)
        self._announcing.pop(queue, None)

    def _forget_known(self) -> None:
        self._known.clear()
        self._announcing.clear()

    async def queues(self) -> list[str]:
        """Every queue there is, by name; one that stayed empty may have been forgotten."""
        return sorted(read_queues(await self.command("SMEMBERS", self.names.queues)))

    async def hint(self, queues: Iterable[str]) -> None:
        """Put queues that received something on the list, in a cluster, where scripts do not reach it."""
        if self.link.is_cluster:
            await self.list_again(dict.fromkeys(queues, 0))

    async def list_again(self, waits: Mapping[str, int], *, asked: bool = False) -> None:
        """In a cluster: list queues by the microseconds until something is ready there; below 0: there is nothing.

        `asked`: they were just asked, so whatever the list says is out of date. Else nothing is put off.
        What was done is done, whatever becomes of the hint: all queues are looked at again and again.
        """
        if not waits:
            return
        now = micros(self.clock.monotonic() if self.is_virtual else self.wall.now())
        names, commands = self.names, list[tuple[Any, ...]]()
        found = [queue for queue, wait in waits.items() if wait >= 0]
        if found:
            self._turns += asked
            ready = now - READY + (self._turns if asked else 0)  # behind those that had no turn at this moment
            scores = [(now + waits[queue] if waits[queue] else ready, names.queue(queue)) for queue in found]
            commands.append(
                ("ZADD", names.busy, *(() if asked else ("LT",)), *[value for pair in scores for value in pair])
            )
            commands.append(("SADD", names.queues, *found))
        empty = [names.queue(queue) for queue, wait in waits.items() if wait < 0]
        if empty:
            commands.append(("ZREM", names.busy, *empty))
        try:
            await self.commands_at(names.common, commands)
        except (BrokerError, ConfigurationError) as error:
            logger.debug("could not list the queues as non-empty (%s); the next look at all queues lists them", error)
