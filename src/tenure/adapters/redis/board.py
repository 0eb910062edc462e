"""The board: what operators and schedules tell every worker, and whose turn it is.

Every worker reads it once a second: two commands in one exchange. How many leased messages were cancelled is counted in
the step that cancels (`lua/cancel.lua`).
"""

import msgspec

from tenure.adapters.redis import strange
from tenure.adapters.redis.script import BOARD, TURN
from tenure.adapters.redis.store import Store, micros
from tenure.notice import Notices, Pause, Tick

_encode = msgspec.json.Encoder().encode
_pause = msgspec.json.Decoder(Pause)
_tick = msgspec.json.Decoder(Tick)


class RedisBoard:
    """Pauses, ticks and turns in the store."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        self._common = store.names.common

    async def read(self) -> Notices:
        """Everything a worker must know."""
        commands = [("GET", f"{self._common}cancels"), ("HVALS", f"{self._common}pauses")]
        cancels, pauses = await self._store.commands_and_time(self._common, commands)
        count = await self._cancels() if self._store.link.is_cluster else strange.count(cancels, "cancels")
        read = (strange.read(_pause, raw, "pauses") for raw in pauses)
        return Notices(tuple(sorted((pause for pause in read if pause), key=lambda pause: pause.queue)), count)

    async def _cancels(self) -> int:
        """In a cluster each queue counts for itself, in its own slot."""
        store = self._store
        keys = [f"{store.names.beside(queue)}cancels" for queue in await store.queues()]
        return sum([strange.count(await store.command_at(key, "GET", key), "cancels") for key in keys])

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
        raws = await self._store.command("HVALS", f"{self._common}ticks")
        read = (strange.read(_tick, raw, "ticks") for raw in raws)
        return sorted((tick for tick in read if tick), key=lambda tick: tick.schedule)

    async def forget(self, schedule: str) -> bool:
        """Forget a schedule that is no more."""
        return bool(await self._store.run(BOARD, (), schedule))

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Whose turn it is."""
        return bool(await self._store.run(TURN, (), name, token, micros(seconds)))
