"""Limits: how many messages of a queue may run at once or start in a time, by its code or by an operator."""

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.naming import check_one, full_name
from tenure.client.operations.operations import Operations
from tenure.client.operations.queue_limit import QueueLimit, limits_in_force
from tenure.errors import BadArgument
from tenure.limit import limit_from


class LimitChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the limit of a queue."""

    queue: str
    #: False: it was so before.
    changed: bool
    #: The limit in force now, as far as it is known here. None: the queue has none.
    limit: QueueLimit | None


class LimitOperations(Operations):
    """Operations on limits."""

    async def limit(
        self, queue: str, *, running: int | None = None, rate: str | float | None = None, must_exist: bool = True
    ) -> LimitChange:
        """Limit a queue over all workers, instead of what its code says, until it is cleared. Raises `UnknownQueue`.

        What runs already goes on. Workers notice within a second or so.

        - `running`: At most so many run at once. None: as before.
        - `rate`: At most so many start in a time: `"100/m"`, `"5/s"`, or a number a second. None: as before.
        - `must_exist`: False: also a queue that is not known yet.
        """
        try:
            wanted = limit_from(running=running, rate=rate)
        except BadArgument as error:
            raise BadArgument(f"{error}; nothing was changed") from error
        if wanted.is_none:
            raise BadArgument("neither running nor rate was given; nothing was changed")
        access = await self._opened()
        name = await check_one(access, queue, consequence="Nothing was limited", must_exist=must_exist)
        before = (await _limits(access)).get(name)
        await access.operator().limit(name, wanted)
        after = (await _limits(access)).get(name)
        changed = before is None or after is None or str(before) != str(after)
        return LimitChange(queue=name, changed=changed, limit=after)

    async def clear_limit(self, queue: str) -> LimitChange:
        """Remove the limit that an operator set: the code's counts again, if it has one. Raises `UnknownQueue`."""
        access = await self._opened()
        name = full_name(access, queue)
        found = (await _limits(access)).get(name)
        if found is None or found.at is None:
            await check_one(access, queue, consequence="Nothing was cleared")
            return LimitChange(queue=name, changed=False, limit=found)
        changed = await access.operator().clear_limit(name)
        return LimitChange(queue=name, changed=changed, limit=(await _limits(access)).get(name))


async def _limits(access: Access) -> dict[str, QueueLimit]:
    return limits_in_force(access, (await access.state.board.read()).posts)
