"""The audit log on Redis: acts by their place, newest first. Kept apart from the journal, and for longer."""

from collections.abc import Sequence

import msgspec

from tenure.act import Act, StoredAct
from tenure.adapters.redis import foreign_keys
from tenure.adapters.redis.script import ACTS
from tenure.adapters.redis.store import RedisStore

#: Acts in one exchange.
_PIECE = 100

_encode = msgspec.json.Encoder().encode
_act = msgspec.json.Decoder(Act)


class RedisActLog:
    """The audit log in Redis."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store."""
        self._store = store
        self._key = f"{store.names.common}acts"
        #: Acts that may or may not have been kept.
        self._unsure: list[bytes] = []

    async def record(self, acts: Sequence[Act]) -> None:
        """Keep acts, in this order."""
        if not acts:
            return
        raws = [_encode(act) for act in acts]
        is_again = int(raws == self._unsure)
        self._unsure = raws  # until they were answered for
        await self._store.run_all([self._store.call(ACTS, (), (is_again, *raws))], keeps=True)
        self._unsure = []

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """The newest acts before a place, newest first."""
        found: list[StoredAct] = []
        high, skip = f"({before}" if before > 0 else "+inf", 0
        while len(found) < limit:
            members = await self._store.command(
                "ZREVRANGEBYSCORE", self._key, high, "-inf", "LIMIT", skip, max(_PIECE, limit)
            )
            found += [act for member in members if (act := _read(member)) is not None]
            skip += len(members)
            if len(members) < max(_PIECE, limit):
                break
        return found[: max(0, limit)]

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old acts; how many. Some at a time."""
        horizon = self._store.wall.now() - older_than_seconds
        count = 0
        while True:
            members = await self._store.command("ZRANGE", self._key, 0, _PIECE - 1)
            old: list[bytes] = []
            for member in members:
                act = _read(member)
                if act is not None and act.act.at >= horizon:
                    break
                old.append(member)  # foreign values go as well
            if old:
                count += await self._store.command("ZREM", self._key, *old)
            if len(old) < _PIECE:
                return count


def _read(member: bytes) -> StoredAct | None:
    """Decode an act. None: the value is not an act."""
    place, _, raw = member.partition(b":")
    if not place.isdigit():
        foreign_keys.tell("acts", member)
        return None
    act = foreign_keys.read(_act, raw, "acts")
    return None if act is None else StoredAct(int(place), act)
