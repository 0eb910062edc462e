"""Tallies on Redis: a hash for each step and bucket of time, a field for each row.

Rows of ten seconds and of minutes expire by themselves, too: there may be no process that prunes. Used by `journal.py`.
"""

from collections.abc import Iterable, Sequence

from tenure.adapters.redis import foreign_keys
from tenure.adapters.redis.script import TALLY
from tenure.adapters.redis.store import RedisStore
from tenure.tally import HOUR, KEPT_SECONDS, Tally

#: Rows that one script keeps, buckets that one exchange reads, and buckets that one script forgets.
_ROWS, _BUCKETS, _FORGOTTEN = 200, 100, 200


class RedisTallies:
    """The counts."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store."""
        self._store = store

    async def keep(self, batch: Sequence[Tally]) -> None:
        """Keep rows; each replaces the one of its name."""
        store = self._store
        for start in range(0, len(batch), _ROWS):
            words = [word for row in batch[start : start + _ROWS] for word in self._words(row)]
            await store.run(TALLY, (), "keep", *words)

    def _words(self, row: Tally) -> tuple[object, ...]:
        kept = KEPT_SECONDS.get(row.step)
        ends: object = ""
        if kept is not None and not self._store.is_virtual:  # the server's own clock forgets
            # Not at once, though our bucket is in the past: it may be a repeat, or a sum.
            ends = int(max(row.bucket + row.step, self._store.wall.now()) + kept) + 60
        return row.step, row.bucket, ends, f"{row.nonce}:{row.number}", row.data

    async def read(self, step: int, since: float, until: float) -> list[Tally]:
        """Rows of one step, in the order of bucket, nonce and number."""
        store = self._store
        index = f"{store.names.common}tally:{step}"
        raws = await store.command("ZRANGEBYSCORE", index, repr(since), f"({until!r}")
        buckets = [int(raw) for raw in raws if raw.isdigit()]
        rows: list[Tally] = []
        for start in range(0, len(buckets), _BUCKETS):
            some = buckets[start : start + _BUCKETS]
            answers = await store.commands_at(index, [("HGETALL", f"{index}:{bucket}") for bucket in some])
            for bucket, pairs in zip(some, answers, strict=True):
                rows += _read(step, bucket, pairs)
        return sorted(rows, key=lambda row: (row.bucket, row.nonce, row.number))

    async def forget(self, older_than_seconds: float) -> None:
        """Each step by its own time; those of hours with the events."""
        now = self._store.wall.now()
        for step, kept in {**KEPT_SECONDS, HOUR: older_than_seconds}.items():
            count = _FORGOTTEN
            while count == _FORGOTTEN:
                # A bucket is as old as its end.
                count = await self._store.run(TALLY, (), "forget", step, repr(now - kept - step), _FORGOTTEN)


def _read(step: int, bucket: int, pairs: Sequence[bytes]) -> Iterable[Tally]:
    for field, data in zip(pairs[::2], pairs[1::2], strict=True):
        nonce, _, number = field.rpartition(b":")
        if not number.isdigit():
            foreign_keys.tell("tallies", field)
            continue
        yield Tally(step, bucket, foreign_keys.text_of(nonce), int(number), data)
