"""Clients: who uses an installation, how much, and what can be done to all that one of them has.

A client is known by its queue, `{client}-tasks` (`rules/client_queue.py`). Its figures are those of that queue:
messages that it sends to queues of other names count there.
"""

from collections.abc import Mapping, Sequence

import msgspec

from tenure.broker import Depth
from tenure.client.figures import Figures
from tenure.client.operations.access import Access
from tenure.client.operations.bulk import Progressed
from tenure.client.operations.client_quota import ClientQuota, Quotas, read_quotas
from tenure.client.operations.naming import check_one, known_queues
from tenure.client.operations.queues import PurgeResult, QueueChange, QueueOperations
from tenure.client.operations.weights_in_force import WeightsInForce
from tenure.client.operator import PURGEABLE
from tenure.errors import BadArgument, UnknownQueue
from tenure.message import MessageState
from tenure.notice import Notices, Pause
from tenure.quota import quota_from
from tenure.rules.client_queue import check_client, client_of_queue, queue_of_client

#: Rates and shares are of the last hour.
WINDOW_SECONDS = 3_600.0


class ClientStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One client: what its queue holds, and what went through it in the last hour. None: it cannot be known."""

    client: str
    queue: str
    #: Ready to be leased.
    waiting: int | None
    delayed: int | None
    running: int | None
    dead: int | None
    #: Of what has been ready for longest.
    oldest_age_seconds: float | None
    #: The figures are estimates.
    estimated: bool = False
    paused: Pause | None = None
    #: None: it has none.
    quota: ClientQuota | None = None
    #: So many times the work time of a client of weight 1: what an operator set, else `TENURE_CLIENT_WEIGHTS`, else 1.
    weight: float = 1.0
    #: Messages a second that were sent.
    in_per_second: float | None = None
    #: Messages a second that ended.
    out_per_second: float | None = None
    #: Messages that were completed, and those that became dead letters.
    completed: int | None = None
    died: int | None = None
    #: Of the runs that ended, the part that failed. None: nothing ran.
    error_share: float | None = None
    #: How long its handlers ran, all together.
    work_seconds: float | None = None
    #: Of all that handlers worked for clients in that time, the part that was for this one.
    work_share: float | None = None


class ClientList(msgspec.Struct, frozen=True, kw_only=True):
    """The clients that are known, by name."""

    clients: tuple[ClientStatus, ...]
    #: Rates and shares are of so many seconds.
    window_seconds: float = WINDOW_SECONDS


class ClientDetail(ClientStatus, frozen=True, kw_only=True):
    """One client, with its tasks."""

    #: What each of its tasks did in the last hour.
    tasks: tuple[Figures, ...] = ()
    window_seconds: float = WINDOW_SECONDS


class ClientChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a client."""

    client: str
    queue: str
    #: False: it was so before.
    changed: bool


class ClientPurge(PurgeResult, frozen=True, kw_only=True):
    """What a purge removed, or would have."""

    client: str


class QuotaChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the quota of a client."""

    client: str
    queue: str
    changed: bool
    #: The quota in force now, as far as it is known here. None: the client has none.
    quota: ClientQuota | None


class ClientOperations(QueueOperations):
    """Operations on clients."""

    async def clients(self, *, depths: Sequence[Depth] | None = None, notices: Notices | None = None) -> ClientList:
        """Return what each client has waiting, running and dead, its rates in the last hour, its quota and weight.

        Lists the clients with messages, figures, a pause, a quota or a weight, and those whose queue was emptied within
        the hour.

        - `depths`: Of every queue with something in it, where they were counted already.
        - `notices`: The board, where it was read already.
        """
        access = await self._opened()
        notices = await access.state.board.read() if notices is None else notices
        quotas, weights = await read_quotas(access, notices.posts), WeightsInForce(access, notices.posts)
        flows = await _flows(access)
        counted = await access.broker.depth() if depths is None else depths
        known = {one.queue: one for one in counted if _is_client(access, one.queue)}
        others = {*await access.broker.queues(), *quotas.queues, *weights.queues, *flows}
        others |= {one.queue for one in notices.paused}
        empty = sorted(queue for queue in others if queue not in known and _is_client(access, queue))
        known |= {one.queue: one for one in await access.broker.depth(empty)} if empty else {}
        paused = {one.queue: one for one in notices.paused}
        rows = [_status(known[queue], quotas, weights, flows, paused) for queue in sorted(known)]
        return ClientList(clients=tuple(_shared(rows, flows)))

    async def client(self, name: str) -> ClientDetail:
        """Return one client, with its tasks. Raises `UnknownQueue` where nothing is known of its queue."""
        access = await self._opened()
        queue = await self._queue_of(access, name)
        (depth,) = await access.broker.depth([queue])
        notices = await access.state.board.read()
        quotas, weights = await read_quotas(access, notices.posts), WeightsInForce(access, notices.posts)
        flows = await _flows(access)
        paused = {one.queue: one for one in notices.paused}
        (status,) = _shared([_status(depth, quotas, weights, flows, paused)], flows)
        view = await access.flows.view(WINDOW_SECONDS)
        fields = {field: getattr(status, field) for field in status.__struct_fields__}
        return ClientDetail(**fields, tasks=tuple(view.tasks(queues=[queue])))

    async def pause_client(self, name: str, *, must_exist: bool = True) -> ClientChange:
        """Let workers lease nothing of a client, until it is resumed; what runs goes on. Raises `UnknownQueue`.

        - `must_exist`: False: also a client that is not known yet.
        """
        access = await self._opened()
        queue = await self._queue_of(access, name, "Nothing was paused", must_exist=must_exist)
        return _changed(name, await self.pause(queue, must_exist=False))

    async def resume_client(self, name: str) -> ClientChange:
        """Let workers lease messages of a client again. Raises `UnknownQueue`."""
        access = await self._opened()
        return _changed(name, await self.resume(full_queue(access, name)))

    async def purge_client(
        self,
        name: str,
        states: Sequence[MessageState | str] = PURGEABLE[:2],
        *,
        dry_run: bool = False,
        limit: int = 100_000,
        progressed: Progressed | None = None,
    ) -> ClientPurge:
        """Remove what waits for a client, batch by batch; a record of each message stays. Raises `UnknownQueue`.

        - `states`: Of `ready`, `delayed`, `dead`; default: the first two. What runs is cancelled, not purged.
        - `dry_run`: Only count.
        - `limit`: Stop after about this many; the same call goes on.
        - `progressed`: Called after each batch with how many were removed, and how many there were.
        """
        access = await self._opened()
        queue = await self._queue_of(access, name)
        found = await self.purge(queue, states, dry_run=dry_run, limit=limit, progressed=progressed)
        fields = {field: getattr(found, field) for field in found.__struct_fields__}
        return ClientPurge(client=name, **fields)

    async def quota(
        self,
        client: str,
        *,
        waiting: int | None = None,
        running: int | None = None,
        rate: str | float | None = None,
        payload: str | int | None = None,
        must_exist: bool = True,
    ) -> QuotaChange:
        """Set the quota of a client, instead of the default, until it is cleared. Raises `UnknownQueue`.

        Senders and workers notice within seconds. What waits or runs already goes on.

        - `waiting`: At most so many may wait; further ones are refused with `quota_exceeded`. None: as before.
        - `running`: At most so many run at once, over all workers. None: as before.
        - `rate`: At most so many start in a time: `"100/m"`, `"5/s"`, or a number a second. None: as before.
        - `payload`: At most so many bytes of JSON in a payload: `65536` or `"64KiB"`. None: as before.
        - `must_exist`: False: also a client that is not known yet.
        """
        try:
            wanted = quota_from(waiting=waiting, running=running, rate=rate, payload=payload)
        except BadArgument as error:
            raise BadArgument(f"{error}; nothing was changed") from error
        if wanted.is_none:
            raise BadArgument("neither waiting, running, rate nor payload was given; nothing was changed")
        access = await self._opened()
        queue = await self._queue_of(access, client, "Nothing was limited", must_exist=must_exist)
        before, operator = await _quota(access, queue), access.operator()
        if wanted.waiting is not None or wanted.payload_bytes is not None:
            await operator.limit_sends(queue, wanted)
            access.client.forget_quota(queue)
        if not wanted.limit.is_none:
            await operator.limit(queue, wanted.limit)
        after = await _quota(access, queue)
        changed = before is None or after is None or before.quota != after.quota
        return QuotaChange(client=client, queue=queue, changed=changed, quota=after)

    async def clear_quota(self, client: str) -> QuotaChange:
        """Remove the quota that an operator set: the defaults count again. Raises `UnknownQueue`."""
        access = await self._opened()
        queue = full_queue(access, client)
        quotas = await read_quotas(access, (await access.state.board.read()).posts)
        if queue not in quotas.queues:
            await self._queue_of(access, client, "Nothing was cleared")
        operator = access.operator()
        changed = [await operator.clear_send_quota(queue), await operator.clear_limit(queue)]
        access.client.forget_quota(queue)
        return QuotaChange(client=client, queue=queue, changed=any(changed), quota=await _quota(access, queue))

    async def _queue_of(
        self, access: Access, client: str, consequence: str = "Nothing was changed", *, must_exist: bool = True
    ) -> str:
        """The queue of a client. Raises `UnknownQueue` for one that is not known."""
        queue = full_queue(access, client)
        if must_exist and access.sees(queue):
            posts = (await access.state.board.read()).posts
            if queue in (await read_quotas(access, posts)).queues | WeightsInForce(access, posts).queues:
                return queue
        try:
            return await check_one(access, queue, consequence=consequence, must_exist=must_exist)
        except UnknownQueue as error:
            names = sorted({name for one in await known_queues(access) if (name := client_of_queue(one)) is not None})
            there = f"; there are: {', '.join(names[:20])}{' …' if len(names) > 20 else ''}" if names else ""  # noqa: PLR2004
            msg = f"no client {client!r} is known: {queue} holds no message, and no worker serves it by name{there}"
            raise UnknownQueue(f"{msg}. {consequence}") from error


def full_queue(access: Access, client: str) -> str:
    """The queue of a client, as the broker knows it. Raises `BadArgument` for what cannot name one."""
    try:
        return queue_of_client(check_client(client), access.namespace)
    except BadArgument as error:
        raise BadArgument(f"{error}; nothing was changed") from error


def _is_client(access: Access, queue: str) -> bool:
    return access.sees(queue) and client_of_queue(queue) is not None


async def _flows(access: Access) -> dict[str, Figures]:
    """What went through the queue of each client."""
    view = await access.flows.view(WINDOW_SECONDS)
    return {one.queue: one for one in view.queues() if one.queue is not None and _is_client(access, one.queue)}


async def _quota(access: Access, queue: str) -> ClientQuota | None:
    return (await read_quotas(access, (await access.state.board.read()).posts)).of(queue)


def _changed(client: str, change: QueueChange) -> ClientChange:
    return ClientChange(client=client, queue=change.queue, changed=change.changed)


def _status(
    depth: Depth,
    quotas: Quotas,
    weights: WeightsInForce,
    flows: Mapping[str, Figures],
    paused: Mapping[str, Pause],
) -> ClientStatus:
    queue = depth.queue
    flow = flows.get(queue)
    return ClientStatus(
        client=client_of_queue(queue) or queue,
        queue=queue,
        waiting=depth.ready,
        delayed=depth.delayed,
        running=depth.leased,
        dead=depth.dead,
        oldest_age_seconds=depth.oldest_age_seconds if depth.ready else None,
        estimated=depth.estimated,
        paused=paused.get(queue),
        quota=quotas.of(queue, depth),
        weight=weights.of(queue),
        in_per_second=None if flow is None else flow.rate_in,
        out_per_second=0.0 if flow is None else flow.rate_out,
        completed=0 if flow is None else flow.counts.get("completed", 0),
        died=0 if flow is None else flow.counts.get("dead", 0),
        error_share=None if flow is None else flow.error_share,
        work_seconds=_work(flow),
    )


def _shared(rows: Sequence[ClientStatus], flows: Mapping[str, Figures]) -> list[ClientStatus]:
    """The rows with the part of all work for clients that was for each."""
    total = sum(map(_work, flows.values()))
    return [
        msgspec.structs.replace(one, work_share=(one.work_seconds or 0.0) / total if total else None) for one in rows
    ]


def _work(flow: Figures | None) -> float:
    """How long handlers ran, all together."""
    return 0.0 if flow is None or flow.duration is None else flow.duration.mean * flow.duration.count
