"""A table on Redis: rows of text that are changed only by whoever knows what they say.

For brokers that keep no state themselves and have it kept here (`sqs://…?state=redis://…`); messages that lie in
Redis do not use it. A part of the table is a hash, and where its rows are read in order a sorted set beside it. All
of it lies in one slot.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from tenure.adapters.redis.options import Options
from tenure.adapters.redis.store import Store
from tenure.clock import Clock

#: KEYS: hash, sorted set. ARGV: sort, what it must say (or mode), the new text, the mode, when it may be forgotten.
_WRITE = """
local known = redis.call('HGET', KEYS[1], ARGV[1])
local mode = ARGV[4]
if mode == 'new' and known then return 0 end
if mode == 'old' and known ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  return 1
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
if ARGV[6] == '1' then redis.call('ZADD', KEYS[2], 0, ARGV[1]) end
if ARGV[5] == '' then redis.call('PERSIST', KEYS[1])
elseif ARGV[5] ~= 'keep' then redis.call('EXPIREAT', KEYS[1], ARGV[5]) end
return 1
"""
#: Parts of one row or a few, which are never read in order; these may be forgotten as a whole.
_ALONE = ("m#", "k#")
_KEEP = -1.0


class Place(NamedTuple):
    """Where a row is."""

    part: str
    sort: str


class Row(NamedTuple):
    """One row as it was read."""

    place: Any
    text: str


class Write(Protocol):
    """What is to be changed; see the port of whoever uses the table."""

    place: Any
    text: str | None
    expected: str | None
    forget_at: float | None


class RedisTable:
    """Rows in Redis."""

    row_limit = 1 << 24

    def __init__(self, options: Options, clock: Clock) -> None:
        """Nothing is opened yet."""
        self._store = Store(options, clock)
        self._clock = clock
        #: The server's time is our monotonic one plus this.
        self._offset = 0.0

    async def open(self) -> None:
        await self._store.open()
        await self.get(())

    async def close(self) -> None:
        await self._store.close()

    def now(self) -> float:
        return self._clock.monotonic() + self._offset

    async def get(self, places: Sequence[Any]) -> list[Row | None]:
        commands = [("HGET", self._hash(one.part), one.sort) for one in places]
        answers = await self._ask([*commands, ("TIME",)])
        if not self._store.is_virtual:
            seconds, micros = answers[-1]
            self._offset = int(seconds) + int(micros) / 1e6 - self._clock.monotonic()
        return [
            None if text is None else Row(place, bytes(text).decode())
            for place, text in zip(places, answers[:-1], strict=True)
        ]

    async def write(self, batch: Sequence[Write]) -> list[bool]:
        answers = await self._ask([self._command(one) for one in batch])
        return [answer == 1 for answer in answers]

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        low, high = ("-", f"({after}" if after else "+") if backwards else (f"({after}" if after else "-", "+")
        words = ("ZREVRANGEBYLEX", high, low) if backwards else ("ZRANGEBYLEX", low, high)
        command = (words[0], self._order(part), *words[1:], "LIMIT", 0, limit)
        (sorts,) = await self._ask([command])
        if not sorts:
            return []
        (texts,) = await self._ask([("HMGET", self._hash(part), *sorts)])
        return [
            Row(Place(part, bytes(sort).decode()), bytes(text).decode())
            for sort, text in zip(sorts, texts, strict=True)
            if text is not None
        ]

    async def _ask(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        answers = await self._store.commands_at(self._store.names.common, commands)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers

    def _command(self, one: Write) -> tuple[Any, ...]:
        place = one.place
        mode = "any" if one.text is None and one.expected is None else "new" if one.expected is None else "old"
        is_alone = place.part.startswith(_ALONE)
        forget: object = "keep"
        if is_alone and one.forget_at != _KEEP and not self._store.is_virtual:  # the server's own clock forgets
            forget = "" if one.forget_at is None else int(one.forget_at)
        return (
            "EVAL", _WRITE, 2, self._hash(place.part), self._order(place.part), place.sort, one.expected or "",
            one.text or "", mode, forget, "0" if is_alone else "1",
        )  # fmt: skip

    def _hash(self, part: str) -> str:
        return f"{self._store.names.common}t:{part}"

    def _order(self, part: str) -> str:
        return f"{self._store.names.common}z:{part}"
