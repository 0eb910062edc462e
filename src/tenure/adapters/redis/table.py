"""A table on Redis: rows of text that are changed only by whoever knows what they say.

For brokers that keep no state themselves and have it kept here (`sqs://…?state=redis://…`, and likewise `azure://`);
messages that lie in Redis do not use it. A part of the table is a hash, and where its rows are read in order a sorted
set beside it. All of it lies in one slot, so that several rows can be changed in one step.
"""

from collections.abc import Sequence
from typing import Any

from tenure.adapters.redis.options import Options
from tenure.adapters.redis.store import Store
from tenure.clock import Clock
from tenure.table import KEEP, Place, Row, Write

#: A group of writes: all of them, or none. KEYS: hash and sorted set of each. ARGV, six of each: sort, what it must
#: say, the new text, the mode, when it may be forgotten, whether its part is read in order.
_WRITE = """
for n = 1, #KEYS / 2 do
  local at = (n - 1) * 6
  local known = redis.call('HGET', KEYS[2 * n - 1], ARGV[at + 1])
  local mode = ARGV[at + 4]
  if mode == 'new' and known then return 0 end
  if mode == 'old' and known ~= ARGV[at + 2] then return 0 end
end
for n = 1, #KEYS / 2 do
  local at, hash, order = (n - 1) * 6, KEYS[2 * n - 1], KEYS[2 * n]
  if ARGV[at + 3] == '' then
    redis.call('HDEL', hash, ARGV[at + 1])
    redis.call('ZREM', order, ARGV[at + 1])
  else
    redis.call('HSET', hash, ARGV[at + 1], ARGV[at + 3])
    if ARGV[at + 6] == '1' then redis.call('ZADD', order, 0, ARGV[at + 1]) end
    if ARGV[at + 5] == '' then redis.call('PERSIST', hash)
    elseif ARGV[at + 5] ~= 'keep' then redis.call('EXPIREAT', hash, ARGV[at + 5]) end
  end
end
return 1
"""
#: KEYS: hash, sorted set. ARGV: the command that reads in order, from, to, how many.
_PAGE = """
local sorts = redis.call(ARGV[1], KEYS[2], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
if #sorts == 0 then return {sorts, sorts} end
return {sorts, redis.call('HMGET', KEYS[1], unpack(sorts))}
"""
#: Parts of one row or a few, which are never read in order; these may be forgotten as a whole.
_ALONE = ("m#", "k#")


class RedisTable:
    """Rows in Redis."""

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

    async def get(self, places: Sequence[Place]) -> list[Row | None]:
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
        return await self.commit([[one] for one in batch])

    async def commit(self, groups: Sequence[Sequence[Write]]) -> list[bool]:
        """Carry out each group as a whole, or not at all."""
        answers = await self._ask([self._command(group) for group in groups])
        return [answer == 1 for answer in answers]

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        low, high = ("-", f"({after}" if after else "+") if backwards else (f"({after}" if after else "-", "+")
        words = ("ZREVRANGEBYLEX", high, low) if backwards else ("ZRANGEBYLEX", low, high)
        ((sorts, texts),) = await self._ask([("EVAL", _PAGE, 2, self._hash(part), self._order(part), *words, limit)])
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

    def _command(self, group: Sequence[Write]) -> tuple[Any, ...]:
        keys: list[str] = []
        words: list[object] = []
        for one in group:
            keys += (self._hash(one.place.part), self._order(one.place.part))
            words += self._words(one)
        return ("EVAL", _WRITE, len(keys), *keys, *words)

    def _words(self, one: Write) -> tuple[object, ...]:
        mode = "any" if one.text is None and one.expected is None else "new" if one.expected is None else "old"
        is_alone = one.place.part.startswith(_ALONE)
        forget: object = "keep"
        if is_alone and one.forget_at != KEEP and not self._store.is_virtual:  # the server's own clock forgets
            forget = "" if one.forget_at is None else int(one.forget_at)
        return one.place.sort, one.expected or "", one.text or "", mode, forget, "0" if is_alone else "1"

    def _hash(self, part: str) -> str:
        return f"{self._store.names.common}t:{part}"

    def _order(self, part: str) -> str:
        return f"{self._store.names.common}z:{part}"
