"""Consumers: programs that lease over HTTP, as servers report them and as the store knows their leases.

They are on no roster. Each server writes every few seconds what its consumers do (`consumer_report.py`). One that asks
several servers is added up. One that holds something and was not reported, because its server died, is listed too.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tenure.client.operations.access import Access
from tenure.consumer_report import REPORT_KIND, ConsumerActivity, decoded
from tenure.rules.lapse import REMOTE_OWNER


class HeldMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a worker or a consumer holds."""

    id: str
    queue: str
    #: None: not known, as of a message that Tenure did not send.
    task: str | None


class ConsumerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A program that leases over HTTP."""

    #: The owner of its leases: `http:{token}/{name}`.
    id: str
    #: As it calls itself.
    name: str
    #: The id of its access token.
    token: str
    #: The queues that it asked for last.
    queues: tuple[str, ...]
    holds: tuple[HeldMessage, ...]
    #: Seconds since its last request. None: no server reported it.
    silent_seconds: float | None = None
    #: Messages that it finished in the last minute. None: no server reported it.
    rate_per_minute: float | None = None
    #: Attempts that ended in error in the last minute.
    errors_per_minute: float | None = None


async def consumers_of(access: Access) -> tuple[ConsumerStatus, ...]:
    """The consumers of queues that this identity sees, by name."""
    kept = await access.state.key_values.list(REPORT_KIND)
    reports = [report for one in kept if (report := decoded(one.data)) is not None]
    found: dict[str, ConsumerActivity] = {}
    for one in (one for report in reports for one in report.consumers):
        if access.sees_any(one.queues):
            found[one.id] = _together(found[one.id], one) if one.id in found else one
    holds: dict[str, list[HeldMessage]] = {}
    for lease in (await access.broker.leases()).leases:
        if lease.owner.startswith(REMOTE_OWNER) and access.sees(lease.queue):
            held = HeldMessage(id=lease.id, queue=lease.queue, task=lease.task)
            holds.setdefault(lease.owner, []).append(held)
    now = access.state.wall()
    rows = [_status(access, id, found, holds.get(id, ()), now) for id in {*found, *holds}]
    return tuple(sorted(rows, key=lambda one: (one.name, one.id)))


def _together(one: ConsumerActivity, other: ConsumerActivity) -> ConsumerActivity:
    """What it did at two servers."""
    return ConsumerActivity(
        id=one.id,
        queues=tuple(dict.fromkeys((*one.queues, *other.queues))),
        heard_at=max(one.heard_at, other.heard_at),
        rate_per_minute=one.rate_per_minute + other.rate_per_minute,
        errors_per_minute=one.errors_per_minute + other.errors_per_minute,
    )


def _status(
    access: Access, id: str, found: Mapping[str, ConsumerActivity], holds: Iterable[HeldMessage], now: float
) -> ConsumerStatus:
    token, _, name = id.removeprefix(REMOTE_OWNER).rpartition("/")
    held, one = tuple(holds), found.get(id)
    if one is None:
        queues = tuple(sorted({message.queue for message in held}))
        return ConsumerStatus(id=id, name=name, token=token, queues=queues, holds=held)
    return ConsumerStatus(
        id=id,
        name=name,
        token=token,
        queues=access.of_theirs(one.queues),
        holds=held,
        silent_seconds=round(max(0.0, now - one.heard_at), 3),
        rate_per_minute=one.rate_per_minute,
        errors_per_minute=one.errors_per_minute,
    )
