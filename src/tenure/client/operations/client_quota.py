"""The quota of a client as people see it: what is in force, who set it, and how much of it is used.

Defaults are those of the settings of the process that is asked. Used by `clients.py`.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tenure.broker import Depth
from tenure.client.operations.access import Access
from tenure.limit import rate_text
from tenure.notice import Post
from tenure.quota import Quota
from tenure.rules.client_queue import client_of_queue
from tenure.rules.client_quota import KIND, SendQuota, read
from tenure.rules.operator_limits import in_force, operator_limits
from tenure.tasks.limits import code_limits


class ClientQuota(msgspec.Struct, frozen=True, kw_only=True):
    """The quota of a client that is in force. None: no quota of that kind."""

    #: At most so many may wait, ready or delayed: further ones are refused.
    waiting: int | None = None
    #: At most so many run at once, over all workers.
    running: int | None = None
    #: At most so many start in a second, over all workers.
    per_second: float | None = None
    #: The same as people write it, such as `100/m`.
    rate: str | None = None
    #: So many bytes of JSON a payload may have.
    payload_bytes: int | None = None
    #: When an operator last set part of it, in Unix seconds. None: it is the default of every client.
    at: float | None = None
    #: The operator.
    by: str = ""
    #: The part of `waiting` that is used: 1 is full. None: there is no such quota, or the number is not known.
    waiting_use: float | None = None
    #: The part of `running` that is used.
    running_use: float | None = None

    @property
    def quota(self) -> Quota:
        """As a value."""
        return Quota(
            waiting=self.waiting,
            running=self.running,
            per_second=self.per_second,
            payload_bytes=self.payload_bytes,
        )

    def __str__(self) -> str:
        """As people read it."""
        return str(self.quota)


class Quotas:
    """What is known of the quotas of all clients, of one moment."""

    def __init__(self, access: Access, posts: Iterable[Post], stored: Mapping[str, SendQuota]) -> None:
        """`stored`: by queue."""
        self._operators = operator_limits(posts)
        self._limits = in_force(code_limits(access.tasks.values()), self._operators)
        self._stored = stored
        settings = access.registry.in_force
        self._default = Quota(
            waiting=settings.quota_waiting,
            running=settings.quota_running,
            per_second=settings.quota_per_second,
            payload_bytes=settings.quota_payload,
        )

    @property
    def queues(self) -> set[str]:
        """The queues of clients for which an operator set something."""
        return {*self._stored, *(queue for queue in self._operators if client_of_queue(queue) is not None)}

    def of(self, queue: str, depth: Depth | None = None) -> ClientQuota | None:
        """The quota of the client with that queue. None: it has none."""
        stored, limit, set_by = self._stored.get(queue), self._limits.get(queue), self._operators.get(queue)
        quota = Quota() if stored is None else stored.quota
        if limit is not None:
            quota = Quota(running=limit.running, per_second=limit.per_second).over(quota)
        quota = quota.over(self._default)
        if quota.is_none:
            return None
        acts = [(one.at, one.by) for one in (stored, set_by) if one is not None]
        at, by = max(acts, default=(None, ""))
        return ClientQuota(
            waiting=quota.waiting,
            running=quota.running,
            per_second=quota.per_second,
            rate=None if quota.per_second is None else rate_text(quota.per_second),
            payload_bytes=quota.payload_bytes,
            at=at,
            by=by,
            waiting_use=None if depth is None else _use(_sum(depth.ready, depth.delayed), quota.waiting),
            running_use=None if depth is None else _use(depth.leased, quota.running),
        )


async def read_quotas(access: Access, posts: Iterable[Post]) -> Quotas:
    """Read what operators set for clients."""
    rows = await access.state.key_values.list(KIND)
    stored = {row.name: quota for row in rows if access.sees(row.name) and (quota := read(row.data)) is not None}
    return Quotas(access, posts, stored)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _use(number: int | None, most: int | None) -> float | None:
    if number is None or most is None:
        return None
    return number / most if most else 1.0
