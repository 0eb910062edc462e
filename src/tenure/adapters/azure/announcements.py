"""Announcements: intents that are read, believed or dropped, and forgotten once they were announced.

What became of an intent the rows of its message say (`rules/announce_intent.py`); nothing is shown that they do not
confirm, and they stay until then, however old they are (`retention.py`). Before: `announcing.py`, which writes intents.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from tenure.adapters.azure.announcing import PART, found, intent_row, read_intent
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.scope import Claim, Found, claim_row, look
from tenure.adapters.azure.store import Store
from tenure.announcement import Announcement
from tenure.claim import Scope
from tenure.errors import BrokerUnavailable
from tenure.rules.announce_intent import Belief, Intent, announced, believe, number_of

_TRIES = 8


async def read(store: Store, after: str, limit: int) -> list[Announcement]:
    """The endings behind a place, at most `limit`. One query where nothing is to be announced."""
    shown: list[Announcement] = []
    low = f"a:{after}!" if after else "a:"
    some: list[Row] = []
    async for row in store.rows.between(PART, low, "a;", limit=limit):
        some.append(row)
        if len(shown) + len(some) >= limit:
            shown += await _believed(store, some)
            some = []
            if len(shown) >= limit:
                break
    return shown + await _believed(store, some)


async def _believed(store: Store, rows: Sequence[Row]) -> list[Announcement]:
    """Those of these intents that hold. Those that never will are dropped."""
    told = await asyncio.gather(*(_read(store, row) for row in rows))
    void = [row for row, one in zip(rows, told, strict=True) if one is Belief.VOID]
    if void:
        await store.rows.commit([[Change("delete", row)] for row in void])
    return [one for one in told if isinstance(one, Announcement)]


async def _read(store: Store, row: Row) -> Announcement | Belief:
    place, intent = read_intent(row)
    known, claim = await found(store, intent)
    if intent.is_seal:
        belief = believe(intent, place, known)
        result = None if claim is None else claim.result
        return announced(intent, place, result) if belief is Belief.HOLDS else belief
    id = intent.says.id
    chosen = None if claim is None else claim.claim.announced.get(id)
    age = store.timeline.now() - number_of(place) / 1e6
    belief = believe(intent, place, known, chosen=chosen, age_seconds=age)
    if belief is Belief.HOLDS and intent.scope is not None and chosen is None:
        chosen = await _choose(store, intent, intent.scope, place, claim)
        belief = believe(intent, place, known, chosen=chosen)
    return announced(intent, place, None) if belief is Belief.HOLDS else belief


async def _choose(store: Store, intent: Intent, scope: Scope, place: str, old: Found | None) -> str:
    """Have the claim choose this ending, unless another one was first; the place of the chosen one."""
    for _ in range(_TRIES):
        before = Claim() if old is None else old.claim
        claim = msgspec.structs.replace(before)
        chosen = claim.choose(intent.says.id, place)
        if chosen != place or intent.says.id in before.announced:
            return chosen
        new = Found(claim) if old is None else msgspec.structs.replace(old, claim=claim)
        act = "insert" if old is None else "replace"
        if await store.rows.commit_one(Change(act, claim_row(store, scope, new))) is not None:
            return place
        old = await look(store, scope)
    raise BrokerUnavailable(f"others change the claim of message {intent.says.id} all the time; reading again")


async def forget(store: Store, batch: Sequence[Announcement]) -> None:
    """They were announced."""
    places = dict.fromkeys(one.place for one in batch if number_of(one.place))
    await store.rows.commit([[Change("delete", intent_row(place))] for place in places])
