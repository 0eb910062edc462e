"""Putting aside: hand-offs that could not be sent become dead letters of their own queues.

Their parents are done, so no handler is left to be told. Letter and life are written in one step; then the bytes go
to the poison queue, or with the next sweep. Called by `runtime/path/outbox.py`. Next: `browsing.py` shows it,
`operating.py` redrives it.
"""

import logging
from collections.abc import Sequence

import msgspec

from tenure.adapters.azure import ghosts, wire
from tenure.adapters.azure.announcing import Endings
from tenure.adapters.azure.entry import Asked, Kept, Letter, Life, letter_row, life_row, mark_letter, unborn
from tenure.adapters.azure.holding import TRIES
from tenure.adapters.azure.naming import queue_name
from tenure.adapters.azure.rows import Change
from tenure.adapters.azure.sending import letter_of
from tenure.adapters.azure.store import Store
from tenure.broker import Refused
from tenure.envelope import encode, log_fields
from tenure.errors import BadSetting, BrokerError, BrokerUnavailable
from tenure.message import Message, MessageState
from tenure.record import Ending
from tenure.verdict import Reason

logger = logging.getLogger("tenure.azure")


async def put_aside(store: Store, batch: Sequence[Refused]) -> None:
    """Store each as a dead letter, unless it is known and in its queue."""
    for one in batch:
        await _put_aside(store, one.message, one.reason)


async def _put_aside(store: Store, message: Message, reason: Reason) -> None:
    raw = encode(message)
    await store.known_queues.register((message.queue,))
    endings = Endings(store)
    for _ in range(TRIES):
        kept, letter = await store.find(message.id), await store.letter(message.id)
        if not _was_never_queued(kept, letter):
            return
        place = store.shared.next_number() if letter is None else letter.place
        new = Kept(_dead(store, message, reason, place), "" if kept is None else kept.etag, raw)
        met = kept.life if kept is not None else None if letter is None else unborn(letter)
        await endings.name([(met, new.life)])
        life = Change("insert" if kept is None else "replace", life_row(new, store.partitions))
        if letter is None:
            sent = msgspec.structs.replace(letter_of(store, message, raw), place=place, is_put=True)
            marked = Change("insert", letter_row(sent, store.partitions))
        else:
            marked = mark_letter(message.id, store.partitions, IsPut=True)
        rows = await store.rows.commit_one(life, marked)
        store.note(new, rows)
        if rows is not None:
            await _bury(store, new, raw)
            return
    text = f"others change what is known of message {message.id} all the time; it was not put aside, and is tried again"
    raise BrokerUnavailable(text)


def _was_never_queued(kept: Kept | None, letter: Letter | None) -> bool:
    """Whether there is nothing of it, or a letter that was not put into its queue."""
    if letter is not None and (letter.is_put or letter.is_ended):
        return False
    return kept is None or (kept.life.state is MessageState.DELAYED and not kept.life.deliveries)


def _dead(store: Store, message: Message, reason: Reason, place: int) -> Life:
    life = Life(
        id=message.id, queue=message.queue, place=place, state=MessageState.DEAD, task=message.task, reason=reason,
        sent_at=message.sent_at or store.clock.wall(),
        finished_at=store.timeline.wall(), is_unput=_has_queue(store, message.queue),
        wire=wire.PLAIN if store.options.wire == wire.PLAIN else "", asked=Asked.of(message),
    )  # fmt: skip
    life.tell(Ending(store.clock.wall(), "dead", None, reason))
    return life


def _has_queue(store: Store, queue: str) -> bool:
    """Whether the service could have a queue of that name, and a poison queue beside it."""
    try:
        queue_name(store.options.prefix, queue)
    except BadSetting:
        return False
    return True


async def _bury(store: Store, kept: Kept, raw: bytes) -> None:
    """To the poison queue. If that fails, the next sweep does it: the dead letter itself is in the table."""
    if not kept.life.is_unput:
        return
    try:
        await ghosts.bury(store, kept, raw)
    except BrokerError as error:
        about = log_fields(kept.life.id, raw)
        logger.info("%s is dead; it is put into the poison queue later: %s", kept.life.id, error, extra=about)
