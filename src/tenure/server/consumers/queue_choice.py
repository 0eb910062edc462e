"""Queue choice: the queues that a lease request means, which of them are open now, and their limits.

A queue that the caller's token does not cover is answered as one that does not exist. A paused queue gives nothing, as
to a worker. Limits are those of the app's code and of operators, and quotas of clients. Where a broker leaves it to
each process to keep its part of a limit, this server counts as one more worker.
"""

from collections.abc import Sequence

import msgspec

from tenure.app import Tenure
from tenure.client.operations.access import Access
from tenure.client.operations.naming import full_pattern
from tenure.errors import BadArgument, UnknownQueue
from tenure.limit import NO_LIMIT, Limit
from tenure.notice import Notices
from tenure.owner import Member
from tenure.rules.client_queue import client_of_queue
from tenure.rules.limits import share
from tenure.rules.operator_limits import in_force, merged, operator_limits
from tenure.rules.presence import SILENT_SECONDS
from tenure.rules.queue_pattern import has_pattern, is_pattern, matches, served_of
from tenure.rules.reserved_queue import is_reserved, reserved_of
from tenure.server.shared_reading import SharedReading
from tenure.tasks.limits import code_limits

#: The board is read so often, as by a worker.
_BOARD_SECONDS = 1.0


class OpenQueues(msgspec.Struct, frozen=True):
    """What may be leased from now."""

    #: Names and patterns.
    queues: tuple[str, ...]
    #: Queues that match a pattern and are not served.
    excluded: tuple[str, ...]
    limits: dict[str, Limit]


class QueueChoice:
    """The queues of one store."""

    def __init__(self, app: Tenure) -> None:
        """Read the board and the roster of `app` when they are needed."""
        traits = app.broker.traits
        settings = app.settings
        self._app = app
        self._quota = Limit(settings.quota_running, settings.quota_per_second)
        self._names: SharedReading[list[str]] = SharedReading(app.broker.queues, app.clock, _BOARD_SECONDS)
        self._notices: SharedReading[Notices] = SharedReading(app.state.board.read, app.clock, _BOARD_SECONDS)
        self._members: SharedReading[list[Member]] = SharedReading(
            app.state.roster.members, app.clock, traits.roster_seconds
        )

    async def meant(self, access: Access, wanted: Sequence[str]) -> tuple[str, ...]:
        """The names and patterns that are meant, as the broker has them. Raises `UnknownQueue` and `BadArgument`."""
        found: list[str] = []
        for one in wanted:
            full = full_pattern(access, one)
            if is_reserved(full):
                msg = f"queue {one!r} is for deliveries of webhooks; nothing was leased"
                raise BadArgument(msg)
            if not access.sees_any([full]):
                msg = f"no queue {one!r} is there for this access; nothing was leased"
                raise UnknownQueue(msg)
            if not is_pattern(full) or access.sees_all([full]):
                found.append(full)
                continue
            # A pattern that is wider than what the caller sees: what of it the caller sees.
            found += [own for own in access.selection if matches(own, [full])]
            found += [name for name in served_of(await access.broker.queues(), [full]) if access.sees(name)]
        return tuple(dict.fromkeys(found))

    async def open(self, meant: Sequence[str]) -> OpenQueues:
        """What of these may be leased from now."""
        notices = await self._notices.current()
        paused = {pause.queue for pause in notices.paused}
        queues = tuple(queue for queue in meant if queue not in paused)
        excluded = (
            tuple(sorted({*served_of(paused, queues), *reserved_of(queues)})) if has_pattern(queues) else ()
        )  # fmt: skip
        every = in_force(await self._code(queues), operator_limits(notices.posts))
        limits = {name: every[name] for name in served_of(every, queues, paused)} if every else {}
        if limits and self._app.broker.traits.limits_are_shared_out:
            limits = await self._shares(limits)
        return OpenQueues(queues, excluded, limits)

    def outdate(self) -> None:
        """A queue was paused, resumed or limited here."""
        self._notices.outdate()

    async def _code(self, queues: Sequence[str]) -> dict[str, Limit]:
        """The limits of the code, and of each client's queue that of the quota for every client."""
        code, quota = code_limits(self._app.tasks.values()), self._quota
        if quota.is_none:
            return code
        names = [*queues, *(served_of(await self._names.current(), queues) if has_pattern(queues) else ())]
        clients = [name for name in names if client_of_queue(name) is not None]
        return {**code, **{queue: merged(quota, code.get(queue, NO_LIMIT)) for queue in clients}}

    async def _shares(self, limits: dict[str, Limit]) -> dict[str, Limit]:
        living = [
            one.owner
            for one in await self._members.current()
            if not one.left and not one.is_retired and one.silent_seconds < SILENT_SECONDS
        ]
        found = {}
        for queue, limit in limits.items():
            others = sum(matches(queue, owner.queues) for owner in living)
            found[queue] = share(limit, others, others + 1)
        return found
