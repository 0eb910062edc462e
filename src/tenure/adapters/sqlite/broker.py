"""The broker on SQLite: a thin face over the store and the acts.

What can be done in the caller's own loop (encoding, building leases) is done here, before and after the lock
is held; the acts themselves run in the writer's and the reader's thread.
"""

import logging
import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from tenure.adapters.sqlite import (
    announcing,
    cancelling,
    checkpoint,
    erasing,
    examination,
    held_leases,
    holding,
    lending,
    limiting,
    looking,
    promoting,
    queue_list,
    redriving,
    retention,
    returning,
    sending,
    settling,
)
from tenure.adapters.sqlite.browsing import Browse
from tenure.adapters.sqlite.fairness import QueueTurns
from tenure.adapters.sqlite.judged import Judged
from tenure.adapters.sqlite.ready_rows import RowBounds
from tenure.adapters.sqlite.store import SqliteStore
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.announcement import READ_LIMIT, Announcement
from tenure.broker import (
    EVERY_STATE,
    MOST_LEASES,
    RETIRE_BATCH,
    BrokerTraits,
    Depth,
    Erased,
    Promoted,
    Refused,
    Sent,
    SweepRequest,
    Swept,
)
from tenure.examination import Examination
from tenure.finding import Finding
from tenure.lease import Lease, LeaseRequest, LeaseState
from tenure.limit import NO_LIMITS, Limit
from tenure.message import MAX_PRIORITY, MessageState, Outgoing
from tenure.query import Leases, Page, Query
from tenure.rules.rotation import FAIRNESS
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.verdict import Reason

logger = logging.getLogger("tenure.sqlite")

#: Findings that were logged: each is said once in a process.
_TOLD: set[Finding] = set()

_DAY = 86_400.0
#: Pieces of old messages that a sweep looks at without finding one to forget. The next sweep goes on from there.
_PIECES_IN_VAIN = 20


class SqliteBroker:
    """Lends messages from one file, to any number of processes on one machine."""

    def __init__(self, store: SqliteStore, body_limit: int) -> None:
        """Stand on `store`, which the state may share."""
        self._store = store
        self._turns = QueueTurns()
        self._noted = queue_list.NotedQueues()
        self._watched = limiting.Watched()
        self._judged = Judged()
        self._is_idle = True
        self._traits = BrokerTraits(
            min_lease_seconds=0.05,
            max_lease_seconds=7 * _DAY,
            max_hold_seconds=None,
            body_limit=body_limit,
            batch_limit=1000,
            max_delay_seconds=None,
            receipts_fence=True,
            settles_exactly_once=True,
            keys_at_send=True,
            unique_at_send=True,
            lease_per_message=True,
            priority_levels=MAX_PRIORITY + 1,
            fairness=FAIRNESS,
            native_expiry=False,
            browsable=EVERY_STATE,
            ended_order="arrival",
            depth_is_exact=True,
            acks_claims=True,
        )
        self._bounds = RowBounds(
            self._traits.min_lease_seconds, self._traits.max_lease_seconds, self._traits.lease_byte_limit
        )

    @property
    def traits(self) -> BrokerTraits:
        """The capabilities of SQLite."""
        return self._traits

    async def open(self) -> None:
        """Open the file, unless the state has."""
        await self._store.open()

    async def close(self) -> None:
        """Close the file, unless the state still uses it."""
        await self._store.close()

    def twin(self) -> "SqliteBroker":
        """Itself: any loop may call it."""
        return self

    async def check(self, queues: Sequence[str]) -> list[Finding]:  # noqa: ARG002 - of the contract
        """Report known bugs of the linked SQLite. No setting of this broker can be wrong."""
        findings = checkpoint.check_library(sqlite3.sqlite_version_info, self._store.options.path)
        for one in findings:
            if one not in _TOLD:
                _TOLD.add(one)
                logger.debug("%s: %s; %s [%s]", one.subject, one.evidence, one.remedy, one.id)
        return findings

    async def examine(self, queues: Sequence[str]) -> list[Examination]:  # noqa: ARG002 - of the port
        """The file, the library that reads it, and the disk that it is on."""
        return await examination.examine(self._store.options)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages, once each."""
        parcel = sending.prepare(batch, self._traits.body_limit, self._store.clock.wall())
        return await self._store.write(lambda tx: self._send(tx, parcel))

    def _send(self, tx: WriteTransaction, parcel: sending.PreparedSend) -> list[Sent]:
        sent = sending.store(tx, parcel)
        self._noted.note(tx, parcel.sound_queues)
        return sent

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        """Why `send` would refuse it."""
        return self._judged.refusal(outgoing, self._traits.body_limit)

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        """Store refused hand-offs as dead letters."""
        parcel = sending.prepare(
            [Outgoing(one.message) for one in batch], self._traits.body_limit, self._store.clock.wall()
        )
        refused = [(entry, one.reason) for entry, one in zip(parcel.entries, batch, strict=True)]

        def act(tx: WriteTransaction) -> None:
            settling.put_aside(tx, refused)
            self._noted.note(tx, parcel.sound_queues)

        await self._store.write(act)

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lend up to `want` messages. An idle call takes no write lock."""
        asked = self._store.clock.monotonic()
        want = min(request.want, self._traits.batch_limit)
        if want <= 0:
            return []
        request = msgspec.structs.replace(
            request,
            queues=tuple(dict.fromkeys(request.queues)),
            want=want,
            seconds=self._bounds.clamp(request.seconds),
        )
        if request.limits:
            self._watched.note(request.limits)
        lent = await self._store.write(
            lambda tx: lending.lend(tx, request, self._turns, self._bounds),
            # Where there was something a moment ago, there is likely more: a look beforehand would be waste.
            (lambda view: lending.nothing_to_lend(view, request)) if self._is_idle else None,
            is_light=True,
        )
        self._is_idle = not lent.lots
        return lending.as_leases(lent, request, asked)

    async def wait(
        self,
        queues: Sequence[str],
        seconds: float,
        excluded: Sequence[str] = (),
        limits: Mapping[str, Limit] = NO_LIMITS,
    ) -> None:
        """Return when something may have become leasable, or after `seconds`."""
        await self._store.wait(tuple(queues), seconds, tuple(excluded), limits)

    async def touch(self, leases: Sequence[Lease]) -> list[Lease]:
        """Move the deadlines of what is still held."""
        asked = self._store.clock.monotonic()
        answers = await self._store.write(lambda tx: holding.touch(tx, leases), is_light=True)
        return [
            msgspec.structs.replace(lease, state=LeaseState.HELD, deadline=max(lease.deadline, asked + lease.seconds))
            if held
            else msgspec.structs.replace(lease, state=LeaseState.LOST)
            for lease, held in zip(leases, answers, strict=True)
        ]

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Done: result and hand-offs commit with it."""
        sheet = settling.prepare_acks(batch, self._traits.body_limit, self._store.clock.wall(), self._judged)
        return _settlements(await self._store.write(lambda tx: self._ack(tx, sheet)))

    def _ack(self, tx: WriteTransaction, sheet: settling.Sheet) -> list[Outcome]:
        outcomes = settling.ack(tx, sheet)
        self._watched.stir(tx, sheet.batch)
        if sheet.handoffs is not None:
            self._noted.note(tx, sheet.handoffs.sound_queues)
        return outcomes

    async def nack(self, batch: Sequence[Nack]) -> list[Settlement]:
        """Failed: counted, and lent again after a delay."""
        return _settlements(await self._store.write(lambda tx: settling.nack(tx, batch)))

    async def give_back(self, batch: Sequence[GiveBack]) -> list[Settlement]:
        """Return messages that were not run; they can be leased again after a delay."""

        def act(tx: WriteTransaction) -> list[Outcome]:
            outcomes = settling.give_back(tx, batch)
            limiting.return_tokens(tx, batch, outcomes)
            return outcomes

        return _settlements(await self._store.write(act))

    async def dead_letter(self, batch: Sequence[DeadLetter]) -> list[Settlement]:
        """Make dead letters, with raw bytes, counters and reason."""

        def act(tx: WriteTransaction) -> list[Outcome]:
            self._watched.stir(tx, batch)
            return settling.dead_letter(tx, batch)

        return _settlements(await self._store.write(act))

    async def redrive(self, ids: Sequence[str], queue: str | None = None) -> list[str]:  # noqa: ARG002 - ids are unique here
        """Send dead letters back to their queue."""
        return await self._store.write(lambda tx: redriving.redrive(tx, ids))

    async def delete(self, ids: Sequence[str], queue: str | None = None) -> list[str]:  # noqa: ARG002 - ids are unique here
        """Remove messages that are not leased."""
        return await self._store.write(lambda tx: cancelling.delete(tx, ids))

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:  # noqa: ARG002 - ids are unique here
        """Take messages back, also from those who run them."""
        return await self._store.write(lambda tx: cancelling.cancel(tx, ids))

    async def promote(self, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:  # noqa: ARG002 - ids are unique here
        """Make delayed messages ready now."""
        return await self._store.write(lambda tx: promoting.promote(tx, ids))

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        """Endings that wait to be announced."""
        return await self._store.look(lambda view: announcing.read(view, after, limit))

    async def announced(self, batch: Sequence[Announcement]) -> None:
        """Forget these announcements."""
        if batch:
            # After a power cut they are announced once more, under the same ids.
            await self._store.write(lambda tx: announcing.forget(tx, batch), is_light=True)

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return overdue leases, and forget a little of what is long finished."""
        swept = await self._store.write(lambda tx: returning.sweep(tx, request))
        self._store.note_sweep(request.interval_seconds)
        self._store.later(self._noted.tidy)
        self._store.later(retention.prune_loans)
        self._store.later(self._prune)
        return swept

    async def held(self, owner: str, request_id: str | None = None) -> list[Lease]:
        """Return the leases that `owner` holds."""
        asked = self._store.clock.monotonic()
        return await self._store.read(lambda view: holding.held(view, owner, request_id, asked))

    async def find(self, id: str, owner: str, fence: int, queue: str | None = None) -> Lease | None:  # noqa: ARG002
        """The lease that `owner` has on a message under `fence`."""
        asked = self._store.clock.monotonic()
        return await self._store.read(lambda view: holding.find_lease(view, id, owner, fence, asked))

    async def leases(self, queues: Sequence[str] | None = None, *, limit: int = MOST_LEASES) -> Leases:
        """The current leases, soonest deadline first."""
        asked = None if queues is None else tuple(queues)
        return await self._store.look(lambda view: held_leases.leases(view, asked, limit))

    async def retire(self, owner: str, *, crashed: bool, limit: int = RETIRE_BATCH) -> Swept:
        """Ban `owner`, and return what it holds, one batch a transaction."""
        swept = await self._store.write(lambda tx: returning.retire(tx, owner, limit, crashed=crashed))
        self._store.presence.drop(owner)
        return swept

    async def browse(self, query: Query) -> Page:
        """Look at messages: one page, read in short steps."""
        browse = Browse(query, self._store.clock, self._traits.ended_filters)
        while await self._store.look(browse.step):
            pass
        return browse.pager.page()

    async def queues(self) -> list[str]:
        """The names of the queues there are."""
        return await self._store.look(queue_list.queues)

    async def forget_queue(self, queue: str) -> bool:
        """Take a queue off the list if nothing is in it."""
        return await self._store.write(lambda tx: self._noted.forget(tx, queue))

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Remove what is kept of messages of a queue that have ended."""
        return await self._store.write(lambda tx: erasing.erase(tx, queue, after))

    async def depth(self, queues: Sequence[str] | None = None) -> list[Depth]:
        """Count the messages of each queue, exactly."""
        return await self._store.look(lambda view: looking.depth(view, queues))

    def _prune(self, tx: WriteTransaction, in_vain: int = 0) -> None:
        """Prune one piece, and the next if it is worth it: a sweep does not look through all that must stay."""
        pruned = retention.prune(tx, micros(self._store.options.keep_seconds))
        in_vain = 0 if pruned.gone else in_vain + 1
        if pruned.is_more and in_vain < _PIECES_IN_VAIN:
            self._store.later(lambda tx: self._prune(tx, in_vain))


_SETTLED = {outcome: Settlement(outcome) for outcome in Outcome}


def _settlements(outcomes: Sequence[Outcome]) -> list[Settlement]:
    return [_SETTLED[outcome] for outcome in outcomes]
