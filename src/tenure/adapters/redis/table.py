"""A table on Redis: rows of text that are changed only by compare-and-set.

For brokers that keep no state themselves and have it kept here (`sqs://…?state=redis://…`, and likewise `azure://`);
messages in Redis do not use it. A part of the table is a hash, and where its rows are read in order a sorted
set beside it. All of it is in one slot, so that several rows can be changed in one step.

However many rows are looked up or changed, it is a handful of commands: of `lua/table.lua` one run for some hundred
writes, which reads a part at once and writes it at once.

With `durability=replicated` a write is answered when a replica has it. If none has it in time, the write is not
confirmed, and reads of it are refused until a replica has all that was written here.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tenure.adapters.redis.examination import examine
from tenure.adapters.redis.faults import NotReplicated
from tenure.adapters.redis.options import RedisOptions
from tenure.adapters.redis.script import PAGE, TABLE
from tenure.adapters.redis.store import RedisStore
from tenure.adapters.redis.topology import ScriptCall
from tenure.clock import Clock
from tenure.examination import Examination
from tenure.table import KEEP, Row, RowKey, Scanned, Write, text_versions

#: Parts of one row or a few, which are never read in order; these may be forgotten as a whole.
_ALONE = ("m#", "k#", "u#", "banned#")
#: This many writes, and characters of them, in one run of the script: a server does nothing else meanwhile.
_MOST_WRITES = 200
_MOST_TEXT = 1_000_000

#: What a pattern of the server would not take as it stands.
_ESCAPED = re.compile(r"[*?\[\]\\^]")

Group = Sequence[Write]


class RedisTable:
    """Rows in Redis."""

    def __init__(self, options: RedisOptions, clock: Clock) -> None:
        """Make a store from the options and the clock. `open` connects."""
        self._store = RedisStore(options, clock)
        self._clock = clock
        #: The server's time is our monotonic one plus this.
        self._offset = 0.0
        #: Something was written here that no replica has confirmed.
        self._is_ahead = False

    async def open(self) -> None:
        await self._store.open()
        await self.get(())

    async def close(self) -> None:
        await self._store.close()

    async def examine(self, queues: Sequence[str]) -> list[Examination]:  # noqa: ARG002 - of the port
        """How the server is set up."""
        return await examine(self._store.command, self._store.options)

    def now(self) -> float:
        return self._clock.monotonic() + self._offset

    def wall(self) -> float:
        return self._store.wall.now()

    async def get(self, places: Sequence[RowKey]) -> list[Row | None]:
        await self._be_followed()
        by_part: dict[str, list[str]] = {}
        for place in places:
            by_part.setdefault(place.part, []).append(place.sort)
        commands = [("HMGET", self._hash(part), *sorts) for part, sorts in by_part.items()]
        asked = self._clock.monotonic()
        *answers, told = await self._store.commands_at(self._store.names.common, [*commands, ("TIME",)])
        self._store.wall.hear(told, asked)
        if not self._store.is_virtual:
            seconds, micros = told
            self._offset = int(seconds) + int(micros) / 1e6 - self._clock.monotonic()
        texts = {part: iter(found) for part, found in zip(by_part, answers, strict=True)}
        found = [(place, next(texts[place.part])) for place in places]
        return [None if text is None else Row(place, bytes(text).decode()) for place, text in found]

    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        return text_versions(batch, await self.commit([[one] for one in batch]))

    async def commit(self, groups: Sequence[Group]) -> list[bool]:
        """Carry out each group as a whole, or not at all."""
        if not groups:
            return []
        answers = await self._keep([self._call(some) for some in _runs(groups)])
        return [done == 1 for some in answers for done in some]

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        await self._be_followed()
        low, high = ("-", f"({after}" if after else "+") if backwards else (f"({after}" if after else "-", "+")
        words = ("1", high, low, limit) if backwards else ("0", low, high, limit)
        call = ScriptCall(PAGE, [self._hash(part), self._order(part)], words)
        ((sorts, texts),) = await self._store.run_all([call], writes=False)
        return [
            Row(RowKey(part, bytes(sort).decode()), bytes(text).decode())
            for sort, text in zip(sorts, texts, strict=True)
            if text is not None
        ]

    async def scan(self, beginning: str, sort: str, *, after: str = "", limit: int = 1000) -> Scanned:
        """One `SCAN` of the server, whatever other keys it has, and a look at what was found."""
        await self._be_followed()
        cursor, skipped = map(int, after.split(":")) if after else (0, 0)
        pattern = _ESCAPED.sub(r"\\\g<0>", self._hash(beginning)) + "*"
        common = self._store.names.common
        ((told, keys),) = await self._store.commands_at(
            common, [("SCAN", str(cursor), "MATCH", pattern, "COUNT", limit)]
        )
        # Asked again for the same cursor, a server answers with the same keys: some of them were dealt with.
        left = keys[skipped:]
        texts = await self._store.commands_at(common, [("HGET", key, sort) for key in left]) if left else []
        start = len(self._hash(""))
        rows = [
            (Row(RowKey(bytes(key).decode()[start:], sort), bytes(text).decode()), f"{cursor}:{number}")
            for number, (key, text) in enumerate(zip(left, texts, strict=True), skipped + 1)
            if text is not None
        ]
        behind = bytes(told).decode() if isinstance(told, bytes) else str(told)
        return Scanned(rows, max(limit, len(rows)), "" if behind == "0" else f"{behind}:0")

    async def _keep(self, calls: list[ScriptCall]) -> list[Any]:
        try:
            answers = await self._store.run_all(calls, writes=False, keeps=True)
        except NotReplicated:
            self._is_ahead = True
            raise
        self._is_ahead = False  # replicas follow in order: who has this has what was before it
        return answers

    async def _be_followed(self) -> None:
        """Writing nothing asks for the confirmation again."""
        if self._is_ahead:
            await self._keep([self._call(())])

    def _call(self, groups: Sequence[Group]) -> ScriptCall:
        numbers: dict[str, int] = {}
        words: list[object] = []
        for group in groups:
            words.append(len(group))
            for one in group:
                words.append(numbers.setdefault(one.place.part, len(numbers) + 1))
                words += self._words(one)
        keys = [name for part in numbers for name in (self._hash(part), self._order(part))]
        return ScriptCall(TABLE, [self._store.names.common, *keys], words)

    def _words(self, one: Write) -> tuple[object, ...]:
        mode = "any" if one.text is None and one.expected is None else "new" if one.expected is None else "old"
        is_alone = one.place.part.startswith(_ALONE)
        forget: object = "keep"
        if is_alone and one.forget_at != KEEP and not self._store.is_virtual:  # the server's own clock forgets
            forget = "" if one.forget_at is None else int(one.forget_at)
        return one.place.sort, mode, one.expected or "", one.text or "", forget, "0" if is_alone else "1"

    def _hash(self, part: str) -> str:
        return f"{self._store.names.common}t:{part}"

    def _order(self, part: str) -> str:
        return f"{self._store.names.common}z:{part}"


def _runs(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """Split the writes into one group for each run of the script."""
    some: list[Group] = []
    writes = text = 0
    for group in groups:
        size = sum(len(one.text or "") + len(one.expected or "") for one in group)
        if some and (writes + len(group) > _MOST_WRITES or text + size > _MOST_TEXT):
            yield some
            some, writes, text = [], 0, 0
        some.append(group)
        writes += len(group)
        text += size
    yield some
