"""Ending claims that are not one's own: of an owner that is gone, and on a message that is cancelled.

By comparison with the row, as every word about a claim; whoever runs under it finds out by its next word. Used by
`returning.py` and `operating.py`; the ledger finishes here what somebody who cancelled left half done.
"""

import msgspec

from tenure.adapters.azure.announcing import Endings
from tenure.adapters.azure.entry import Kept, cancelled
from tenure.adapters.azure.naming import row_id
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.scope import DONE, RUNNING, SENT, Claim, Found, claim_row, look
from tenure.adapters.azure.store import Store
from tenure.claim import Scope
from tenure.message import MessageState

_TRIES = 8
#: A scope keeps so many ids that were cancelled under it.
_BARRED = 50
_ON_ITS_WAY = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED})


async def release_owner(store: Store, owner: str) -> None:
    """End every claim of an owner that is gone."""
    for part in store.parts:
        for mark in await store.rows.scan(f"k{part}", f"r:{row_id(owner)}:"):
            scope = msgspec.json.decode(mark.fields["Scope"], type=Scope)
            for _ in range(_TRIES):
                found = await look(store, scope)
                if found is None or found.claim.state != RUNNING or found.claim.owner != owner:
                    await store.rows.commit_one(Change("delete", Row(mark.part, mark.key, {})))
                    break
                claim = msgspec.structs.replace(found.claim, state=SENT, owner="", runner="")
                row = claim_row(store, scope, msgspec.structs.replace(found, claim=claim))
                if await store.rows.commit_one(Change("replace", row), Change("delete", mark)) is not None:
                    break


async def finish_cancel(store: Store, id: str, barred_at: int) -> None:
    """Lent after it was cancelled: whoever did that ended before it could say so. It would be run again and again."""
    kept = await store.find(id)
    if kept is not None and kept.life.state in _ON_ITS_WAY and kept.life.fence > barred_at:
        new = Kept(cancelled(kept.life, store.clock.wall()), kept.etag)
        await Endings(store).name([(kept.life, new.life)])
        # Refused: somebody does the same.
        await store.save([new])


async def bar(store: Store, scope: Scope, id: str) -> bool:
    """Message `id` is cancelled: whoever runs it has no claim any more, and its key is free. False: it is done."""
    while True:
        found = await look(store, scope)
        claim = Claim() if found is None else found.claim
        if claim.state == DONE:
            return False
        new = msgspec.structs.replace(
            claim, barred=[*claim.barred, id][-_BARRED:], barred_at=store.shared.next_number()
        )
        if claim.state == RUNNING and claim.runner == id:
            new.state, new.owner, new.runner = SENT, "", ""
        if claim.id == id and new.state == SENT:
            new.id = new.digest = ""
        act = "insert" if found is None else "replace"
        row = claim_row(store, scope, Found(new, "" if found is None else found.etag))
        if await store.rows.commit_one(Change(act, row)) is not None:
            return True
