"""Announcing: a message that asked for it ends in two steps, first an intent, then its life or claim, which names it.

The rule is `rules/announce_intent.py`. Intents are rows of one part of the table, in the order of time; they are read
by `announcements.py`. A process that dies in between leaves an intent that is shown if its message ended by it, and
dropped if not. A message that did not ask costs nothing here. A message may end by its life or by its claim, so the
claim names the one ending that is announced. Used by all that ends messages, and by `ledger.py` and `retention.py`.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence

import msgspec

from tenure.adapters.azure.entry import Asked, Kept, Letter, Life, letter_key, unborn
from tenure.adapters.azure.holding import TRIES
from tenure.adapters.azure.naming import row_id
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.scope import RUNNING, Claim, Found, look, place_of
from tenure.adapters.azure.store import Store
from tenure.announcement import RESULT_LIMIT, AnnounceRequest
from tenure.claim import ClaimRequest, Scope, Seal
from tenure.errors import BrokerUnavailable
from tenure.message import MessageState
from tenure.rules import announce_intent as rule
from tenure.rules.announce_intent import Intent, Known, Met
from tenure.rules.announcing import ENDS_BY_DELETE, announcement
from tenure.settlement import Ack

#: The part of the table that intents are in.
PART = "announce"
#: The state of a message whose life has ended.
_GONE = "gone"
_NO_WORDS: Sequence[object] = ()

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Intent).decode


def met_by(life: Life | None) -> Met:
    """What a life says of its message, as far as an ending of it depends on that."""
    return Met() if life is None else Met(life.state.value, life.current_generation, life.fence)


def known(kept: Kept | None, letter: Letter | None) -> Known:
    """What life and letter say of their message."""
    if kept is not None:
        return Known(met_by(kept.life), kept.life.intents)
    if letter is None:
        return Known()
    return Known(Met(_GONE) if letter.is_ended else met_by(unborn(letter)), letter.intents)


def known_claim(claim: Claim | None, generation: int) -> Known:
    """What a claim says of itself."""
    if claim is None:
        return Known()
    return Known(Met(claim.state, generation, claim.fence), tuple(claim.announced.values()))


def intent_row(place: str, intent: Intent | None = None) -> Row:
    """The row of an intent."""
    return Row(PART, f"a:{place}", {} if intent is None else {"Intent": _encode(intent)})


def read_intent(row: Row) -> tuple[str, Intent]:
    """The place and the intent in a row."""
    return row.key.removeprefix("a:"), _decode(row.fields["Intent"])


class Endings:
    """The intents of one act, which may try more than once to end its messages."""

    def __init__(self, store: Store) -> None:
        """None is written yet."""
        self._store = store
        self._made: dict[str, tuple[str, Intent]] = {}

    async def name(
        self, pairs: Sequence[tuple[Life | None, Life | None]], words: Sequence[object] = _NO_WORDS
    ) -> list[str]:
        """Write an intent for each message that ends and asked; the lives that are to be written name them.

        Each pair is a life as it was read and as it shall be, where None means that it begins or ends. Answers the
        places, for a life that ends; empty: it is not announced. `words` are what the holders say.
        """
        found = [
            _intent(self._store, old, new, words[number] if words else None) for number, (old, new) in enumerate(pairs)
        ]
        sealed = await self._sealed([one for one in found if one is not None])
        asking = {number: one for number, one in enumerate(found) if one is not None and one.says.id not in sealed}
        missing = {number: one for number, one in asking.items() if not self._is_made(one)}
        await self.clean_up([], [one.says.id for one in missing.values()])
        places = await write(self._store, [(one, _last(pairs[number][0])) for number, one in missing.items()])
        self._made |= {one.says.id: (place, one) for one, place in zip(missing.values(), places, strict=True)}
        told = [self._made[one.says.id][0] if (one := asking.get(number)) else "" for number in range(len(pairs))]
        for (_, new), place in zip(pairs, told, strict=True):
            if new is not None and place:
                new.intents, new.announced = (*new.intents, place), new.current_generation
        return told

    async def clean_up(self, ended: Sequence[Life], only: Sequence[str] | None = None) -> None:
        """Drop the intents of messages that did not end after all."""
        kept = {life.id for life in ended}
        ids = [id for id in (self._made if only is None else only) if id not in kept and id in self._made]
        await remove(self._store, [self._made.pop(id)[0] for id in ids])

    def _is_made(self, intent: Intent) -> bool:
        _, made = self._made.get(intent.says.id, ("", None))
        return made is not None and (made.met, made.says.ending) == (intent.met, intent.says.ending)

    async def _sealed(self, intents: Sequence[Intent]) -> set[str]:
        """The completed ones that are announced by the seals of their claims. What was sealed here is not looked up."""
        completed = [one for one in intents if one.says.ending is MessageState.COMPLETED and one.scope is not None]
        known_here = self._store.shared.sealed
        here = {one.says.id for one in completed if known_here.recall(one.says.id) == one.says.generation}
        others = [one for one in completed if one.says.id not in here]
        rows = await self._store.rows.get_all([place_of(self._store, one.scope) for one in others if one.scope])
        claims = [None if row is None else read_claim(row) for row in rows]
        return here | {
            one.says.id
            for one, claim in zip(others, claims, strict=True)
            if claim is not None and one.says.id in claim.announced
        }


def read_claim(row: Row) -> Claim:
    """The claim in its row."""
    return msgspec.json.decode(row.fields["Claim"], type=Claim)


def _last(life: Life | None) -> str:
    return life.intents[-1] if life is not None and life.intents else ""


def _intent(store: Store, old: Life | None, new: Life | None, word: object) -> Intent | None:
    """The intent for a change of a life. None: that does not end it, or it is not to be announced."""
    life = new or old
    if life is None:
        return None
    ack = word if isinstance(word, Ack) else None
    asked = life.asked or (None if ack is None else Asked.of(ack.routed))
    if asked is None or (ack is not None and ack.is_duplicate):
        return None
    generation = asked.scope.generation if life.generation is None else life.generation
    ending = _ending(old, new)
    if ending is None or life.announced >= generation:
        return None
    # It is in no record: what was not sealed is acked without one.
    is_told = ack is not None and len(ack.result or b"") <= RESULT_LIMIT
    says = announcement(
        asked.request, id=life.id, queue=life.queue, task=life.task or asked.scope.task, generation=generation,
        ending=ending, ended_at=store.wall(), reason=life.reason if ending is MessageState.DEAD else None,
        result=ack.result if ack is not None and is_told else None,
    )  # fmt: skip
    scope = msgspec.structs.replace(asked.scope, generation=generation)
    return Intent(says=says, met=met_by(old), scope=scope)


def _ending(old: Life | None, new: Life | None) -> MessageState | None:
    if new is None:
        return MessageState.COMPLETED
    if new.state is MessageState.CANCELLED:
        return MessageState.CANCELLED if old is not None and old.state in ENDS_BY_DELETE else None
    is_new = new.state is MessageState.DEAD and (old is None or old.state is not MessageState.DEAD)
    return MessageState.DEAD if is_new else None


async def write(store: Store, intents: Sequence[tuple[Intent, str]]) -> list[str]:
    """Write intents, each behind the place that goes with it; their places."""
    places = [
        rule.place_of(store.shared.next_number(), rule.number_of(last), os.urandom(3).hex())[0] for _, last in intents
    ]
    if intents:
        # A name that nobody else has: repeated after a lost reply, it says the same.
        await store.rows.commit(
            [[Change("upsert", intent_row(place, one))] for place, (one, _) in zip(places, intents, strict=True)]
        )
    return places


async def remove(store: Store, places: Sequence[str]) -> None:
    """No message ended by these. One that stays is dropped when it is read."""
    if places:
        with contextlib.suppress(BrokerUnavailable):
            await store.rows.commit([[Change("delete", intent_row(place))] for place in places])


async def learn(store: Store, batch: Sequence[ClaimRequest]) -> None:
    """Keep what messages ask for that Tenure did not send: only their reader knows."""
    for request in batch:
        if request.announce is not None:
            await _learn(store, request.id, request.announce, request.scope)


async def _learn(store: Store, id: str, request: AnnounceRequest, scope: Scope) -> None:
    for _ in range(TRIES):
        kept = await store.find(id)
        if kept is None or kept.life.asked is not None or kept.life.state is not MessageState.LEASED:
            return
        kept.life.asked = Asked(request, scope)
        if (await store.save([kept]))[0]:
            return
    raise BrokerUnavailable(f"others change what is known of message {id} all the time; it was not claimed; retrying")


class SealIntents:
    """The intents of one batch of seals."""

    def __init__(self, store: Store, batch: Sequence[Seal], places: Mapping[int, str]) -> None:
        """Made by `write`."""
        self._store = store
        self._batch = batch
        self._places = places
        self._named: set[int] = set()

    @classmethod
    async def write(cls, store: Store, batch: Sequence[Seal]) -> "SealIntents":
        """Write an intent for each seal of a message that asked."""
        asking = {number: intent for number, seal in enumerate(batch) if (intent := _seal_intent(store, seal))}
        places = await write(store, [(one, "") for one in asking.values()])
        return cls(store, batch, dict(zip(asking, places, strict=True)))

    def name(self, number: int, claim: Claim) -> None:
        """Name the intent in the claim that is to be written, unless another ending of its message is announced."""
        place, id = self._places.get(number), self._batch[number].token.id
        self._named.discard(number)
        if place is not None and claim.choose(id, place) == place:
            self._named.add(number)

    async def clean_up(self, answers: Sequence[bool]) -> None:
        """Drop the intents by which nothing ended; remember what did."""
        over = {number for number in self._named if answers[number]}
        for number in over:
            token = self._batch[number].token
            self._store.shared.sealed.remember(token.id, token.scope.generation)
        await remove(self._store, [place for number, place in self._places.items() if number not in over])


def _seal_intent(store: Store, seal: Seal) -> Intent | None:
    if seal.announce is None:
        return None
    token, scope = seal.token, seal.token.scope
    says = announcement(
        seal.announce, id=token.id, queue=scope.queue, task=scope.task, generation=scope.generation,
        ending=MessageState.COMPLETED, ended_at=store.wall(),
    )  # fmt: skip
    met = Met(RUNNING, scope.generation, token.fence)
    return Intent(says=says, met=met, scope=scope, is_seal=True, size=len(seal.result))


async def found(store: Store, intent: Intent) -> tuple[Known, Found | None]:
    """What is known of the message of an intent, and its claim."""
    claim = None if intent.scope is None else await look(store, intent.scope)
    if intent.is_seal:
        generation = 0 if intent.scope is None else intent.scope.generation
        return known_claim(None if claim is None else claim.claim, generation), claim
    kept, letter = await store.find(intent.says.id), await store.letter(intent.says.id)
    return known(kept, letter), claim


async def spared(store: Store) -> set[tuple[str, str]]:
    """Part and key of each row that an intent is about: none of them is forgotten before it was announced."""
    rows: set[tuple[str, str]] = set()
    async for row in store.rows.between(PART, "a:", "a;"):
        _, intent = read_intent(row)
        part, id = store.part(intent.says.id), intent.says.id
        rows |= {(part, letter_key(id)), (part, f"m:{row_id(id)}")}
        if intent.scope is not None:
            rows.add(place_of(store, intent.scope))
    return rows
