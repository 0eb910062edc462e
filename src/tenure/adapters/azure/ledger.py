"""The ledger: who may run what, and what is done.

A claim is an insert where nobody claimed before, else a change by comparison; a whole batch is one call. Every word
after `claim` is compared with the token and with the row's version. Fences rise with the account's time, so that they
also rise over a row that was forgotten. The rows are told in `scope.py`; whoever ends the claims of others, because
they are dead or their message was cancelled, does it by `unclaiming.py`.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.adapters.azure.announcing import SealIntents, learn
from tenure.adapters.azure.remembered import Remembered
from tenure.adapters.azure.roster import is_banned
from tenure.adapters.azure.rows import Change, Group, Row
from tenure.adapters.azure.scope import (
    DONE,
    RUNNING,
    SENT,
    Claim,
    Found,
    claim_row,
    is_under,
    look,
    mark_row,
    place_of,
)
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.unclaiming import finish_cancel
from tenure.claim import ClaimAnswer, ClaimRequest, Conflict, Done, Fresh, Running, Scope, Seal, Token
from tenure.errors import BrokerUnavailable
from tenure.message import Outgoing
from tenure.owner import retired
from tenure.rules.send_id import send_id

_TRIES = 8

_encode = msgspec.json.Encoder().encode
_handoffs = msgspec.json.Decoder(tuple[Outgoing, ...]).decode


class AzureLedger:
    """Claims in the table."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        #: The latest that is known of what we claimed, by the row's key. The heartbeat's ledger knows the same.
        self._mine: Remembered[Found] = store.shared.claims

    # --- claim ------------------------------------------------------------------------------------------

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Ask to run. Raises `OwnerRetired` for an owner that was declared dead: others run its messages."""
        if not batch:
            return []
        store = self._store
        owners = sorted({request.owner for request in batch})
        banned = await asyncio.gather(*(is_banned(store, owner) for owner in owners))
        for owner, is_out in zip(owners, banned, strict=True):
            if is_out:
                raise retired(owner)
        await learn(store, batch)
        asked = [self._ask(request, None) for request in batch]
        told = await self._commit(batch, asked)
        answers: list[ClaimAnswer] = []
        for request, (found, _), rows in zip(batch, asked, told, strict=True):
            if rows is None:
                answers.append(await self._slowly(request))
            else:
                answers.append(self._granted(request, found, rows))
        return answers

    def _ask(self, request: ClaimRequest, old: Found | None) -> tuple[Found, Group]:
        store = self._store
        before = Claim() if old is None else old.claim
        claim = msgspec.structs.replace(
            before,
            id=before.id or request.id,
            digest=before.digest or request.digest,
            sent_at=before.sent_at if before.id else request.sent_at,
            state=RUNNING,
            owner=request.owner,
            runner=request.id,
            fence=max(store.shared.next_number(), before.fence + 1),
            until=store.timeline.now() + request.seconds,
        )
        found = Found(claim, "" if old is None else old.etag)
        act = "insert" if old is None else "replace"
        mark = Change("upsert", mark_row(store, request.scope, request.owner))
        return found, [Change(act, claim_row(store, request.scope, found)), mark]

    async def _commit(
        self, batch: Sequence[ClaimRequest], asked: Sequence[tuple[Found, Group]]
    ) -> list[list[Row] | None]:
        """Write claims. If no answer came, look which of them stand: nobody else claims under our owner and fence.

        Else whoever was granted one would not know, and its message would wait until the claim ends.
        """
        try:
            return await self._store.rows.commit([group for _, group in asked])
        except BrokerUnavailable as error:
            if not error.outcome_unknown:
                raise
            try:
                seen = await asyncio.gather(*(look(self._store, request.scope) for request in batch))
            except BrokerUnavailable:
                raise error from None
        told: list[list[Row] | None] = []
        for (wanted, group), found in zip(asked, seen, strict=True):
            stands = found is not None and found.claim == wanted.claim
            told.append([msgspec.structs.replace(group[0].row, etag=found.etag)] if found and stands else None)
        return told

    def _granted(self, request: ClaimRequest, found: Found, rows: list[Row]) -> Fresh:
        self._mine.remember(rows[0].key, msgspec.structs.replace(found, etag=rows[0].etag))
        claim = found.claim
        first = send_id(claim.id, claim.sent_at)
        return Fresh(Token(request.scope, request.id, request.owner, claim.fence, request.seconds, first))

    async def _slowly(self, request: ClaimRequest) -> ClaimAnswer:
        """Somebody claimed before: see what it is at."""
        store = self._store
        while True:
            old = await look(store, request.scope)
            if old is not None:
                claim, now = old.claim, store.timeline.now()
                if claim.digest not in ("", request.digest):
                    return Conflict(claim.id)
                if claim.state == DONE:
                    return Done(old.result, _handoffs(old.handoffs or b"[]"))
                if claim.state == RUNNING and claim.until >= now and not await is_banned(store, claim.owner):
                    return Running(claim.owner, claim.until - now)
                if request.id in claim.barred:
                    # It was cancelled since it was lent. Told as if it had claimed a moment before: it has no claim.
                    await finish_cancel(store, request.id, claim.barred_at)
                    fence = max(store.shared.next_number(), claim.fence + 1)
                    return Fresh(Token(request.scope, request.id, request.owner, fence, request.seconds))
            asked = self._ask(request, old)
            (rows,) = await self._commit([request], [asked])
            if rows is not None:
                return self._granted(request, asked[0], rows)

    # --- what comes after -------------------------------------------------------------------------------

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Set each claim's end to now + `token.seconds`."""

        def change(found: Found, token: Token) -> Found:
            until = self._store.timeline.now() + token.seconds
            return msgspec.structs.replace(found, claim=msgspec.structs.replace(found.claim, until=until))

        return await self._each(tokens, [change] * len(tokens), ends=False)

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Let others claim."""

        def change(found: Found, _token: Token) -> Found:
            claim = msgspec.structs.replace(found.claim, state=SENT, owner="", runner="")
            return msgspec.structs.replace(found, claim=claim)

        return await self._each(tokens, [change] * len(tokens), ends=True, again=_was_released)

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Done, with result and hand-offs."""
        intents = await SealIntents.write(self._store, batch)

        def change_to(number: int, seal: Seal) -> Any:
            def change(found: Found, _token: Token) -> Found:
                claim = msgspec.structs.replace(
                    found.claim, state=DONE, owner="", runner="", finished_at=self._store.clock.wall()
                )
                intents.name(number, claim)
                return Found(claim, found.etag, seal.result, _encode(seal.handoffs) if seal.handoffs else b"")

            return change

        tokens = [seal.token for seal in batch]
        changes = [change_to(number, seal) for number, seal in enumerate(batch)]
        answers = await self._each(tokens, changes, ends=True, again=_was_sealed)
        await intents.clean_up(answers)
        return answers

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Free keys."""
        gone = [[Change("delete", Row(*place_of(self._store, scope), {}))] for scope in dict.fromkeys(scopes)]
        await self._store.rows.commit(gone)

    async def _each(
        self, tokens: Sequence[Token], changes: Sequence[Any], *, ends: bool, again: Any = lambda _found, _token: False
    ) -> list[bool]:
        """Change every claim that its token is still the claim on; `again`: whether it was carried out before."""
        store = self._store
        answers = [False] * len(tokens)
        open_ = list(range(len(tokens)))
        found: dict[int, Found | None] = {n: self._mine.recall(place_of(store, tokens[n].scope)[1]) for n in open_}
        for _ in range(_TRIES):
            unknown = [n for n in open_ if not self._is_ours(found[n], tokens[n])]
            for n, read in zip(
                unknown, await asyncio.gather(*(look(store, tokens[n].scope) for n in unknown)), strict=True
            ):
                found[n] = read
                if not self._is_ours(read, tokens[n]):
                    answers[n] = bool(again(read, tokens[n]))
                    open_.remove(n)
            if not open_:
                break
            new = {n: changes[n](found[n], tokens[n]) for n in open_}
            told = await store.rows.commit([self._group(tokens[n], new[n], ends=ends) for n in open_])
            refused = []
            for n, rows in zip(open_, told, strict=True):
                key = place_of(store, tokens[n].scope)[1]
                self._mine.forget(key)
                found[n] = None
                if rows is None:
                    refused.append(n)
                    continue
                answers[n] = True
                if not ends:
                    self._mine.remember(key, msgspec.structs.replace(new[n], etag=rows[0].etag))
            open_ = refused
        return answers

    def _group(self, token: Token, found: Found, *, ends: bool) -> Group:
        group = [Change("replace", claim_row(self._store, token.scope, found))]
        if ends:
            group.append(Change("delete", mark_row(self._store, token.scope, token.owner)))
        return group

    def _is_ours(self, found: Found | None, token: Token) -> bool:
        return found is not None and is_under(found.claim, token)


def _was_released(found: Found | None, token: Token) -> bool:
    """Repeated after a lost reply: still free, and nobody claimed in between."""
    if found is None:
        return True
    claim = found.claim
    return claim.state == SENT and claim.fence == token.fence and token.id not in claim.barred


def _was_sealed(found: Found | None, token: Token) -> bool:
    """Repeated after a lost reply: it is this very claim that is done."""
    return found is not None and found.claim.state == DONE and found.claim.fence == token.fence
