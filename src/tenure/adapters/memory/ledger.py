"""The ledger port on the store's key table: claims and done-records.

Every word after `claim` is compared with the token; a stale one changes nothing and is told False.
"""

from collections.abc import Sequence

from tenure.adapters.memory.keys import Row, RowState
from tenure.adapters.memory.store import Store
from tenure.claim import ClaimAnswer, ClaimRequest, Conflict, Done, Fresh, Running, Scope, Seal, Token
from tenure.message import MessageState
from tenure.owner import retired
from tenure.rules.send_id import send_id


class MemoryLedger:
    """Who may run what, and what is done."""

    def __init__(self, store: Store) -> None:
        """Made by `MemoryState`."""
        self._store = store

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Ask to run. Raises `OwnerRetired` for an owner that was declared dead: others run its messages."""
        async with self._store.step() as now:
            banned = sorted({request.owner for request in batch} & self._store.members.banned)
            if banned:
                raise retired(banned[0])
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

    def _is_free(self, row: Row, now: float) -> bool:
        if row.state is RowState.RUNNING:
            return row.until < now or row.owner in self._store.members.banned
        return row.state is RowState.SENT

    def _grant(self, request: ClaimRequest, now: float) -> Token:
        fence = self._store.next_fence()
        known = self._store.keys.get(request.scope)
        first = send_id(request.id, request.sent_at) if known is None else send_id(known.id, known.sent_at)
        token = Token(request.scope, request.id, request.owner, fence, request.seconds, first)
        # One that was cancelled since it was lent is told as if it had claimed a moment before: its claim has ended,
        # and the key, which may have been sent again, is not taken from anybody.
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
        """Let others claim."""
        async with self._store.step():
            return [self._release(token) for token in tokens]

    def _release(self, token: Token) -> bool:
        row = self._row_under(token)
        if row is not None:
            self._store.keys.release(row)
            return True
        if self._is_cancelled(token.id):
            return False
        # Repeated after a lost reply: still free, and nobody claimed in between.
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
        self._store.keys.finish(row, seal.result, now=now, wall=self._store.clock.wall())
        return True

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Free keys."""
        async with self._store.step():
            for scope in scopes:
                self._store.keys.drop(scope)

    def _row_under(self, token: Token) -> Row | None:
        """The row that `token` is the claim on. None: it is no longer."""
        row = self._store.keys.get(token.scope)
        return row if row is not None and row.is_run_under(token) else None

    def _is_cancelled(self, id: str) -> bool:
        """Whether the message is known to be cancelled; its claim ended with it, whatever became of its key."""
        entry = self._store.entries.get(id)
        return entry is not None and entry.state is MessageState.CANCELLED
