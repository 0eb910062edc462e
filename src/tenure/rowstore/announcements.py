"""Announcements: intents that are read, believed or dropped, and forgotten once they were announced.

What became of an intent its message's row says (`rules/announce_intent.py`); nothing is shown that it does not confirm.
That row stays until then, however old it is. Before: `announcing.py`, which writes intents.
"""

from collections.abc import Sequence

import msgspec

from tenure.announcement import RESULT_LIMIT, Announcement
from tenure.claim import Scope
from tenure.message import MessageState
from tenure.rowstore import large_values
from tenure.rowstore.announcing import INTENT, PART, known, known_claim
from tenure.rowstore.entry import GONE, Claim, Entry, LargeValue
from tenure.rowstore.ledger import left_behind
from tenure.rowstore.row_changes import CLAIM, ENTRY, Change, RowChanges, claim_place, entry_place
from tenure.rules.announce_intent import Belief, Intent, announced, believe, number_of
from tenure.table import Row, RowKey, Write


class _Read(msgspec.Struct):
    """An intent, and the rows that it is about."""

    row: Row
    intent: Intent
    entry: Entry | None = None
    #: Of its key.
    claim: Claim | None = None

    @property
    def place(self) -> str:
        """Its place."""
        return self.row.place.sort

    @property
    def sealed(self) -> Claim | None:
        """The claim of a seal."""
        if self.intent.scope is not None:
            return self.claim
        return None if self.entry is None else self.entry.claim


async def read(changes: RowChanges, after: str, limit: int) -> list[Announcement]:
    """The endings behind a place, at most `limit`. One query where nothing is to be announced."""
    found: list[Announcement] = []
    while len(found) < limit:
        want = limit - len(found)
        rows = await changes.table.page(PART, after=after, limit=want)
        found += await _believed(changes, rows)
        if len(rows) < want:
            break
        after = rows[-1].place.sort
    return found


async def _believed(changes: RowChanges, rows: Sequence[Row]) -> list[Announcement]:
    """Those of these intents that hold. Those that never will are dropped."""
    some = await _with_rows(changes, rows)
    held: list[_Read] = []
    void: list[Row] = []
    for one in some:
        belief = await _believe(changes, one)
        if belief is Belief.HOLDS:
            held.append(one)
        elif belief is Belief.VOID:
            void.append(one.row)
    if void:
        await changes.table.write([Write(row.place, None, row.version) for row in void])
    return [announced(one.intent, one.place, await _result(changes, one)) for one in held]


async def _with_rows(changes: RowChanges, rows: Sequence[Row]) -> list[_Read]:
    some = [_Read(row, intent) for row in rows if (intent := INTENT.read(row)) is not None]
    mine = [one for one in some if one.intent.scope is None or not one.intent.is_seal]
    keyed = [(one, one.intent.scope) for one in some if one.intent.scope is not None]
    entries = await changes.get(ENTRY, [entry_place(one.intent.says.id) for one in mine])
    claims = await changes.get(CLAIM, [claim_place(scope) for _, scope in keyed])
    for one, entry in zip(mine, entries, strict=True):
        one.entry = entry
    for (one, _), claim in zip(keyed, claims, strict=True):
        one.claim = claim
    return some


async def _believe(changes: RowChanges, one: _Read) -> Belief:
    intent, place, id = one.intent, one.place, one.intent.says.id
    if intent.is_seal:
        if intent.scope is None:
            generation, ended_by = (0, ()) if one.entry is None else (one.entry.generation, one.entry.intents)
        else:
            generation = intent.scope.generation
            ended_by = () if one.claim is None else tuple(one.claim.announced.values())
        return believe(intent, place, known_claim(one.sealed, generation, ended_by))
    chosen = None if one.claim is None else one.claim.announced.get(id)
    age = changes.table.wall() - number_of(place) / 1e6
    belief = believe(intent, place, known(one.entry), chosen=chosen, age_seconds=age)
    if belief is Belief.HOLDS and intent.scope is not None and chosen is None:
        chosen = await _choose(changes, intent.scope, id, place)
        belief = believe(intent, place, known(one.entry), chosen=chosen)
    return belief


async def _choose(changes: RowChanges, scope: Scope, id: str, place: str) -> str:
    """Have the claim of a key choose this ending, unless a seal was first; the place of the chosen one."""

    def decide(claim: Claim | None) -> Change[str]:
        claim = Claim("", state=GONE) if claim is None else claim
        is_open = id not in claim.announced
        return Change(claim.choose(id, place), claim if is_open else None)

    return await changes.change_one(CLAIM, claim_place(scope), decide)


async def _result(changes: RowChanges, one: _Read) -> bytes | None:
    claim = one.sealed
    if not one.intent.is_seal or one.intent.size > RESULT_LIMIT or claim is None:
        return None
    if claim.bulk is None:
        return claim.result
    return (await left_behind(changes, _part(one.intent), claim.bulk)).result


def _part(intent: Intent) -> str:
    return (entry_place(intent.says.id) if intent.scope is None else claim_place(intent.scope)).part


async def forget(changes: RowChanges, batch: Sequence[Announcement]) -> None:
    """They were announced. First the rows that named them, which may be forgotten in time now; then the intents."""
    places = [RowKey(PART, one.place) for one in batch if number_of(one.place)]
    rows = await changes.table.get(list(dict.fromkeys(places))) if places else []
    intents = {row.place.sort: intent for row in rows if row is not None and (intent := INTENT.read(row)) is not None}
    keyed = {place: intent for place, intent in intents.items() if intent.is_seal and intent.scope is not None}
    large = await _let_go(changes, {place: one for place, one in intents.items() if place not in keyed})
    large += await _let_go_of_keys(changes, keyed)
    for part, one in large:
        await large_values.keep_no_longer(changes, part, one)
    if intents:
        await changes.table.write([Write(RowKey(PART, place), None, None) for place in intents])


async def _let_go(changes: RowChanges, intents: dict[str, Intent]) -> list[tuple[str, LargeValue]]:
    """Of entries; the large results that were kept for them."""
    places = list(intents)

    def decide(number: int, entry: Entry | None) -> Change[LargeValue | None]:
        if entry is None or places[number] not in entry.intents:
            return Change(None)
        entry.intents = tuple(one for one in entry.intents if one != places[number])
        is_over = entry.is_sealed or (entry.is_finished and entry.state != MessageState.DEAD)
        kept = entry.claim.bulk if entry.is_sealed and entry.claim is not None else None
        forget_at = changes.kept_after_the_queue() if is_over and not entry.intents else None
        return Change(kept, entry, forget_at=forget_at)

    said = await changes.change(ENTRY, [entry_place(intents[place].says.id) for place in places], decide)
    return [(_part(intents[place]), one) for place, one in zip(places, said, strict=True) if one is not None]


async def _let_go_of_keys(changes: RowChanges, intents: dict[str, Intent]) -> list[tuple[str, LargeValue]]:
    """Of the claims of keys; likewise."""
    places = list(intents)

    def decide(number: int, claim: Claim | None) -> Change[LargeValue | None]:
        id = intents[places[number]].says.id
        if claim is None or claim.announced.get(id) != places[number]:
            return Change(None)
        claim.announced = claim.announced | {id: ""}
        return Change(claim.bulk, claim, forget_at=changes.kept_after_the_queue())

    rows = [claim_place(scope) for one in intents.values() if (scope := one.scope) is not None]
    said = await changes.change(CLAIM, rows, decide)
    return [(_part(intents[place]), one) for place, one in zip(places, said, strict=True) if one is not None]
