"""Clients: what each holds, does and may use; pause, resume, purge; its quota.

Quotas are changed by `admin` alone: a client whose token may operate its own queue must not raise its own quota.
"""

import asyncio

import msgspec
from starlette.responses import Response

from tenure.client.operations.client_weights import WeightChange
from tenure.client.operations.clients import (
    ClientChange,
    ClientDetail,
    ClientList,
    ClientPurge,
    QuotaChange,
)
from tenure.client.operations.forget import ForgetResult
from tenure.errors import BadArgument, NotBrowsable, UnknownQueue
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.page import cut, reply_list
from tenure.server.routes.parameters import PageQuery
from tenure.server.routes.queues import Purge

_QUOTA = {
    "waiting": 10000, "running": 5, "per_second": 1.6667, "rate": "100/m", "payload_bytes": 65536, "at": 1753430000.0,
    "by": "alice", "waiting_use": 0.004, "running_use": 1.0,
}  # fmt: skip
_STATUS = {
    "client": "acme", "queue": "acme-tasks", "waiting": 38, "delayed": 2, "running": 5, "dead": 1,
    "oldest_age_seconds": 2.0, "estimated": False, "paused": None, "quota": _QUOTA, "weight": 3.0,
    "in_per_second": 1.5, "out_per_second": 1.6, "completed": 5700, "died": 1, "error_share": 0.002,
    "work_seconds": 1140.0, "work_share": 0.31,
}  # fmt: skip
#: One request works for so long at most.
_FORGET_SECONDS = 5.0
_CHANGE = {"client": "acme", "queue": "acme-tasks", "changed": True}


class ClientPage(ClientList, frozen=True, kw_only=True):
    """One page of the clients, by name."""

    #: Where to go on. Null: at the end.
    after: str | None = None


class Forget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to forget a client."""

    #: Only say how much there is, and what cannot be reached.
    dry_run: bool = False
    #: `after` of the answer before. Empty: from the start.
    after: str = ""


class NewWeight(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How large the part of a client is to be."""

    #: So many times the work time of a client of weight 1, from 0.01 to 100.
    weight: float
    #: False: also a client that is not known yet.
    must_exist: bool = True


class NewQuota(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to set. At least one of them; what is left out stays as it was."""

    #: At most so many may wait, ready or delayed; further ones are refused with `quota_exceeded`.
    waiting: int | None = None
    #: At most so many run at once, over all workers.
    running: int | None = None
    #: At most so many start in a time, over all workers: `100/m`, `5/s`, `1/10s`.
    rate: str | None = None
    #: So many bytes of JSON a payload may have: `65536` or `64KiB`.
    payload: int | str | None = None
    #: False: also for a client that sends its first message later.
    must_exist: bool = True


async def list_clients(ask: Ask[PageQuery, None]) -> Reply | Response:
    """List the clients."""
    limit = ask.query.limit

    async def read(after: str) -> tuple[ClientPage, str | None]:
        depths, notices = await asyncio.gather(ask.server.depths.recent(), ask.server.notices.recent())
        found = await ask.operate.clients(depths=depths, notices=notices)
        page, following = cut(found.clients, lambda row: row.client, after=after, limit=limit)
        return ClientPage(clients=page, window_seconds=found.window_seconds, after=following), following

    return await reply_list(ask, "clients", read, after=ask.query.after)


async def get_client(ask: Ask[None, None]) -> Reply:
    """Return one client."""
    return Reply(value=await ask.operate.client(ask.path["name"]))


async def pause_client(ask: Ask[None, None]) -> Reply:
    """Pause a client."""
    return _changed(ask, await ask.operate.pause_client(ask.path["name"]))


async def resume_client(ask: Ask[None, None]) -> Reply:
    """Resume a client."""
    return _changed(ask, await ask.operate.resume_client(ask.path["name"]))


async def purge_client(ask: Ask[None, Purge]) -> Reply:
    """Purge what waits for a client."""
    wanted = ask.body
    found = await ask.operate.purge_client(ask.path["name"], wanted.states, dry_run=wanted.dry_run, limit=wanted.limit)
    ask.server.outdate_queues()
    return Reply(value=found)


async def set_quota(ask: Ask[None, NewQuota]) -> Reply:
    """Set the quota of a client."""
    wanted = ask.body
    return _changed(ask, await ask.operate.quota(
        ask.path["name"], waiting=wanted.waiting, running=wanted.running, rate=wanted.rate, payload=wanted.payload,
        must_exist=wanted.must_exist,
    ))  # fmt: skip


async def clear_quota(ask: Ask[None, None]) -> Reply:
    """Remove what an operator set."""
    return _changed(ask, await ask.operate.clear_quota(ask.path["name"]))


async def weigh_client(ask: Ask[None, NewWeight]) -> Reply:
    """Set the weight of a client."""
    wanted = ask.body
    return Reply(value=await ask.operate.weigh_client(ask.path["name"], wanted.weight, must_exist=wanted.must_exist))


async def clear_weight(ask: Ask[None, None]) -> Reply:
    """Remove the weight that an operator set."""
    return Reply(value=await ask.operate.clear_weight(ask.path["name"]))


async def forget_client(ask: Ask[None, Forget]) -> Reply:
    """Forget a client, for some seconds."""
    wanted = ask.body
    found = await ask.operate.forget_client(
        ask.path["name"], dry_run=wanted.dry_run, after=wanted.after, seconds=_FORGET_SECONDS
    )
    ask.server.outdate_queues()
    return Reply(value=found)


def _changed(ask: Ask[None, NewQuota] | Ask[None, None], result: ClientChange | QuotaChange) -> Reply:
    ask.server.outdate_queues()
    return Reply(value=result)


ROUTES = (
    Route(
        method="GET", path="/clients", scope=AccessScope.READ, handler=list_clients, query=PageQuery,
        answer=ClientPage, summary="List the clients", description=(
            "A client is known by its queue, `{client}-tasks`. Those with messages, figures of the last hour, a pause, "
            "a quota or a weight, by name. `work_share` is the part of all the time that handlers ran for the "
            "clients that this access sees."
        ),
        example={"clients": [_STATUS], "window_seconds": 3600.0, "after": None}, rows="clients", is_tagged=True,
    ),
    Route(
        method="GET", path="/clients/{name}", scope=AccessScope.READ, handler=get_client, answer=ClientDetail,
        summary="Show one client and its tasks", example={**_STATUS, "tasks": [], "window_seconds": 3600.0},
        errors=(UnknownQueue, BadArgument), is_tagged=True,
    ),
    Route(
        method="POST", path="/clients/{name}/pause", scope=AccessScope.OPERATE, handler=pause_client,
        answer=ClientChange, summary="Pause a client",
        description="Workers lease nothing of it until it is resumed. What runs goes on, what is sent waits.",
        example=_CHANGE, errors=(UnknownQueue, BadArgument),
    ),
    Route(
        method="POST", path="/clients/{name}/resume", scope=AccessScope.OPERATE, handler=resume_client,
        answer=ClientChange, summary="Resume a client", example=_CHANGE, errors=(UnknownQueue, BadArgument),
    ),
    Route(
        method="POST", path="/clients/{name}/purge", scope=AccessScope.OPERATE, handler=purge_client, body=Purge,
        answer=ClientPurge, summary="Remove what waits for a client",
        description=(
            "A record of each message stays. One request removes a bounded number: repeat it until `more` is false. "
            "With `dry_run` it only says how many there are."
        ),
        body_example={"states": ["ready", "delayed"], "dry_run": True},
        example={
            "client": "acme", "queue": "acme-tasks", "purged": 0, "would": {"ready": 38, "delayed": 2},
            "dry_run": True, "more": False,
        },
        errors=(UnknownQueue, NotBrowsable, BadArgument),
    ),
    Route(
        method="PUT", path="/clients/{name}/quota", scope=AccessScope.ADMIN, handler=set_quota, body=NewQuota,
        answer=QuotaChange, summary="Set the quota of a client",
        description=(
            "Instead of the default of every client, until it is cleared. A message over `waiting` is refused with "
            "`quota_exceeded`: 429 with `Retry-After`. Retries, redrives and what handlers hand on count, but are "
            "never refused. Senders and workers notice within seconds."
        ),
        body_example={"waiting": 10000, "running": 5, "rate": "100/m", "payload": "64KiB"},
        example={**_CHANGE, "quota": _QUOTA}, errors=(UnknownQueue, BadArgument),
    ),
    Route(
        method="DELETE", path="/clients/{name}/quota", scope=AccessScope.ADMIN, handler=clear_quota,
        answer=QuotaChange, summary="Clear the quota of a client",
        description="What an operator set is removed; the default of every client counts again, if there is one.",
        example={**_CHANGE, "quota": None}, errors=(UnknownQueue, BadArgument),
    ),
    Route(
        method="PUT", path="/clients/{name}/weight", scope=AccessScope.ADMIN, handler=weigh_client, body=NewWeight,
        answer=WeightChange, summary="Set the weight of a client",
        description=(
            "A client of weight 3 gets three times the work time of one of weight 1, while both have something "
            "waiting. Workers that serve several clients notice within a second or so."
        ),
        body_example={"weight": 3.0}, example={**_CHANGE, "weight": 3.0}, errors=(UnknownQueue, BadArgument),
    ),
    Route(
        method="DELETE", path="/clients/{name}/weight", scope=AccessScope.ADMIN, handler=clear_weight,
        answer=WeightChange, summary="Clear the weight of a client",
        description="What an operator set is removed; the setting of each worker counts again, else 1.",
        example={**_CHANGE, "weight": None}, errors=(UnknownQueue, BadArgument),
    ),
    Route(
        method="POST", path="/clients/{name}/forget", scope=AccessScope.ADMIN, handler=forget_client, body=Forget,
        answer=ForgetResult, summary="Remove what is kept of a client",
        description=(
            "Payloads, results, checkpoints, bodies, dead letters, keys and journal entries. What runs is cancelled, "
            "and its queue is paused meanwhile. One request works for a few seconds: repeat it with the `after` of its "
            "answer until that is null. `out_of_reach` says what stays. One act without content is kept in the audit "
            "log. With `dry_run` nothing is removed."
        ),
        body_example={"dry_run": True},
        example={
            "client": "acme", "queue": "acme-tasks", "dry_run": True,
            "found": {"ready": 38, "delayed": 2, "leased": 5, "dead": 1}, "removed": {},
            "out_of_reach": ["whatever handlers wrote to other services"], "after": None,
        },
        errors=(UnknownQueue, BadArgument),
    ),
)  # fmt: skip
