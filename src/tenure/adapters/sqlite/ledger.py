"""The ledger: who may run a keyed message, and what is done.

Each scope is one row of `claim`: `sent` (not running), `running` until a moment, or `done`. Owner and fence
of the last claim stay on it, so that a call whose answer was lost can be repeated. The row is in the same
file as the message, so an ack finishes both at once (`claim_release.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite import announcing
from tenure.adapters.sqlite.placeholders import listed, pieces, placeholders
from tenure.adapters.sqlite.roster import refuse_banned
from tenure.adapters.sqlite.sending import scope_text
from tenure.adapters.sqlite.states import CANCELLED, LEASED
from tenure.adapters.sqlite.store import SqliteStore
from tenure.adapters.sqlite.timeline import micros, seconds
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.claim import ClaimAnswer, ClaimRequest, Conflict, Done, Fresh, Running, Scope, Seal, Token
from tenure.message import Outgoing

_ROWS = f"""
SELECT json_group_array(json_array(scope, id, digest, state, owner, moment,
    EXISTS (SELECT 1 FROM owner WHERE owner.id = claim.owner AND owner.state = 'banned'),
    (SELECT fence FROM message WHERE message.id = claim.id AND message.state = {LEASED}
        AND message.fence = claim.fence)))
FROM claim WHERE scope IN (SELECT value FROM json_each(?))
"""
_STATES = """
SELECT json_group_array(json_array(entry.key, state,
    owner IS json_extract(entry.value, '$[1]') AND fence IS json_extract(entry.value, '$[2]')))
FROM json_each(?) AS entry CROSS JOIN claim ON scope = json_extract(entry.value, '$[0]')
"""
_CANCELLED = f"SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?)) AND state = {CANCELLED}"
#: In place of a state: the ledger does not know the scope.
_NOT_THERE = ""


class LedgerRow(NamedTuple):
    """A scope's row in the file."""

    scope: str
    id: str
    digest: str
    state: str
    owner: str | None
    moment: int
    is_banned: int
    #: Set for a claim that came with a lease which still stands (`lease_claims.py`): their fence.
    lease_fence: int | None = None


_rows = msgspec.json.Decoder(list[LedgerRow])
_states = msgspec.json.Decoder(list[tuple[int, str, int]])
_encode = msgspec.json.Encoder().encode
_handoffs = msgspec.json.Decoder(tuple[Outgoing, ...])


class SqliteLedger:
    """Claims and done-records in the store."""

    def __init__(self, store: SqliteStore) -> None:
        """Take the store."""
        self._store = store

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Claim scopes for their owners."""
        return await self._store.write(lambda tx: _claim(tx, batch), is_light=True)

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Move the end of each claim to now + its seconds."""
        return await self._store.write(lambda tx: _renew(tx, tokens), is_light=True)

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Release claims, so that others can claim."""
        return await self._store.write(lambda tx: _release(tx, tokens))

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Done, with everything that must be remembered with it."""
        return await self._store.write(lambda tx: _seal(tx, batch))

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Remove the rows of scopes, so that their keys are free."""
        gone = listed([scope_text(scope) for scope in scopes])
        await self._store.write(lambda tx: _forget(tx, gone))


def _claim(tx: WriteTransaction, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
    for owner in {request.owner for request in batch}:
        refuse_banned(tx, owner)
    scopes = [scope_text(request.scope) for request in batch]
    (text,) = tx.db.execute(_ROWS, (listed(scopes),)).fetchone()
    rows = {row.scope: row for row in _rows.decode(text)}
    gone = _cancelled(tx, [request.id for request in batch])
    answers: list[ClaimAnswer | None] = []
    started: list[tuple[str, ClaimRequest]] = []
    for scope, request in zip(scopes, batch, strict=True):
        answer = _look(tx, rows.get(scope), request)
        answers.append(answer)
        # A message that was cancelled since its lease gets the answer of a claim that has ended: its key, which may
        # have been sent again, stays with its new message.
        if answer is None and request.id not in gone:
            started.append((scope, request))
            until = tx.now + micros(request.seconds)
            # A second request of the same batch finds the scope running.
            rows[scope] = LedgerRow(scope, request.id, request.digest, "running", request.owner, until, is_banned=0)
    fence = tx.next_fence(batch[0].owner, "claim", 0.0) if None in answers else 0
    _start(tx, started, fence)
    announcing.learn(
        tx,
        [
            (one.id, one.scope.generation, one.announce)
            for one, answer in zip(batch, answers, strict=True)
            if one.announce is not None and (answer is None or isinstance(answer, Fresh)) and one.id not in gone
        ],
    )
    return [
        Fresh(Token(request.scope, request.id, request.owner, fence, request.seconds)) if answer is None else answer
        for request, answer in zip(batch, answers, strict=True)
    ]


def _look(tx: WriteTransaction, row: LedgerRow | None, request: ClaimRequest) -> ClaimAnswer | None:
    """Read a scope's claim or result from the file. None: the scope is free to claim."""
    if row is None:
        return None
    if row.digest != request.digest:
        return Conflict(row.id)
    if row.state == "done":
        return _done(tx, row.scope)
    if row.state == "running" and row.moment >= tx.now and not row.is_banned:
        if row.lease_fence is not None and (row.owner, row.id) == (request.owner, request.id):
            # Its holder asks although it has the claim: the lease was all that it looked at.
            return Fresh(Token(request.scope, request.id, request.owner, row.lease_fence, request.seconds))
        return Running(row.owner or "", seconds(row.moment - tx.now))
    return None


def _done(tx: WriteTransaction, scope: str) -> Done:
    result, handoffs = tx.db.execute("SELECT result, handoffs FROM claim WHERE scope = ?", (scope,)).fetchone()
    return Done(result or b"", _handoffs.decode(handoffs) if handoffs else ())


def _start(tx: WriteTransaction, started: Sequence[tuple[str, ClaimRequest]], fence: int) -> None:
    """Running from now on, under a fence that is higher than every one before."""
    rows = [
        (scope, request.id, request.digest, request.owner, tx.now + micros(request.seconds))
        for scope, request in started
    ]
    for piece in pieces(rows):
        tx.db.execute(_upsert(len(piece)), [fence, *(value for row in piece for value in row)])


def _renew(tx: WriteTransaction, tokens: Sequence[Token]) -> list[bool]:
    moments = [(tx.now + micros(token.seconds),) for token in tokens]
    _change(tx, "moment = entry.column4", tokens, moments)
    return [mine == "running" for mine in _state_under(tx, tokens)]


def _release(tx: WriteTransaction, tokens: Sequence[Token]) -> list[bool]:
    _change(tx, "state = 'sent', moment = entry.column4", tokens, [(tx.now,)] * len(tokens))
    states = _state_under(tx, tokens)
    gone = _cancelled(tx, [token.id for token, mine in zip(tokens, states, strict=True) if mine == _NOT_THERE])
    # Also true when it is repeated: still free, or forgotten, and not claimed in between. But the claim on a
    # message that was cancelled ended with it.
    return [
        mine == "sent" or (mine == _NOT_THERE and token.id not in gone)
        for token, mine in zip(tokens, states, strict=True)
    ]


def _cancelled(tx: WriteTransaction, ids: Sequence[str]) -> set[str]:
    if not ids:
        return set()
    return {id for (id,) in tx.db.execute(_CANCELLED, (listed(ids),)).fetchall()}


def _seal(tx: WriteTransaction, batch: Sequence[Seal]) -> list[bool]:
    tokens = [seal.token for seal in batch]
    values = [(tx.now, seal.result, _encode(seal.handoffs) if seal.handoffs else None) for seal in batch]
    _change(
        tx, "state = 'done', moment = entry.column4, result = entry.column5, handoffs = entry.column6", tokens, values
    )
    # Also true when it is said again: it is this very claim that is done.
    done = [mine == "done" for mine in _state_under(tx, tokens)]
    asking = [(seal.token.id, seal.result) for seal, ok in zip(batch, done, strict=True) if ok and seal.announce]
    if asking:
        announcing.announce_sealed(tx, asking)
    return done


def _change(tx: WriteTransaction, what: str, tokens: Sequence[Token], values: Sequence[tuple[object, ...]]) -> None:
    """Change those claims that run under these very tokens."""
    rows = [(*_matched(token), *own) for token, own in zip(tokens, values, strict=True)]
    for piece in pieces(rows):
        tx.db.execute(_update(what, len(piece[0]), len(piece)), [value for row in piece for value in row])


def _state_under(tx: WriteTransaction, tokens: Sequence[Token]) -> list[str | None]:
    """The state of each claim, if this token is the last on it. None: another one is."""
    (text,) = tx.db.execute(_STATES, (listed([_matched(token) for token in tokens]),)).fetchone()
    states: list[str | None] = [_NOT_THERE] * len(tokens)
    for place, state, is_mine in _states.decode(text):
        states[place] = state if is_mine else None
    return states


def _matched(token: Token) -> tuple[object, ...]:
    return (scope_text(token.scope), token.owner, token.fence)


def _forget(tx: WriteTransaction, scopes: str) -> None:
    tx.db.execute("DELETE FROM claim WHERE scope IN (SELECT value FROM json_each(?))", (scopes,))


@cache
def _upsert(count: int) -> str:
    rows = ", ".join(["(?1, 'running', ?, ?, ?, ?, ?)"] * count)
    return (
        f"INSERT INTO claim (fence, state, scope, id, digest, owner, moment) VALUES {rows}"
        " ON CONFLICT (scope) DO UPDATE SET id = excluded.id, state = 'running', owner = excluded.owner,"
        " fence = excluded.fence, moment = excluded.moment"
    )


@cache
def _update(what: str, width: int, count: int) -> str:
    return (
        f"UPDATE claim SET {what} FROM (VALUES {placeholders(width, count)}) AS entry"
        " WHERE scope = entry.column1 AND owner = entry.column2 AND fence = entry.column3 AND state = 'running'"
    )
