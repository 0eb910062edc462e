"""The board: pauses and the last cancels in one row, which every worker reads once a second; ticks; turns."""

from collections.abc import Sequence

import msgspec

from tenure.adapters.aws.desk import Change, Desk, Kind
from tenure.notice import Notices, Pause, Tick, newest_cancels
from tenure.table import Place

_MANY = 10_000


class _Said(msgspec.Struct, omit_defaults=True):
    paused: dict[str, Pause] = {}
    cancels: int = 0
    cancelled: tuple[str, ...] = ()


class _Turn(msgspec.Struct):
    token: str
    until: float


_SAID, _TICK, _TURN = Kind(_Said), Kind(Tick), Kind(_Turn)
_BOARD = Place("board", "board")


class AwsBoard:
    """What operators and schedules say."""

    def __init__(self, desk: Desk) -> None:
        """Stand on `desk`."""
        self._desk = desk

    async def read(self) -> Notices:
        (said,) = await self._desk.get(_SAID, [_BOARD])
        if said is None:
            return Notices()
        return Notices(tuple(said.paused[queue] for queue in sorted(said.paused)), said.cancels, said.cancelled)

    async def pause(self, pause: Pause) -> bool:
        def decide(said: _Said | None) -> Change[bool]:
            said = said or _Said()
            if pause.queue in said.paused:
                return Change(answer=False)
            return Change(answer=True, to=_Said({**said.paused, pause.queue: pause}, said.cancels, said.cancelled))

        return await self._desk.change_one(_SAID, _BOARD, decide)

    async def resume(self, queue: str) -> bool:
        def decide(said: _Said | None) -> Change[bool]:
            if said is None or queue not in said.paused:
                return Change(answer=False)
            left = {name: pause for name, pause in said.paused.items() if name != queue}
            return Change(answer=True, to=_Said(left, said.cancels, said.cancelled))

        return await self._desk.change_one(_SAID, _BOARD, decide)

    async def name_cancels(self, ids: Sequence[str]) -> None:
        """Note that these messages were cancelled while they were leased."""

        def decide(said: _Said | None) -> Change[None]:
            said = said or _Said()
            return Change(None, _Said(said.paused, said.cancels + len(ids), newest_cancels(said.cancelled, ids)))

        if ids:
            await self._desk.change_one(_SAID, _BOARD, decide)

    async def tick(self, tick: Tick) -> bool:
        def decide(known: Tick | None) -> Change[bool]:
            if known is not None and tick.at <= known.at:
                return Change(answer=False)
            return Change(answer=True, to=tick)

        return await self._desk.change_one(_TICK, Place("tick", tick.schedule), decide)

    async def ticks(self) -> list[Tick]:
        rows = await self._desk.table.page("tick", limit=_MANY)
        return sorted((tick for row in rows if (tick := _TICK.read(row))), key=lambda tick: tick.schedule)

    async def forget(self, schedule: str) -> bool:
        def decide(known: Tick | None) -> Change[bool]:
            return Change(known is not None, remove=True)

        return await self._desk.change_one(_TICK, Place("tick", schedule), decide)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        def decide(turn: _Turn | None) -> Change[bool]:
            now = self._desk.now()
            if turn is not None and turn.token != token and now < turn.until <= now + seconds:
                return Change(answer=False)
            return Change(answer=True, to=_Turn(token, now + seconds))

        return await self._desk.change_one(_TURN, Place("turn", name), decide)
