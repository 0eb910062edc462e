"""Settling: first the message's life, by comparison; then the queue.

Whoever changes the life is the holder; whoever cannot is told why, and nothing was changed. Only then the queue is
told. If that fails, or we die before, the message is shown again, and its life or the ledger tells what it is at:
nothing is lost and nothing is done twice.

Before: `lending.py`. After: the message is finished, dead, or in its queue again.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from tenure.adapters.azure import ghosts, posting
from tenure.adapters.azure.announcing import Endings
from tenure.adapters.azure.entry import Asked, Kept, Letter, Life, counter_fields, intent_fields, letter_row
from tenure.adapters.azure.holding import TRIES, holding
from tenure.adapters.azure.naming import LONGEST_NAME
from tenure.adapters.azure.posting import Stale
from tenure.adapters.azure.rows import Change, Group
from tenure.adapters.azure.store import Store
from tenure.claim import Scope, digest
from tenure.envelope import log_fields
from tenure.errors import BrokerError, BrokerUnavailable, StoreMissing
from tenure.message import Message, MessageState
from tenure.record import Ending
from tenure.retry import RetryPolicy
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement

logger = logging.getLogger("tenure.azure")

W = TypeVar("W", Ack, Nack, GiveBack, DeadLetter)

#: How often a delete is tried, and how long the pauses in between are.
_AGAIN = RetryPolicy(max_attempts=3, first_delay_seconds=0.2)


async def settle(
    store: Store,
    batch: Sequence[W],
    change: Callable[[Kept, W], Kept | None],
    after: Callable[[Life, Kept | None, W], Awaitable[Settlement]],
) -> list[Settlement]:
    """Change each life that is lent under its lease; tell the queue of those that were changed.

    `change` gives the life as it shall be; None: it ends. No touch of the same messages is under way meanwhile.
    """
    async with store.shared.alone(word.lease.id for word in batch):
        return await _settle(store, batch, change, after)


async def _settle(
    store: Store,
    batch: Sequence[W],
    change: Callable[[Kept, W], Kept | None],
    after: Callable[[Life, Kept | None, W], Awaitable[Settlement]],
) -> list[Settlement]:
    answers: list[Settlement | None] = [None] * len(batch)
    mine: dict[int, tuple[Life, Kept | None]] = {}
    open_ = list(range(len(batch)))
    endings = Endings(store)
    for attempt in range(TRIES):
        if not open_:
            break
        found = await holding(store, [batch[number].lease for number in open_])
        asked: list[tuple[int, Kept, Kept | None]] = []
        for number, kept in zip(open_, found, strict=True):
            if kept is None:
                answers[number] = Settlement(_refusal(store, batch[number].lease.id))
            else:
                asked.append((number, kept, change(kept, batch[number])))
        places = await endings.name(
            [(kept.life, None if new is None else new.life) for _, kept, new in asked], [batch[n] for n, _, _ in asked]
        )
        groups = [
            await _group(store, kept, new, attempt, batch[number], place)
            for (number, kept, new), place in zip(asked, places, strict=True)
        ]
        told = await store.rows.commit(groups)
        open_ = []
        for (number, kept, new), rows in zip(asked, told, strict=True):
            if rows is None:
                store.shared.forget(kept.life.id)
                open_.append(number)
            else:
                mine[number] = (kept.life, new)
                store.shared.forget(kept.life.id)
                if new is not None:
                    store.note(new, rows)
    await endings.clean_up([old for old, _ in mine.values()])
    ended = await store.each([partial(after, old, new, batch[number]) for number, (old, new) in mine.items()])
    for number, settlement in zip(mine, ended, strict=True):
        if isinstance(settlement, BaseException):
            raise settlement
        answers[number] = settlement
    return [Settlement(Outcome.UNKNOWN) if answer is None else answer for answer in answers]


def _refusal(store: Store, id: str) -> Outcome:
    kept = store.shared.recall(id)  # `holding` has just read it
    is_held = kept is not None and kept.life.state is MessageState.LEASED
    return Outcome.TAKEN_OVER if is_held else Outcome.ALREADY_GONE


async def _group(store: Store, kept: Kept, new: Kept | None, attempt: int, word: object, place: str) -> Group:
    """`place`: of the intent by which its life ends."""
    if new is not None:
        return store.group(new)
    intents = (*kept.life.intents, place) if place else kept.life.intents
    routed = word.routed if isinstance(word, Ack) else None
    if routed is not None and max(len(routed.task), len(Scope.of(routed).key)) <= LONGEST_NAME:
        # Nobody else would know which claim tells of it.
        letter = ended(kept.life, routed, store.wall(), intents)
        return [*store.group(kept, "delete"), Change("upsert", letter_row(letter, store.partitions))]
    has_letter = not kept.life.is_foreign
    if has_letter and attempt:  # perhaps it was refused because there is none any more
        has_letter = await store.letter(kept.life.id) is not None
    if not has_letter and intents and kept.life.asked is not None:
        letter = ended(kept.life, None, store.wall(), intents)
        return [*store.group(kept, "delete"), Change("upsert", letter_row(letter, store.partitions))]
    if not has_letter:
        return store.group(kept, "delete")
    generation = {} if kept.life.generation is None else {"Generation": kept.life.generation}
    counted = counter_fields(kept.life.counters) | intent_fields(intents)
    return store.group(kept, "delete", IsEnded=True, EndedAt=store.wall(), Envelope=b"", **counted, **generation)


def ended(life: Life, message: Message | None, wall: float, intents: tuple[str, ...]) -> Letter:
    """What is left of a message that was not ours, or that was forgotten."""
    asked = life.asked or Asked.of(message)
    if message is not None:
        scope, read = Scope.of(message), digest(message)
    else:
        scope, read = Scope(life.queue, life.task, "") if asked is None else asked.scope, ""
    return Letter(
        id=life.id, queue=life.queue, task=scope.task, place=life.place, sent_at=life.sent_at or wall, envelope=b"",
        key=scope.key, generation=scope.generation, digest=read, is_put=True, is_ended=True, ended_at=wall,
        counters=life.counters, asked=asked, intents=intents,
    )  # fmt: skip


# --- ack ------------------------------------------------------------------------------------------------


async def ack(store: Store, batch: Sequence[Ack]) -> list[Settlement]:
    """Done: the life ends, then the message is deleted."""

    async def after(old: Life, _new: Kept | None, word: Ack) -> Settlement:
        return await delete(store, old, word.lease.envelope)

    return await settle(store, batch, lambda _kept, _word: None, after)


async def delete(store: Store, life: Life, raw: bytes) -> Settlement:
    """Delete the message of a life that has ended, and say what is known of it."""
    before = store.clock.monotonic()
    unanswered = False
    attempt = 0
    while not _AGAIN.is_exhausted(attempt):
        attempt += 1
        try:
            await posting.remove(store, life.queue, life.message_id, life.receipt)
        except Stale:
            # Either an earlier try was carried out, or our receipt was not the latest: then it is shown once more, and
            # the ledger knows that it is done.
            outcome = Outcome.ALREADY_GONE if unanswered else Outcome.UNKNOWN
            return Settlement(outcome, attempt, store.clock.monotonic() - before)
        except StoreMissing:
            # Somebody removed the queue, and the message with it.
            return Settlement(Outcome.ALREADY_GONE, attempt, store.clock.monotonic() - before)
        except BrokerUnavailable as error:
            unanswered = unanswered or error.outcome_unknown
            if not _AGAIN.is_exhausted(attempt):
                await asyncio.sleep(_AGAIN.delay_seconds(attempt, random.random))
            continue
        except BrokerError as error:
            # Its life has ended: an error now would have it settled in another way.
            about = log_fields(life.id, raw)
            logger.warning("%s is done, but its queue refuses to delete it: %s", life.id, error, extra=about)
            return Settlement(Outcome.UNKNOWN, attempt, store.clock.monotonic() - before)
        return Settlement(Outcome.DELETED, attempt, store.clock.monotonic() - before)
    return Settlement(Outcome.UNKNOWN, attempt, store.clock.monotonic() - before)


# --- back to the queue ----------------------------------------------------------------------------------


async def nack(store: Store, batch: Sequence[Nack]) -> list[Settlement]:
    """Failed: an attempt is counted, and it comes back after its delay."""

    def change(kept: Kept, word: Nack) -> Kept:
        new = waiting(store, kept.life, word.delay_seconds)
        new.attempts += 1
        new.reason = word.reason
        new.tell(Ending(store.clock.wall(), "failed", kept.life.owner, word.reason))
        return _with(kept, new)

    return await settle(store, batch, change, lambda _old, new, word: _show(store, new, word))


async def give_back(store: Store, batch: Sequence[GiveBack]) -> list[Settlement]:
    """Not run: nothing is counted, and it comes back after its delay. A reason is kept."""

    def change(kept: Kept, word: GiveBack) -> Kept:
        new = waiting(store, kept.life, word.delay_seconds)
        if word.reason is not None:
            new.reason = word.reason
            new.tell(Ending(store.clock.wall(), "given_back", kept.life.owner, word.reason))
        return _with(kept, new)

    return await settle(store, batch, change, lambda _old, new, word: _show(store, new, word))


def waiting(store: Store, life: Life, delay_seconds: float = 0.0) -> Life:
    """The life as it is when the message waits again. The fence stays, so that the next one is higher."""
    is_late = delay_seconds > 0
    return msgspec.structs.replace(
        life,
        state=MessageState.DELAYED if is_late else MessageState.READY,
        due=store.timeline.now() + delay_seconds if is_late else None,
        owner=None,
        request_id="",
        deadline=None,
        is_graced=False,
    )


def _with(read: Kept, life: Life) -> Kept:
    """With the version, and the large parts, of what was read: what is remembered may be another's by now."""
    return Kept(life, read.etag, read.envelope, read.checkpoint)


async def _show(store: Store, kept: Kept | None, word: Nack | GiveBack) -> Settlement:
    if kept is not None:
        await show(store, kept, word.delay_seconds, word.lease.envelope)
    return Settlement(Outcome.RETURNED)


async def show(store: Store, kept: Kept, delay_seconds: float = 0.0, raw: bytes | None = None) -> None:
    """Let the queue show a message that waits again. If that fails, it does so by itself when its lease ends.

    `raw` is its envelope, where that is at hand, for the log.
    """
    life = kept.life
    about = partial(log_fields, life.id, raw or kept.envelope)
    try:
        receipt = await posting.hide(store, life.queue, life.message_id, life.receipt, delay_seconds)
    except Stale:
        logger.debug("the receipt of %s is old; it is shown when its lease ends", life.id, extra=about())
        return
    except BrokerUnavailable as error:
        logger.info("%s waits again, but is shown only when its lease ends: %s", life.id, error, extra=about())
        return
    except StoreMissing as error:
        logger.warning("%s waits in the table, but somebody removed its queue: %s", life.id, error, extra=about())
        return
    # Only here, not in the table: whoever does not know it receives the message as usual.
    life.receipt = receipt
    store.shared.remember(kept)
    store.shared.returned[life.queue].append(life.id)
    store.stir(life.queue, delay_seconds)


# --- dead letters ---------------------------------------------------------------------------------------


async def dead_letter(store: Store, batch: Sequence[DeadLetter]) -> list[Settlement]:
    """Given up: its bytes go to the poison queue, and stay in the table, from where it can be redriven."""

    def change(kept: Kept, word: DeadLetter) -> Kept:
        new = _with(kept, dead(store, kept.life, word.counted))
        new.envelope = word.lease.envelope
        new.life.reason = word.reason
        new.life.tell(Ending(store.clock.wall(), "dead", kept.life.owner, word.reason))
        return new

    async def after(old: Life, new: Kept | None, word: DeadLetter) -> Settlement:
        if new is not None:
            await move_to_poison(store, old, new, word.lease.envelope)
        return Settlement(Outcome.DEAD)

    return await settle(store, batch, change, after)


def dead(store: Store, life: Life, counted: bool = False) -> Life:  # noqa: FBT001, FBT002 - a field of `DeadLetter`
    """The life of a message that nobody will run."""
    return msgspec.structs.replace(
        waiting(store, life),
        state=MessageState.DEAD,
        attempts=life.attempts + counted,
        finished_at=store.timeline.wall(),
        is_unput=True,
    )


async def move_to_poison(store: Store, old: Life, new: Kept, raw: bytes) -> None:
    """Copy, note, delete. Whoever dies in between leaves a message that the next who receives it moves on."""
    about = partial(log_fields, old.id, raw)
    try:
        await ghosts.bury(store, new, raw)
        await posting.remove(store, old.queue, old.message_id, old.receipt)
    except Stale:
        logger.debug("the receipt of %s is old; whoever receives it next deletes it", old.id, extra=about())
    except StoreMissing as error:
        sentence = "%s is dead and kept in the table, but not in a poison queue: %s"
        logger.warning(sentence, old.id, error, extra=about())
    except BrokerError as error:
        logger.info("%s is dead; its message is moved on later: %s", old.id, error, extra=about())
