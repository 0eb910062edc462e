"""The ledger: who may run a keyed message, and what is done.

Each scope is one row of `claim`: `sent` (nobody runs it), `running` until a moment, or `done`. The row stands
in the same file as the message, so an ack finishes both at once (`release.py`).
"""

from collections.abc import Sequence

import msgspec

from tenure.adapters.sqlite.roster import refuse_banned
from tenure.adapters.sqlite.sending import scope_text
from tenure.adapters.sqlite.store import Store
from tenure.adapters.sqlite.timeline import micros, seconds
from tenure.adapters.sqlite.transaction import Transaction
from tenure.claim import ClaimAnswer, ClaimRequest, Conflict, Done, Fresh, Running, Scope, Seal, Token
from tenure.message import Outgoing

_encode = msgspec.json.Encoder().encode
_handoffs = msgspec.json.Decoder(tuple[Outgoing, ...])

_MATCH = "scope = ? AND owner = ? AND fence = ?"


class SqliteLedger:
    """Claims and done-records in the store."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Ask to run."""
        return await self._store.write(lambda tx: [_claim(tx, request) for request in batch])

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Move the end of each claim to now + its seconds."""
        return await self._store.write(lambda tx: [_renew(tx, token) for token in tokens])

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Let others claim."""
        return await self._store.write(lambda tx: [_release(tx, token) for token in tokens])

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Done, with everything that must be remembered with it."""
        return await self._store.write(lambda tx: [_seal(tx, seal) for seal in batch])

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Free keys."""
        rows = [(scope_text(scope),) for scope in scopes]
        await self._store.write(lambda tx: _forget(tx, rows))


def _claim(tx: Transaction, request: ClaimRequest) -> ClaimAnswer:
    refuse_banned(tx, request.owner)
    scope = scope_text(request.scope)
    row = tx.db.execute(
        "SELECT id, digest, state, owner, moment, result, handoffs,"
        " EXISTS (SELECT 1 FROM owner WHERE owner.id = claim.owner AND owner.state = 'banned')"
        " FROM claim WHERE scope = ?",
        (scope,),
    ).fetchone()
    if row is None:
        return _start(tx, scope, request)
    id, digest, state, owner, moment, result, handoffs, is_banned = row
    if digest != request.digest:
        return Conflict(id)
    if state == "done":
        return Done(result or b"", _handoffs.decode(handoffs) if handoffs else ())
    if state == "running" and moment >= tx.now and not is_banned:
        return Running(owner, seconds(moment - tx.now))
    return _start(tx, scope, request)


def _start(tx: Transaction, scope: str, request: ClaimRequest) -> Fresh:
    """Running from now on, under a fence that is higher than every one before."""
    fence = tx.next_fence(request.owner, "claim", request.seconds)
    tx.db.execute(
        "INSERT INTO claim (scope, id, digest, state, owner, fence, moment) VALUES (?, ?, ?, 'running', ?, ?, ?)"
        " ON CONFLICT (scope) DO UPDATE SET id = excluded.id, state = 'running', owner = excluded.owner,"
        " fence = excluded.fence, moment = excluded.moment",
        (scope, request.id, request.digest, request.owner, fence, tx.now + micros(request.seconds)),
    )
    return Fresh(Token(request.scope, request.id, request.owner, fence, request.seconds))


def _renew(tx: Transaction, token: Token) -> bool:
    return _change(tx, token, "moment = ?", (tx.now + micros(token.seconds),))


def _release(tx: Transaction, token: Token) -> bool:
    if _change(tx, token, "state = 'sent', moment = ?", (tx.now,)):
        return True
    # Repeated after a lost reply: still free, and nobody claimed in between.
    known = tx.db.execute("SELECT 1 FROM claim WHERE scope = ?", (scope_text(token.scope),)).fetchone()
    return known is None or _stands(tx, token, "sent")


def _seal(tx: Transaction, seal: Seal) -> bool:
    handoffs = _encode(seal.handoffs) if seal.handoffs else None
    values = (tx.now, seal.result, handoffs)
    if _change(tx, seal.token, "state = 'done', moment = ?, result = ?, handoffs = ?", values):
        return True
    # Repeated after a lost reply: it is this very claim that is done.
    return _stands(tx, seal.token, "done")


def _change(tx: Transaction, token: Token, what: str, values: tuple[object, ...]) -> bool:
    """Change the claim, if it runs under this very token."""
    statement = f"UPDATE claim SET {what} WHERE {_MATCH} AND state = 'running'"
    return tx.db.execute(statement, (*values, *_matched(token))).rowcount == 1


def _stands(tx: Transaction, token: Token, state: str) -> bool:
    """Whether the claim is in `state`, and this token was the last on it."""
    found = tx.db.execute(f"SELECT 1 FROM claim WHERE {_MATCH} AND state = ?", (*_matched(token), state))
    return found.fetchone() is not None


def _matched(token: Token) -> tuple[object, ...]:
    return (scope_text(token.scope), token.owner, token.fence)


def _forget(tx: Transaction, rows: list[tuple[str]]) -> None:
    tx.db.executemany("DELETE FROM claim WHERE scope = ?", rows)
