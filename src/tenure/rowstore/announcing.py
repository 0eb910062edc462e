"""Announcing: a message that asked for it ends in two steps, first an intent, then its entry or claim, which names it.

The rule is `rules/announce_intent.py`. Intents are rows of one part of the table, in the order of time; they are read
by `announcements.py`. A process that dies in between leaves an intent that is shown if its message ended by it, and
dropped if not. A message that did not ask costs nothing here. Used by `settling.py`, `returning.py`, `operating.py`,
`putting_aside.py` and `ledger.py`.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from tenure.announcement import RESULT_LIMIT, AnnounceRequest
from tenure.claim import Scope, Seal
from tenure.errors import BrokerUnavailable
from tenure.message import MessageState
from tenure.rowstore.entry import GONE, RUNNING, Claim, Entry
from tenure.rowstore.row_changes import CLAIM, ENTRY, NEVER, Change, Kind, RowChanges, claim_place, entry_place, is_own
from tenure.rules.announce_intent import ABSENT, Intent, Known, Met
from tenure.rules.announcing import ENDS_BY_DELETE, announcement
from tenure.table import RowKey, Write

A = TypeVar("A")

#: The part of the table that intents are in.
PART = "announce"
INTENT = Kind(Intent)
#: So often in a row a message may change between its intent and its end.
_TRIES = 20


class _Need(msgspec.Struct, frozen=True):
    """The message would end, and no intent says so yet."""

    intent: Intent
    #: The place of the last one by which it ended before.
    last: str


def known(entry: Entry | None) -> Known:
    """What an entry says of its message."""
    if entry is None:
        return Known()
    return Known(Met(entry.state or ABSENT, entry.generation, entry.fence), entry.intents)


def known_claim(claim: Claim | None, generation: int, ended_by: tuple[str, ...]) -> Known:
    """What a claim says of itself."""
    if claim is None:
        return Known(ended_by=ended_by)
    return Known(Met(claim.state, generation, claim.fence), ended_by)


async def change(
    changes: RowChanges,
    ids: Sequence[str],
    decide: Callable[[int, Entry | None], Change[A]],
    results: Mapping[int, bytes] | None = None,
) -> list[A]:
    """As `RowChanges.change` of these entries, for a decision that may end them. `results`: of those that complete."""
    made: dict[int, tuple[str, Intent]] = {}
    marked: dict[int, str] = {}
    #: Their claims have ended them already.
    over: set[int] = set()
    answers: dict[int, A] = {}
    left = list(range(len(ids)))

    def decide_and_mark(number: int, entry: Entry | None) -> "Change[A | _Need]":
        marked.pop(number, None)
        before = None if entry is None else msgspec.structs.replace(entry)
        told: Change[A | _Need] = decide(number, entry)  # type: ignore[assignment]
        intent = _intent(changes, ids[number], before, told.to, (results or {}).get(number))
        place, ready = made.get(number, ("", None))
        if intent is None or number in over:
            _let_be_forgotten(changes, told)
        elif ready is None or (ready.met, ready.says.ending) != (intent.met, intent.says.ending):
            last = told.to.intents[-1] if told.to.intents else ""
            return Change(_Need(intent, last), is_guess=True)
        else:
            told.to.end_by(place)
            marked[number] = place
        return told

    for _ in range(_TRIES):
        turn = left
        said = await changes.change(
            ENTRY, [entry_place(ids[number]) for number in turn],
            lambda at, entry, turn=turn: decide_and_mark(turn[at], entry),  # type: ignore[misc]
        )  # fmt: skip
        needs: dict[int, _Need] = {}
        for number, one in zip(turn, said, strict=True):
            if isinstance(one, _Need):
                needs[number] = one
            else:
                answers[number] = one
        if not needs:
            break
        over |= await _ended_by_claim(changes, needs)
        await _remove(changes, [made.pop(number)[0] for number in needs if number in made])
        open_ = {number: need for number, need in needs.items() if number not in over}
        places = await _write(changes, [(need.intent, need.last) for need in open_.values()])
        made |= {number: (place, open_[number].intent) for number, place in zip(open_, places, strict=True)}
        left = list(needs)
    else:
        raise BrokerUnavailable("too many concurrent changes to the same message; nothing was done; retrying")
    await _remove(changes, [place for number, (place, _) in made.items() if number not in marked])
    return [answers[number] for number in range(len(ids))]


def _let_be_forgotten(changes: RowChanges, told: Change[Any]) -> None:
    """Nothing is to be announced of a message that asked and ends: its row was to stay until then."""
    entry: Entry | None = told.to
    if entry is None or entry.announce is None or not entry.is_finished or entry.state == MessageState.DEAD:
        return
    entry.announced = entry.generation
    if not entry.intents:
        told.forget_at = changes.kept_after_the_queue()


def scope_of(entry: Entry) -> Scope | None:
    """The claim that chooses among the endings of a message with a key. None: its entry alone ends it."""
    return None if entry.key is None else Scope(entry.queue, entry.task, entry.key, entry.generation)


def _intent(
    changes: RowChanges, id: str, before: Entry | None, after: Entry | None, result: bytes | None
) -> Intent | None:
    """The intent for a change of an entry. None: that does not end it, or it is not to be announced."""
    if after is None or after.announce is None or after.announced >= after.generation:
        return None
    ending = _ending(before, after)
    if ending is None:
        return None
    says = announcement(
        after.announce, id=id, queue=after.queue, task=after.task, generation=after.generation, ending=ending,
        ended_at=changes.table.wall(), reason=after.reason if ending is MessageState.DEAD else None,
        # It is in no record: what was not sealed is acked without one.
        result=result if ending is MessageState.COMPLETED and len(result or b"") <= RESULT_LIMIT else None,
    )  # fmt: skip
    return Intent(says=says, met=known(before).met, scope=scope_of(after))


def _ending(before: Entry | None, after: Entry) -> MessageState | None:
    state = None if before is None else before.state
    if after.state == MessageState.CANCELLED:
        # Of a redrive that was not finished, a dead letter is deleted: that one has ended before.
        is_end = before is not None and state in ENDS_BY_DELETE and not before.is_half_redriven
        return MessageState.CANCELLED if is_end else None
    if after.state == MessageState.DEAD:
        return None if state == MessageState.DEAD else MessageState.DEAD
    is_ack = after.state == GONE and before is not None and state == MessageState.LEASED and not before.is_sealed
    return MessageState.COMPLETED if is_ack else None


async def _ended_by_claim(changes: RowChanges, needs: Mapping[int, _Need]) -> set[int]:
    """Those that complete, and whose claim was sealed and has announced that already."""
    keyed = {
        number: need.intent
        for number, need in needs.items()
        if need.intent.scope is not None and need.intent.says.ending is MessageState.COMPLETED
    }
    claims = await changes.get(CLAIM, [claim_place(one.scope) for one in keyed.values() if one.scope is not None])
    return {
        number
        for (number, intent), claim in zip(keyed.items(), claims, strict=True)
        if claim is not None and intent.says.id in claim.announced
    }


async def _write(changes: RowChanges, intents: Sequence[tuple[Intent, str]]) -> list[str]:
    """Write intents, each behind the place that goes with it; their places."""
    places = [changes.next_intent(last) for _, last in intents]

    def decide(number: int, _known: Intent | None) -> Change[None]:
        return Change(None, intents[number][0], forget_at=NEVER)

    await changes.change(INTENT, [RowKey(PART, place) for place in places], decide, are_new=True)
    return places


async def _remove(changes: RowChanges, places: Sequence[str]) -> None:
    """No message ended by these. One that stays is dropped when it is read."""
    if places:
        with contextlib.suppress(BrokerUnavailable):
            await changes.table.write([Write(RowKey(PART, place), None, None) for place in places])


async def learn(changes: RowChanges, requests: Mapping[str, AnnounceRequest]) -> None:
    """Keep what messages ask for that Tenure did not send: only their reader knows."""
    ids = list(requests)

    def decide(number: int, entry: Entry | None) -> Change[None]:
        if entry is None or entry.is_finished or entry.announce is not None:
            return Change(None)
        entry.announce = requests[ids[number]]
        return Change(None, entry, forget_at=NEVER)

    if ids:
        await changes.change(ENTRY, [entry_place(id) for id in ids], decide)


class SealIntents:
    """The intents of one batch of seals."""

    def __init__(self, changes: RowChanges, batch: Sequence[Seal], places: Mapping[int, str]) -> None:
        """Made by `write`."""
        self._rows = changes
        self._batch = batch
        self._places = places
        self._marked: set[int] = set()

    @classmethod
    async def write(cls, changes: RowChanges, batch: Sequence[Seal]) -> "SealIntents":
        """Write an intent for each seal of a message that asked."""
        asking = {number: intent for number, seal in enumerate(batch) if (intent := _seal_intent(changes, seal))}
        places = await _write(changes, [(intent, "") for intent in asking.values()]) if asking else []
        return cls(changes, batch, dict(zip(asking, places, strict=True)))

    def unmark(self, number: int) -> None:
        """It is decided anew."""
        self._marked.discard(number)

    def mark(self, number: int, claim: Claim, entry: Entry | None) -> None:
        """Name the intent in the row that the seal changes, unless another ending of its message is announced."""
        place, seal = self._places.get(number), self._batch[number]
        if place is None:
            return
        if entry is None:
            is_chosen = claim.choose(seal.token.id, place) == place
        else:
            is_chosen = entry.announced < entry.generation
            entry.announce = entry.announce or seal.announce
            if is_chosen:
                entry.end_by(place)
        if is_chosen:
            self._marked.add(number)

    async def clean_up(self) -> None:
        """Drop the intents by which nothing ended."""
        await _remove(self._rows, [place for number, place in self._places.items() if number not in self._marked])


def _seal_intent(changes: RowChanges, seal: Seal) -> Intent | None:
    if seal.announce is None:
        return None
    token, scope = seal.token, seal.token.scope
    says = announcement(
        seal.announce, id=token.id, queue=scope.queue, task=scope.task, generation=scope.generation,
        ending=MessageState.COMPLETED, ended_at=changes.table.wall(),
    )  # fmt: skip
    met = Met(RUNNING, scope.generation, token.fence)
    return Intent(says=says, met=met, scope=None if is_own(scope) else scope, is_seal=True, size=len(seal.result))
