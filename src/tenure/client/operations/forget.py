"""Forget: removes what is kept of one client, and says what it cannot reach."""

import os
from collections import Counter

import msgspec

from tenure.client.forgetting import PHASES, Forgetting, Place
from tenure.client.operations.access import Access
from tenure.client.operations.client_quota import read_quotas
from tenure.client.operations.clients import ClientOperations, full_queue
from tenure.errors import BadArgument
from tenure.rules.client_queue import client_of_queue

#: One forgets at a time, so that a journal is not written again by two; the turn lapses by itself.
_TURN, _TURN_SECONDS = "forget-client", 60.0


class ForgetResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was removed of a client, or would be."""

    client: str
    queue: str
    dry_run: bool
    #: What its queue holds before: ready, delayed, leased, dead. None: the broker cannot say.
    found: dict[str, int | None]
    #: What was removed: running, waiting and dead messages, bodies, announcements, deliveries, records, events.
    removed: dict[str, int]
    #: What is beyond reach, a sentence each.
    out_of_reach: tuple[str, ...]
    #: Give it to the next call, which goes on there. None: all is done.
    after: str | None = None


class ForgetOperations(ClientOperations):
    """Operations that forget a client."""

    async def forget_client(
        self, name: str, *, dry_run: bool = False, after: str = "", seconds: float | None = None
    ) -> ForgetResult:
        """Remove payloads, results, checkpoints, bodies, dead letters, keys and journal entries of a client.

        Its queue is paused meanwhile, and what runs is cancelled. Interrupted, it is called again and does what is
        left. One act without content stays in the audit log. Raises `UnknownQueue`.

        - `dry_run`: Only say how much there is, and what cannot be reached.
        - `after`: Go on where an earlier call stopped.
        - `seconds`: Stop after about so long; `ForgetResult.after` says where to go on.
        """
        access = await self._opened()
        queue = full_queue(access, name)
        if not after:
            queue = await self._queue_of(access, name, "Nothing was removed")
        elif not access.sees(queue):
            await self._queue_of(access, name, "Nothing was removed")
        (depth,) = await access.broker.depth([queue])
        found = {
            "ready": depth.ready, "delayed": depth.delayed, "leased": depth.leased, "dead": depth.dead,
        }  # fmt: skip
        work = Forgetting(
            access.broker, access.state, access.client.claim_check, client=client_of_queue(queue) or name, queue=queue,
            namespace=access.namespace,
        )  # fmt: skip
        if dry_run:
            return _result(access, name, queue, found, work, dry_run=True, after=None)
        place = await self._forget(access, queue, work, _place(after), seconds)
        told = None if place is None else f"{place.phase}|{place.after}"
        return _result(access, name, queue, found, work, dry_run=False, after=told)

    async def _forget(
        self, access: Access, queue: str, work: Forgetting, place: Place | None, seconds: float | None
    ) -> Place | None:
        board, token, clock = access.state.board, os.urandom(8).hex(), access.client.clock
        until = None if seconds is None else clock.monotonic() + seconds
        operator = access.operator()
        # Told by its place alone: that this process paused it and not a person.
        await operator.pause(queue)
        try:
            while place is not None:
                if not await board.take_turn(_TURN, token, _TURN_SECONDS):
                    msg = "another client is being forgotten at this moment; try again in a minute. Nothing was removed"
                    raise BadArgument(msg)
                place = await work.step(place)
                if until is not None and clock.monotonic() >= until:
                    break
        finally:
            await board.take_turn(_TURN, token, 0)
        if place is None:
            await self._finish(access, queue, work.removed)
        return place

    async def _finish(self, access: Access, queue: str, removed: Counter[str]) -> None:
        """Remove what is said of the client elsewhere, let its queue go, and write the act down."""
        operator, board = access.operator(), access.state.board
        quotas = await read_quotas(access, (await board.read()).posts)
        if queue in quotas.queues:
            await operator.clear_send_quota(queue)
            await operator.clear_limit(queue)
            access.client.forget_quota(queue)
            removed["quota"] += 1
        await operator.resume(queue)
        await access.broker.forget_queue(queue)
        # The acts above were events of the queue too.
        after: str | None = ""
        while after is not None:
            after = (await access.state.journal.erase(queue, after)).after
        await operator.note_forgotten(queue, sum(removed[kind] for kind in ("running", "waiting", "dead", "records")))


def _place(after: str) -> Place:
    phase, _, place = after.partition("|")
    if after and phase not in PHASES:
        raise BadArgument(f"after={after[:40]!r} is not where an earlier call stopped; nothing was removed")
    return Place(phase, place) if after else Place()


def _result(
    access: Access, name: str, queue: str, found: dict[str, int | None], work: Forgetting, *,
    dry_run: bool, after: str | None,
) -> ForgetResult:  # fmt: skip
    return ForgetResult(
        client=name,
        queue=queue,
        dry_run=dry_run,
        found=found,
        removed={kind: count for kind, count in sorted(work.removed.items()) if count},
        out_of_reach=_out_of_reach(access, queue, work, found),
        after=after,
    )


def _out_of_reach(access: Access, queue: str, work: Forgetting, found: dict[str, int | None]) -> tuple[str, ...]:
    """What stays, and what to do about it."""
    traits = access.broker.traits
    hidden = sorted({"ready", "delayed", "dead"} - {state.value for state in (*traits.browsable, *traits.scannable)})
    told = []
    if hidden:
        told.append(
            f"messages that are {' or '.join(hidden)}, which this broker does not show: purge queue {queue} where it is"
        )
    if not traits.erases:
        told.append(
            "records, results and keys of messages that have ended, which this store does not find by queue: they "
            "expire with its retention"
        )
    if traits.opaque_states:
        told.append("messages of this client in queues of other names: their bodies cannot be read in the queue")
    else:
        told.append("records of its messages that ended in queues of other names: they expire with retention")
    told += [f"bodies at {place}, which this app has no claim check for" for place in sorted(work.left_at)]
    if found["leased"]:
        told.append("what handlers that ran until now still report: forget the client again in a minute")
    told += [
        "records of webhooks that were delivered, and what their receivers keep",
        "figures and samples of run times, which name queue and tasks and no content: they expire with retention",
        "the audit log, which names acts, people and message ids, and no content: it is kept for 400 days",
        "lines in the logs of workers and servers (journald, files, log services)",
        "backups, replicas that lag, and free pages of a database file until they are used again (SQLite: VACUUM)",
        "whatever handlers wrote to other services",
    ]
    return tuple(told)
