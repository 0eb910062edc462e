"""The key table: who may run what, and what is done.

One row for each scope that was sent with a key or claimed. A row is `sent` (not running), `running`
(claimed until a moment) or `done`. `send` registers keys here, `ledger.py` claims and seals them, and every
way back to the queue releases them; all under the store's lock, so they never disagree.
"""

from collections.abc import Container
from dataclasses import dataclass, field
from enum import StrEnum

from tenure.adapters.memory.retention import Retention
from tenure.claim import Scope, Token
from tenure.message import Counters, Outgoing


class RowState(StrEnum):
    """The state of a scope."""

    SENT = "sent"
    RUNNING = "running"
    DONE = "done"


@dataclass(slots=True, eq=False)
class KeyRow:
    """One scope. `id` is its message: the first that was sent or claimed."""

    scope: Scope
    id: str
    digest: str
    #: When that message was sent. 0: it does not say.
    sent_at: float = 0.0
    state: RowState = RowState.SENT
    #: The claim, while running: by whom, for which message, and until when (monotonic).
    owner: str = ""
    runner: str = ""
    fence: int = 0
    until: float = 0.0
    #: Once done.
    result: bytes = b""
    handoffs: tuple[Outgoing, ...] = ()
    finished_at: float | None = None
    #: Every message that came under this scope; their status is this row's once they are deleted.
    ids: set[str] = field(default_factory=set)
    #: The counters of deleted messages.
    counters: dict[str, Counters] = field(default_factory=dict)

    def is_run_under(self, token: Token) -> bool:
        """Whether `token` is the claim that the scope is run under now. Lapsed is not lost yet."""
        return self.state is RowState.RUNNING and (self.owner, self.fence) == (token.owner, token.fence)


class KeyTable:
    """All rows of the ledger, and the indexes to find them."""

    def __init__(self, *, limit: int, seconds: float) -> None:
        """Done rows are kept as `Retention` says."""
        self._rows: dict[Scope, KeyRow] = {}
        self._scope_of: dict[str, Scope] = {}
        self._running: dict[str, set[Scope]] = {}
        self._done: Retention[Scope] = Retention(limit=limit, seconds=seconds)

    def get(self, scope: Scope) -> KeyRow | None:
        """The row of a scope. None: it was neither sent with a key nor claimed, or was freed."""
        return self._rows.get(scope)

    def done_for(self, id: str) -> KeyRow | None:
        """The row under which message `id` is done. None: it is not, as far as the ledger knows."""
        scope = self._scope_of.get(id)
        row = self._rows.get(scope) if scope is not None else None
        return row if row is not None and row.state is RowState.DONE else None

    def done_ids(self) -> list[str]:
        """The messages that are done, as far as the ledger knows."""
        return [id for id in self._scope_of if self.done_for(id) is not None]

    def register(self, scope: Scope, id: str, digest: str, sent_at: float = 0.0) -> KeyRow:
        """Note that `id` comes under `scope`. A row that is there already stands."""
        row = self._rows.get(scope)
        if row is None:
            row = self._rows[scope] = KeyRow(scope, id, digest, sent_at)
        row.ids.add(id)
        self._scope_of[id] = scope
        return row

    def run(self, row: KeyRow, token: Token, until: float) -> None:
        """The claim in `token` is granted until `until`; an earlier one ends."""
        self._stop(row)
        row.state = RowState.RUNNING
        row.owner, row.runner, row.fence, row.until = token.owner, token.id, token.fence, until
        self._running.setdefault(token.owner, set()).add(row.scope)

    def release(self, row: KeyRow) -> None:
        """Mark the scope as neither running nor done. The row of a run without a key is removed."""
        self._stop(row)
        row.state = RowState.SENT
        if row.scope.key == f"id:{row.id}":
            self.drop(row.scope)

    def release_run(self, scope: Scope, id: str, owner: str | None) -> None:
        """`owner` no longer holds message `id`, so a claim that it made for it ends too.

        The claim of another run with the same key stays.
        """
        row = self._rows.get(scope)
        if row is not None and row.state is RowState.RUNNING and (row.runner, row.owner) == (id, owner):
            self.release(row)

    def release_owner(self, owner: str) -> None:
        """End every claim of `owner`."""
        for scope in list(self._running.get(owner, ())):
            self.release(self._rows[scope])

    def finish(self, row: KeyRow, result: bytes, *, now: float, wall: float) -> None:
        """Done, with this result. Old done rows may be forgotten in return."""
        self._stop(row)
        row.state, row.result, row.finished_at = RowState.DONE, result, wall
        for scope in self._done.keep(row.scope, now):
            self.drop(scope)

    def free(self, scope: Scope, id: str) -> None:
        """Message `id` is dead or cancelled, so its key may be sent again.

        The key stays if it is done after all, or if another message has it or runs under it.
        """
        row = self._rows.get(scope)
        if row is None or row.id != id or row.state is RowState.DONE:
            return
        if row.state is RowState.SENT or row.runner == id:
            self.drop(scope)

    def cancel(self, scope: Scope, id: str) -> None:
        """Message `id` is cancelled: its run loses its claim, and its key may be sent again."""
        row = self._rows.get(scope)
        if row is not None and row.state is RowState.RUNNING and row.runner == id:
            self.release(row)
        self.free(scope, id)

    def drop(self, scope: Scope) -> None:
        """Forget the scope, whatever it is at."""
        row = self._rows.pop(scope, None)
        if row is None:
            return
        self._stop(row)
        self._done.drop(scope)
        for id in row.ids:
            if self._scope_of.get(id) == scope:
                del self._scope_of[id]

    def erase(self, queue: str, known: Container[str]) -> None:
        """Forget the scopes of a queue, but for those of messages that are known."""
        for scope, row in list(self._rows.items()):
            if scope.queue == queue and not any(id in known for id in (row.id, *row.ids)):
                self.drop(scope)

    def _stop(self, row: KeyRow) -> None:
        """Take the row's claim, if there is one, off the list of its owner."""
        if row.state is not RowState.RUNNING:
            return
        scopes = self._running[row.owner]
        scopes.discard(row.scope)
        if not scopes:
            del self._running[row.owner]
        row.owner = row.runner = ""
