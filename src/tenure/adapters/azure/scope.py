"""A scope in the table: its row, and the mark of whoever claims it. What they are for is in `ledger.py`.

    k<part>  k:<scope>           a scope: sent (nobody runs it), running, or done
             r:<owner>:<scope>   an owner's claim, to find them all when it is retired

Both lie in one part, so that they are changed in one step. Used by the ledger, by those who end claims that are not
theirs (`unclaiming.py`), and by `records.py`, which only looks.
"""

from typing import Any

import msgspec

from tenure.adapters.azure.naming import part_of, row_id, scope_id
from tenure.adapters.azure.rows import Row
from tenure.adapters.azure.store import Store
from tenure.claim import Scope, Token

#: A claim names the announced endings of so many messages.
_MOST_CHOSEN = 50

SENT, RUNNING, DONE = "sent", "running", "done"

_encode = msgspec.json.Encoder().encode


class Claim(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a scope is at."""

    #: The message that stands for it: the first that was claimed. Empty, with its digest: the key is free.
    id: str = ""
    digest: str = ""
    #: When that message was sent. 0: it does not say.
    sent_at: float = 0.0
    state: str = SENT
    owner: str = ""
    runner: str = ""
    fence: int = 0
    #: On the account's time line.
    until: float = 0.0
    finished_at: float | None = None
    #: Messages that were cancelled: whoever holds one of them and claims has no claim.
    barred: list[str] = []
    #: When the latest of them was, as fences count.
    barred_at: int = 0
    #: By message, the place of the intent of its one ending that is announced (`announcing.py`).
    announced: dict[str, str] = {}

    def choose(self, id: str, place: str) -> str:
        """Choose the ending of a message that is announced, if none is chosen yet; the place of the chosen one."""
        if id not in self.announced:
            self.announced = dict([*self.announced.items(), (id, place)][-_MOST_CHOSEN:])
        return self.announced[id]


_claim = msgspec.json.Decoder(Claim).decode


class Found(msgspec.Struct, frozen=True):
    """A claim as it was read."""

    claim: Claim
    etag: str = ""
    result: bytes = b""
    handoffs: bytes = b""


def place_of(store: Store, scope: Scope) -> tuple[str, str]:
    """The part and the key of a scope's row."""
    name = scope_id(scope)
    return f"k{part_of(name, store.partitions)}", f"k:{name}"


def claim_row(store: Store, scope: Scope, found: Found) -> Row:
    """The row of a scope, to be written."""
    part, key = place_of(store, scope)
    fields: dict[str, Any] = {
        "Claim": _encode(found.claim), "State": found.claim.state, "At": store.timeline.wall(),
        "Result": found.result, "Handoffs": found.handoffs, "Asked": True if found.claim.announced else None,
    }  # fmt: skip
    return Row(part, key, fields, found.etag)


def mark_row(store: Store, scope: Scope, owner: str) -> Row:
    """The row by which an owner's claim is found."""
    part, key = place_of(store, scope)
    return Row(part, f"r:{row_id(owner)}:{key[2:]}", {"Scope": _encode(scope)})


async def look(store: Store, scope: Scope) -> Found | None:
    """What a scope is at. None: nobody claimed it."""
    row = await store.rows.get(*place_of(store, scope))
    return None if row is None else _read(row)


def _read(row: Row) -> Found:
    fields = row.fields
    return Found(_claim(fields["Claim"]), row.etag, fields.get("Result", b""), fields.get("Handoffs", b""))


def is_under(claim: Claim, token: Token) -> bool:
    """Whether `token` is the claim that the scope is run under now. Lapsed is not lost yet."""
    return claim.state == RUNNING and (claim.owner, claim.fence) == (token.owner, token.fence)
