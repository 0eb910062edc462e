"""Promoting: delayed messages become ready before their time.

The life says first that the message is ready and must be shown. If the process dies before that is done, the next sweep
does it, or the next promotion. Where the receipt of its copy in the queue is known, that copy is shown at once. Else
another copy is put there, and the worker that receives the older one deletes it.
"""

from collections.abc import Sequence

import msgspec

from tenure.adapters.azure import posting
from tenure.adapters.azure.entry import Kept
from tenure.adapters.azure.ghosts import FINISHED
from tenure.adapters.azure.posting import Stale
from tenure.adapters.azure.returning import put_again
from tenure.adapters.azure.store import Store
from tenure.broker import Promoted
from tenure.message import MessageState


async def promote(store: Store, ids: Sequence[str]) -> list[Promoted]:
    """Make these ready if they are delayed; in which state each was."""
    return [Promoted(await _promote(store, id)) for id in ids]


async def _promote(store: Store, id: str) -> MessageState | None:
    while True:
        kept = await store.find(id)
        if kept is None:
            letter = await store.letter(id)
            return None if letter is None or letter.is_ended else MessageState.READY
        life = kept.life
        if life.state is MessageState.DELAYED:
            new = msgspec.structs.replace(life, state=MessageState.READY, due=None, is_unput=True)
            kept = Kept(new, kept.etag, kept.envelope, kept.checkpoint)
            if not (await store.save([kept]))[0]:
                continue
            await _show(store, kept)
            return MessageState.DELAYED
        if life.state is MessageState.READY and life.is_unput:
            await _show(store, kept)
        return None if life.state in FINISHED - {MessageState.DEAD} else life.state


async def _show(store: Store, kept: Kept) -> None:
    """Let the queue show it now."""
    if not await _show_copy(store, kept):
        await put_again(store, kept, await store.envelope(kept))


async def _show_copy(store: Store, kept: Kept) -> bool:
    """Show the copy that lies there. False: its receipt is not known; others have hidden it since."""
    life = kept.life
    message_id, receipt = life.message_id, life.receipt
    if not message_id and (letter := await store.letter(life.id)) is not None:
        message_id, receipt = letter.message_id, letter.receipt
    if not receipt:
        return False
    try:
        life.receipt = await posting.hide(store, life.queue, message_id, receipt, 0.0)
    except Stale:
        return False
    life.message_id, life.is_unput = message_id, False
    if (await store.save([kept]))[0]:
        store.shared.returned[life.queue].append(life.id)
    store.stir(life.queue)
    return True
