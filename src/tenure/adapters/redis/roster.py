"""The roster: which workers there are, and when each was last heard.

A worker says once a second that it is there. That is a hint for people, and lets a worker be taken off that is not
there any more; it proves nothing. Who is dead is judged by `rules/presence.py`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from tenure.adapters.redis import strange
from tenure.adapters.redis.script import RETIRE, ROSTER
from tenure.adapters.redis.store import Store, micros
from tenure.errors import StoreForeign
from tenure.owner import Member, Owner, retired

#: If nothing was heard of anybody for so long, that was the server's fault or the network's: two beats.
SILENCE_SECONDS = 2.0
#: Queues that are looked at in one step.
_TOGETHER = 200

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Owner)


class RedisRoster:
    """Presence in the store."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store

    async def join(self, owner: Owner) -> None:
        """Put an owner on the roster."""
        if not await self._ask("join", owner.id, _encode(owner)):
            raise retired(owner.id)

    async def beat(self, owner: Owner) -> None:
        """Say that it is still there. If it was removed, or the server lost it, it is put back."""
        await self._ask("beat", owner.id, _encode(owner), micros(SILENCE_SECONDS))

    async def leave(self, owner: Owner) -> None:
        """Goodbye."""
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


async def holding(store: Store, owner: str, mode: str) -> list[str]:
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
                held += [queue] if strange.sound(queue, alone) and alone[0] else []
        elif strange.sound(group[0], answer):
            held += [queue for queue, holds in zip(group, answer, strict=True) if holds]
    return held


class _Listed(NamedTuple):
    """What the server has written down about owners, by their ids."""

    now: float
    heard: dict[bytes, bytes]
    joined: dict[bytes, bytes]
    left: frozenset[bytes]
    #: How it ended, of those that were declared dead.
    retiring: dict[bytes, bytes]

    def member(self, id: bytes, raw: bytes | None) -> Member | None:
        """One of them. None: it was not written by Tenure, which is logged."""
        owner = _unknown(id) if raw is None else strange.read(_decoder, raw, "the roster")
        if owner is None:
            return None
        if owner.id.encode() != id:
            strange.tell("the roster", id)
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
    """One that never joined, and is being retired."""
    try:
        return Owner.of_id(id.decode())
    except UnicodeDecodeError:
        strange.tell("the list of those who are retired", id)
        return None
