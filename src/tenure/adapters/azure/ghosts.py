"""Ghosts: what the queue shows although it should not.

A copy too many, the message of somebody whose lease still stands, one that is not due, one that is finished: each is
put where it belongs. Found by `lending.py`.
"""

import logging
from typing import Protocol

from tenure.adapters.azure import posting, wire
from tenure.adapters.azure.entry import Kept, Life
from tenure.adapters.azure.posting import Stale
from tenure.adapters.azure.store import Store
from tenure.envelope import log_fields
from tenure.errors import BrokerError, BrokerUnavailable, StoreMissing
from tenure.message import MessageState

logger = logging.getLogger("tenure.azure")

FINISHED = frozenset({MessageState.COMPLETED, MessageState.DEAD, MessageState.CANCELLED})


class Found(Protocol):
    """A message that was received."""

    @property
    def queue(self) -> str:
        """Where."""
        ...

    @property
    def raw(self) -> bytes | None:
        """Its bytes. None: they lie in the table."""
        ...

    @property
    def message_id(self) -> str:
        """The service's id."""
        ...

    @property
    def receipt(self) -> str:
        """The service's receipt."""
        ...


def is_copy(life: Life, message_id: str) -> bool:
    """Whether another message in the queue is the one that this life is about."""
    return bool(life.message_id) and life.message_id != message_id


async def finish(store: Store, kept: Kept, found: Found) -> None:
    """Delete it. If it is dead and its bytes are not in the poison queue yet, somebody died on the way there."""
    life = kept.life
    if life.state is MessageState.DEAD and life.is_unput:
        await bury(store, kept, await store.envelope(kept) if found.raw is None else found.raw)
    try:
        await posting.remove(store, found.queue, found.message_id, found.receipt)
    except Stale:
        return  # somebody else received it meanwhile, and does the same


async def bury(store: Store, kept: Kept, raw: bytes) -> None:
    """Put the raw bytes of a dead message into the poison queue, and note where they are."""
    life = kept.life
    # Plain where that can be: as base64 it might not fit any more.
    text = wire.verbatim(raw) if life.is_foreign else wire.write(raw, life.wire, "plain")
    life.message_id, life.receipt = await _bury(store, life, raw, text)
    life.is_unput = False
    # Refused: somebody did the same, or redrove it. Then a letter too many lies with the dead ones, for people only.
    await store.save([kept])


async def _bury(store: Store, life: Life, raw: bytes, text: str | None) -> tuple[str, str]:
    """Where it lies now. Empty: only in the table, because the poison queue does not take it, or is not there."""
    why: object = "there is no text for it that would come back as it was"
    try:
        if text is not None:
            return await posting.bury(store, life.queue, text)
    except BrokerUnavailable:
        raise
    except (BrokerError, StoreMissing) as error:
        why = error
    about = log_fields(life.id, raw)
    logger.warning("%s is dead and kept in the table, but not in a poison queue: %s", life.id, why, extra=about)
    return "", ""


async def hide_again(store: Store, kept: Kept, found: Found, seconds: float) -> None:
    """Not now. Its receipt is noted: whoever returns it can show it at once, and its holder can go on renewing it."""
    try:
        receipt = await posting.hide(store, found.queue, found.message_id, found.receipt, seconds)
    except Stale:
        return  # somebody was faster
    kept.life.message_id, kept.life.receipt = found.message_id, receipt
    if not (await store.save([kept]))[0]:
        # It was touched, settled or returned a moment ago: whoever is shown it in a second looks again.
        await _show_soon(store, found, receipt)


async def _show_soon(store: Store, found: Found, receipt: str) -> None:
    try:
        await posting.hide(store, found.queue, found.message_id, receipt, 1.0)
    except Stale:
        return  # its holder was faster
