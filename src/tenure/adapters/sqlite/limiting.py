"""Limiting: of a limited queue, how many messages may be leased now, and when the next one may.

The leases of a queue are counted in the index of all leases: an index by queue would cost every lease of every queue
two more writes. The tokens are a row for each queue whose starts are limited. Decided by `rules/limits.py`, in the
transaction that leases. Called by `lending.py` and `broker.py`; `leasable_in` by those who wait.
"""

from collections.abc import Mapping, Sequence

from tenure.adapters.sqlite import serving
from tenure.adapters.sqlite.serving import Served, served_by
from tenure.adapters.sqlite.states import LEASED
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.lease import LeaseRequest
from tenure.limit import Limit
from tenure.rules.limits import ANY_NUMBER, Allowance, Bucket, allowance, taken
from tenure.settlement import Ack, DeadLetter, GiveBack, Outcome

_SECOND = 1_000_000
_RUNNING = f"""
SELECT count(*) FROM (SELECT 1 FROM message INDEXED BY message_leased WHERE state = {LEASED} AND queue = ? LIMIT ?)
"""
_KEEP = """
INSERT INTO bucket (queue, tokens, moment) VALUES (?, ?, ?)
ON CONFLICT (queue) DO UPDATE SET tokens = excluded.tokens, moment = excluded.moment
"""
_RETURN = "UPDATE bucket SET tokens = tokens + ? WHERE queue = ?"


def limited(request: LeaseRequest) -> list[str]:
    """The limited queues that a request serves."""
    served = served_by(request.queues, request.excluded)
    return [queue for queue in request.limits if queue in served]


def allowed(view: ReadView, queue: str, limit: Limit, want: int) -> Allowance:
    """How many of `want` messages may be leased now."""
    running, bucket = 0, None
    if limit.running is not None:
        (running,) = view.db.execute(_RUNNING, (queue, limit.running)).fetchone()
    if limit.per_second is not None:
        row = view.db.execute("SELECT tokens, moment FROM bucket WHERE queue = ?", (queue,)).fetchone()
        bucket = None if row is None else Bucket(row[0], row[1] / _SECOND)
    return allowance(limit, running=running, bucket=bucket, now=view.now / _SECOND, want=want)


def take(tx: WriteTransaction, queue: str, limit: Limit, count: int) -> None:
    """So many messages were leased: take their tokens."""
    if limit.per_second is None:
        return
    row = tx.db.execute("SELECT tokens, moment FROM bucket WHERE queue = ?", (queue,)).fetchone()
    bucket = None if row is None else Bucket(row[0], row[1] / _SECOND)
    tx.db.execute(_KEEP, (queue, taken(limit, bucket, tx.now / _SECOND, count).tokens, tx.now))


def return_tokens(tx: WriteTransaction, batch: Sequence[GiveBack], outcomes: Sequence[Outcome]) -> None:
    """Messages were given back: return their tokens, where their queue has any."""
    counts: dict[str, int] = {}
    for entry, outcome in zip(batch, outcomes, strict=True):
        if outcome is Outcome.RETURNED:
            counts[entry.lease.queue] = counts.get(entry.lease.queue, 0) + 1
    for queue, count in counts.items():
        tx.db.execute(_RETURN, (count, queue))


class Watched:
    """Queues of which a limited number may run, as far as this process has leased from them with a limit.

    Those who wait for the end of a lease are woken by it if this process ends it; else they look again within a second.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._queues: set[str] = set()

    def note(self, limits: Mapping[str, Limit]) -> None:
        """These limits are in force."""
        self._queues.update(queue for queue, limit in limits.items() if limit.running is not None)

    def stir(self, tx: WriteTransaction, batch: Sequence[Ack | DeadLetter]) -> None:
        """Leases have ended: wake those who wait for it."""
        if self._queues:
            tx.stirred.update(entry.lease.queue for entry in batch if entry.lease.queue in self._queues)


def leasable_in(view: ReadView, served: Served, limits: Mapping[str, Limit]) -> int | None:
    """As `serving.leasable_in`, where some queues are limited. None also: a lease must end first."""
    names = [queue for queue in limits if queue in served]
    if not names:
        return serving.leasable_in(view, served)
    if serving.has_ready(view.db, served.without(names)):
        return 0
    moments = []
    for candidate in serving.ask(view.db, names):
        wait = allowed(view, candidate.queue, limits[candidate.queue], ANY_NUMBER).wait_seconds
        if wait is not None:
            moments.append(round(wait * _SECOND))
    due_in = serving.due_in(view, served)
    return min([*moments, *([] if due_in is None else [due_in])], default=None)
