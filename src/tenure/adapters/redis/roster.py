"""The roster: which workers there are, and when each gave its last sign of life.

A worker says once a second that it is there. That is a hint for people, and lets a worker be taken off that is not
there any more; it proves nothing. Who is dead is judged by `rules/presence.py`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from tenure.adapters.redis import foreign_keys
from tenure.adapters.redis.script import RETIRE, ROSTER
from tenure.adapters.redis.store import RedisStore, micros
from tenure.errors import StoreForeign
from tenure.owner import Member, Owner, retired

#: If no worker was heard for this long, the server or the network is at fault: two beats.
SILENCE_SECONDS = 2.0
#: Queues that are looked at in one step.
_TOGETHER = 200

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Owner)


class RedisRoster:
    """The roster in Redis."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store."""
        self._store = store

    async def join(self, owner: Owner) -> None:
        """Put an owner on the roster."""
        if not await self._ask("join", owner.id, _encode(owner)):
            raise retired(owner.id)

    async def beat(self, owner: Owner) -> None:
        """Say that it is still there. If it was removed, or the server lost it, it is put back."""
        await self._ask("beat", owner.id, _encode(owner), micros(SILENCE_SECONDS))

    async def leave(self, owner: Owner) -> None:
        """Note that an owner leaves."""
        await self._ask("leave", owner.id)

    async def members(self) -> list[Member]:
        """Everybody on the roster, and those whose retirement is not finished."""
        now, owners, heard, joined, left, retiring = await self._ask("members", "")
        listed = _Listed(float(now), _pairs(heard), _pairs(joined), frozenset(left), _pairs(retiring))
        raws = _pairs(owners)
        found = [listed.member(id, raws.get(id)) for id in {**raws, **listed.retiring}]
        return sorted((one for one in found if one is not None), key=lambda one: (one.joined, one.owner.id))

    async def remove(self, owner: str, silent_seconds: float) -> bool:
        """Look at the queues first, then take it off if it is still silent: one that speaks meanwhile stays."""
        if await holding(self._store, owner, "look"):
            return False
        return bool(await self._ask("remove", owner, micros(silent_seconds)))

    async def _ask(self, word: str, owner: str, *more: Any) -> Any:
        return await self._store.run(ROSTER, (), word, owner, *more)


async def holding(store: RedisStore, owner: str, mode: str) -> list[str]:
    """The queues in which an owner holds something. With mode "ban" it is banned in each queue first."""
    queues = await store.queues()
    together = 1 if store.link.is_cluster else _TOGETHER
    groups = [queues[start : start + together] for start in range(0, len(queues), together)]
    answers = await store.run_each([store.call(RETIRE, group, (mode, owner)) for group in groups])
    held: list[str] = []
    for group, answer in zip(groups, answers, strict=True):
        if isinstance(answer, StoreForeign) and len(group) > 1:
            for queue in group:
                (alone,) = await store.run_each([store.call(RETIRE, [queue], (mode, owner))])
                held += [queue] if foreign_keys.sound(queue, alone) and alone[0] else []
        elif foreign_keys.sound(group[0], answer):
            held += [queue for queue, holds in zip(group, answer, strict=True) if holds]
    return held


class _Listed(NamedTuple):
    """The server's entries about owners, by owner id."""

    now: float
    heard: dict[bytes, bytes]
    joined: dict[bytes, bytes]
    left: frozenset[bytes]
    #: How it ended, of those that were declared dead.
    retiring: dict[bytes, bytes]

    def member(self, id: bytes, raw: bytes | None) -> Member | None:
        """Decode an owner's entry. None: Tenure did not write it, which is logged."""
        owner = _unknown(id) if raw is None else foreign_keys.read(_decoder, raw, "the roster")
        if owner is None:
            return None
        if owner.id.encode() != id:
            foreign_keys.tell("the roster", id)
            return None
        how = self.retiring.get(id, b"")
        return Member(
            owner=owner,
            silent_seconds=max(0.0, self.now - float(self.heard.get(id, 0))) / 1e6,
            joined=float(self.joined.get(id, 0)),
            left=id in self.left or how == b"left",
            is_retired=bool(how),
        )


def _pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _unknown(id: bytes) -> Owner | None:
    """Make an entry for an owner that never joined and is being retired."""
    try:
        return Owner.of_id(id.decode())
    except UnicodeDecodeError:
        foreign_keys.tell("the list of those who are retired", id)
        return None
