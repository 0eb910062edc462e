"""The ledger in memory: claims and done-records, in the key table.

Every call after `claim` compares the token; a stale one changes nothing and gets False.
"""

from collections.abc import Sequence

from tenure.adapters.memory.announcing import learn_request
from tenure.adapters.memory.keys import KeyRow, RowState
from tenure.adapters.memory.store import MemoryDatabase
from tenure.claim import ClaimAnswer, ClaimRequest, Conflict, Done, Fresh, Running, Scope, Seal, Token
from tenure.message import MessageState
from tenure.owner import retired
from tenure.rules.send_id import send_id


class MemoryLedger:
    """Claims and results: which owner may run a scope, and which scopes are done."""

    def __init__(self, store: MemoryDatabase) -> None:
        """Made by `MemoryState`."""
        self._store = store

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Ask to run. Raises `OwnerRetired` for an owner that was declared dead: others run its messages."""
        async with self._store.step() as now:
            banned = sorted({request.owner for request in batch} & self._store.members.banned)
            if banned:
                raise retired(banned[0])
            for request in batch:
                learn_request(self._store.entries.get(request.id), request.announce)
            return [self._claim(request, now) for request in batch]

    def _claim(self, request: ClaimRequest, now: float) -> ClaimAnswer:
        known = self._store.keys.get(request.scope)
        if known is not None and known.digest != request.digest:
            return Conflict(known.id)
        if known is None or self._is_free(known, now):
            return Fresh(self._grant(request, now))
        row = self._store.keys.register(request.scope, request.id, request.digest)
        if row.state is RowState.DONE:
            return Done(row.result, row.handoffs)
        return Running(row.owner, row.until - now)

    def _is_free(self, row: KeyRow, now: float) -> bool:
        if row.state is RowState.RUNNING:
            return row.until < now or row.owner in self._store.members.banned
        return row.state is RowState.SENT

    def _grant(self, request: ClaimRequest, now: float) -> Token:
        fence = self._store.next_fence()
        known = self._store.keys.get(request.scope)
        first = send_id(request.id, request.sent_at) if known is None else send_id(known.id, known.sent_at)
        token = Token(request.scope, request.id, request.owner, fence, request.seconds, first)
        # A message that was cancelled since its lease gets the answer of a claim that has ended: its key, which may
        # have been sent again, stays with its new message.
        if not self._is_cancelled(request.id):
            row = self._store.keys.register(request.scope, request.id, request.digest, request.sent_at)
            self._store.keys.run(row, token, now + request.seconds)
        return token

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Set each claim's end to now + `token.seconds`."""
        async with self._store.step() as now:
            return [self._renew(token, now) for token in tokens]

    def _renew(self, token: Token, now: float) -> bool:
        row = self._row_under(token)
        if row is None:
            return False
        row.until = now + token.seconds
        return True

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Release claims, so that others can claim."""
        async with self._store.step():
            return [self._release(token) for token in tokens]

    def _release(self, token: Token) -> bool:
        row = self._row_under(token)
        if row is not None:
            self._store.keys.release(row)
            return True
        if self._is_cancelled(token.id):
            return False
        # Repeated after a lost reply: still free, and not claimed in between.
        row = self._store.keys.get(token.scope)
        return row is None or (row.state is RowState.SENT and row.fence == token.fence)

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Done, with result and hand-offs."""
        async with self._store.step() as now:
            return [self._seal(seal, now) for seal in batch]

    def _seal(self, seal: Seal, now: float) -> bool:
        row = self._row_under(seal.token)
        if row is None:
            # Repeated after a lost reply: it is this very claim that is done.
            known = self._store.keys.get(seal.token.scope)
            return known is not None and known.state is RowState.DONE and known.fence == seal.token.fence
        row.handoffs = seal.handoffs
        self._announce(seal)
        self._store.keys.finish(row, seal.result, now=now, wall=self._store.clock.wall())
        return True

    def _announce(self, seal: Seal) -> None:
        entry = self._store.entries.get(seal.token.id)
        if entry is not None and seal.announce is not None:
            learn_request(entry, seal.announce)
            self._store.announcements.add(
                entry, MessageState.COMPLETED, self._store.clock.wall(), result=seal.result or None
            )

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Remove the rows of scopes, so that their keys are free."""
        async with self._store.step():
            for scope in scopes:
                self._store.keys.drop(scope)

    def _row_under(self, token: Token) -> KeyRow | None:
        """The row that `token` is the claim on. None: it is no longer."""
        row = self._store.keys.get(token.scope)
        return row if row is not None and row.is_run_under(token) else None

    def _is_cancelled(self, id: str) -> bool:
        """Whether the message is known to be cancelled; its claim ended with it, whatever became of its key."""
        entry = self._store.entries.get(id)
        return entry is not None and entry.state is MessageState.CANCELLED
