"""The board: what operators and schedules tell every worker.

Every worker reads it once a second: two commands in one exchange. How many leased messages were cancelled is counted in
the step that cancels (`lua/cancel.lua`).
"""

import msgspec

from tenure.adapters.redis.script import BOARD
from tenure.adapters.redis.store import Store
from tenure.notice import Notices, Pause, Tick

_encode = msgspec.json.Encoder().encode
_pause = msgspec.json.Decoder(Pause).decode
_tick = msgspec.json.Decoder(Tick).decode


class RedisBoard:
    """Pauses and ticks in the store."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        self._common = store.names.common

    async def read(self) -> Notices:
        """Everything a worker must know."""
        commands = [("GET", f"{self._common}cancels"), ("HVALS", f"{self._common}pauses")]
        cancels, pauses = await self._store.commands_at(self._common, commands)
        count = await self._cancels() if self._store.link.is_cluster else int(cancels or 0)
        return Notices(tuple(sorted((_pause(raw) for raw in pauses), key=lambda pause: pause.queue)), count)

    async def _cancels(self) -> int:
        """In a cluster each queue counts for itself, in its own slot."""
        store = self._store
        keys = [f"{store.names.beside(queue)}cancels" for queue in await store.queues()]
        return sum([int(await store.command_at(key, "GET", key) or 0) for key in keys])

    async def pause(self, pause: Pause) -> bool:
        """Ask workers to lease nothing from a queue."""
        return bool(await self._store.command("HSETNX", f"{self._common}pauses", pause.queue, _encode(pause)))

    async def resume(self, queue: str) -> bool:
        """Let workers lease again."""
        return bool(await self._store.command("HDEL", f"{self._common}pauses", queue))

    async def tick(self, tick: Tick) -> bool:
        """Note the newest tick of a schedule."""
        return bool(await self._store.run(BOARD, (), tick.schedule, repr(tick.at), _encode(tick)))

    async def ticks(self) -> list[Tick]:
        """The newest tick of every schedule, by name."""
        ticks = [_tick(raw) for raw in await self._store.command("HVALS", f"{self._common}ticks")]
        return sorted(ticks, key=lambda tick: tick.schedule)

    async def forget(self, schedule: str) -> bool:
        """Forget a schedule that is no more."""
        common = self._common
        commands = [("HDEL", f"{common}ticks", schedule), ("HDEL", f"{common}ticks:at", schedule)]
        known, _ = await self._store.commands_at(common, commands)
        return bool(known)
