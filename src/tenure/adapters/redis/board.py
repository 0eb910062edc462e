"""The board: what operators and schedules tell every worker, and whose turn it is.

Every worker reads it once a second: three commands in one exchange. How many leased messages were cancelled, and the
ids of the last ones, are noted in the step that cancels (`lua/cancel.lua`).
"""

from typing import Any

import msgspec

from tenure.adapters.redis import strange
from tenure.adapters.redis.script import BOARD, TURN
from tenure.adapters.redis.store import Store, micros
from tenure.notice import Notices, Pause, Tick

_encode = msgspec.json.Encoder().encode
_pause = msgspec.json.Decoder(Pause)
_tick = msgspec.json.Decoder(Tick)


def _cancels_at(place: str) -> list[tuple[str, ...]]:
    return [("GET", f"{place}cancels"), ("LRANGE", f"{place}cancelled", "0", "-1")]


class RedisBoard:
    """Pauses, ticks and turns in the store."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        self._common = store.names.common

    async def read(self) -> Notices:
        """Everything a worker must know."""
        commands = [*_cancels_at(self._common), ("HVALS", f"{self._common}pauses")]
        count, ids, pauses = await self._store.commands_and_time(self._common, commands)
        cancels = [(count, ids)] if not self._store.link.is_cluster else await self._cancels_of_queues()
        read = (strange.read(_pause, raw, "pauses") for raw in pauses)
        return Notices(
            tuple(sorted((pause for pause in read if pause), key=lambda pause: pause.queue)),
            sum(strange.count(count, "cancels") for count, _ in cancels),
            tuple(bytes(id).decode("utf-8", "replace") for _, ids in cancels for id in ids),
        )

    async def _cancels_of_queues(self) -> list[tuple[Any, Any]]:
        """In a cluster each queue counts for itself, in its own slot."""
        store = self._store
        places = [store.names.beside(queue) for queue in await store.queues()]
        return [tuple(await store.commands_at(place, _cancels_at(place))) for place in places]

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
