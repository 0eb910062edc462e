"""Operating: what people do to messages.

`redrive` sends dead letters back; `delete` removes what nobody holds; `cancel` takes messages back from whoever would
run, or runs, them. The life decides; the queue follows. All are recorded.
"""

from collections.abc import Sequence

import msgspec

from tenure.adapters.azure import board, posting, unclaiming
from tenure.adapters.azure.announcing import Endings
from tenure.adapters.azure.entry import Kept, Letter, Life, cancelled, unborn
from tenure.adapters.azure.naming import POISON
from tenure.adapters.azure.posting import Stale
from tenure.adapters.azure.returning import put_again
from tenure.adapters.azure.store import Store
from tenure.claim import Scope
from tenure.envelope import decode, encode
from tenure.errors import BodyUndecodable, BrokerUnavailable
from tenure.message import MessageState
from tenure.record import Ending

_DELETABLE = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.DEAD})
_ON_ITS_WAY = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED})


async def redrive(store: Store, ids: Sequence[str]) -> list[str]:
    """Send dead letters back to their queue, in a new generation; the ids that were moved.

    The life says first that it must be put into its queue; whoever dies before that is done leaves it to the next
    sweep, or to whoever redrives it again.
    """
    moved = []
    for id in ids:
        while True:
            kept = await store.find(id)
            if kept is None or not (kept.life.state is MessageState.DEAD or _is_half_redriven(kept.life)):
                break
            old = kept.life
            if old.state is MessageState.DEAD:
                kept = _again(store, kept)
                if not (await store.save([kept]))[0]:
                    continue
                await _remove(store, old.queue, old.message_id, old.receipt, POISON)
            await put_again(store, kept, kept.envelope or b"")
            moved.append(id)
            break
    return moved


def _is_half_redriven(life: Life) -> bool:
    return life.state is MessageState.READY and life.is_unput


def _again(store: Store, kept: Kept) -> Kept:
    raw, generation = _raised(kept.envelope or b"", kept.life)
    life = msgspec.structs.replace(
        kept.life,
        state=MessageState.READY,
        deliveries=0,
        attempts=0,
        crashes=0,
        lost=0,
        reason=None,
        finished_at=None,
        generation=generation,
        is_unput=True,
        message_id="",
        receipt="",
    )
    life.tell(Ending(store.clock.wall(), "redriven"))
    return Kept(life, kept.etag, raw, kept.checkpoint)


def _raised(raw: bytes, life: Life) -> tuple[bytes, int | None]:
    """Generation + 1 in the envelope. One that cannot be read goes back as it is."""
    if life.is_foreign:
        return raw, (life.generation or 0) + 1
    try:
        message = decode(raw)
    except BodyUndecodable:
        return raw, life.generation
    message = msgspec.structs.replace(message, generation=message.generation + 1)
    return encode(message), message.generation


async def delete(store: Store, ids: Sequence[str]) -> list[str]:
    """Cancel messages that nobody holds; the ids that were removed. Their record stays."""
    removed = []
    for id in ids:
        met = await _end(store, id, _DELETABLE)
        if met is not None:
            removed.append(id)
    return removed


async def cancel(store: Store, ids: Sequence[str]) -> list[MessageState | None]:
    """Cancel messages, whoever holds them; the state in which each was met. None: there was nothing to cancel."""
    return [await _end(store, id, _ON_ITS_WAY, is_cancel=True) for id in ids]


async def _end(
    store: Store, id: str, states: frozenset[MessageState], *, is_cancel: bool = False
) -> MessageState | None:
    endings = Endings(store)
    while True:
        kept, letter = await store.find(id), await store.letter(id)
        if kept is not None:
            life = kept.life
        elif letter is None or letter.is_ended:
            return None
        else:
            life = unborn(letter)
        if life.state not in states:
            return None
        if is_cancel and not await _end_claim(store, kept, letter, id):
            return None
        met = life.state
        new = Kept(cancelled(life, store.clock.wall()), "" if kept is None else kept.etag)
        await endings.name([(life, new.life)])
        if not (await store.save([new], "insert" if kept is None else "replace"))[0]:
            continue
        if met is MessageState.LEASED:
            await board.name_cancel(store, id)
        message_id, receipt = (life.message_id, life.receipt) if life.message_id else _sent(letter)
        ending = POISON if met is MessageState.DEAD else ""
        await _remove(store, life.queue, message_id, receipt, ending)
        return met


def _sent(letter: Letter | None) -> tuple[str, str]:
    return ("", "") if letter is None else (letter.message_id, letter.receipt)


async def _end_claim(store: Store, kept: Kept | None, letter: Letter | None, id: str) -> bool:
    """End the claim on it, and free its key. False: it is done, though the queue may still have it."""
    raw = kept.envelope if kept is not None and kept.envelope is not None else None
    if raw is None and letter is not None:
        raw = letter.envelope
    try:
        scope = Scope.of(decode(raw or b""))
    except BodyUndecodable:
        return True
    return await unclaiming.bar(store, scope, id)


async def _remove(store: Store, queue: str, message_id: str, receipt: str, ending: str = "") -> None:
    """Take the copy out of its queue, if we know which it is. If not, whoever receives it does."""
    if not message_id:
        return
    try:
        await posting.remove(store, queue, message_id, receipt, ending)
    except (Stale, BrokerUnavailable):
        return
