"""Scaling: how many workers each queue needs, and why. A bounded number of queues at once.

The arithmetic is `timing/scaling.py`; the broker says what lies there, the journal how long runs took, the roster who
is there now, and the profiles of the tasks what to expect before the first run (`expected_pace.py`).
"""

import math
from collections.abc import Sequence

import msgspec

from tenure.broker import Depth, Query
from tenure.client.browse_all import pages
from tenure.client.operations.access import Access
from tenure.client.operations.bulk import check_bounds
from tenure.client.operations.expected_pace import expected_pace
from tenure.client.operations.naming import check_one, wanted_queues
from tenure.client.operations.operations import Operations
from tenure.client.operations.presence import living
from tenure.client.operations.queue_limit import limits_in_force
from tenure.client.statistics import TaskSlice, survey
from tenure.limit import Limit
from tenure.message import MessageState
from tenure.owner import Owner
from tenure.rules.queue_pattern import is_pattern, matches
from tenure.rules.reserved_queue import is_reserved
from tenure.timing.scaling import Backlog, Pace, ScalingRules, compare, messages_per_worker

#: Queues of one answer.
MOST_QUEUES = 1_000
#: How far back to look at runs, by default.
DAY_SECONDS = 86_400.0
#: Delayed messages of a queue are looked at up to this many, to see which are due.
_MOST_DELAYED = 2_000
_PAGE = 500


class ScalingNeed(msgspec.Struct, frozen=True, kw_only=True):
    """One queue and the workers that it needs. None: cannot be known."""

    queue: str
    ready: int | None
    leased: int | None
    #: Messages whose time has not come, those that are due soon among them.
    delayed: int | None
    #: Delayed messages that are due within the target age.
    due: int | None
    estimated: bool
    #: Seconds since the oldest ready message was sent. None: nothing is ready, or it cannot be known.
    oldest_age_seconds: float | None
    #: None: no run of this queue was measured within the window, and no profile says what to expect.
    mean_seconds: float | None
    q99_seconds: float | None
    runs: int
    #: The profile that the figures come from, while no run was measured. None: they were measured, or there are none.
    profile: str | None = None
    #: Workers that serve it now.
    workers_now: int
    slots: int
    #: Messages, waiting or running, that one worker can have at this pace: the target of a tracking autoscaler.
    messages_per_worker: float
    desired: int | None
    why: str
    #: What looking at the ready ones alone would say, and how many running messages that would interrupt.
    visible_only: int | None
    interrupted: int | None


class ScalingReport(msgspec.Struct, frozen=True, kw_only=True):
    """What every queue needs, by name."""

    #: Everything that waits now is to begin within this time.
    target_age_seconds: float
    queues: tuple[ScalingNeed, ...]
    #: More queues: ask again with this. None: there are none.
    after: str | None = None


class ScalingOperations(Operations):
    """Operations on the number of workers."""

    async def scaling(  # noqa: PLR0913 - each is one rule
        self,
        target_age_seconds: float = 60.0,
        *,
        queue: str | None = None,
        slots: int | None = None,
        minimum: int = 0,
        maximum: int | None = None,
        cooldown_seconds: float = 300.0,
        since_seconds: float = DAY_SECONDS,
        limit: int = MOST_QUEUES,
        after: str = "",
        must_exist: bool = True,
    ) -> ScalingReport:
        """Return how many workers each queue needs now, and why; never more than the limit of the queue can use.

        - `target_age_seconds`: Everything that waits now is to begin within this time.
        - `queue`: Of this one only: a name, or a pattern. None: those of the app's tasks, or all where no app is known.
        - `slots`: Messages that a worker runs at once. None: as the workers of each queue do.
        - `minimum`, `maximum`: Never fewer workers, never more.
        - `cooldown_seconds`: No scale-down for this long after the newest worker started.
        - `since_seconds`: How far back to look at runs.
        - `limit`, `after`: This many queues at most; `ScalingReport.after` of the page before.
        - `must_exist`: Refuse a queue that nothing knows. False: it is empty, as an autoscaler must take it.
        """
        rules = ScalingRules(
            target_age_seconds=target_age_seconds, minimum=minimum, maximum=maximum, cooldown_seconds=cooldown_seconds
        )
        check_bounds(limit=limit)
        access = await self._opened()
        since = access.clock.wall() - since_seconds
        pace = (await survey(access.state, since=since, sees=access.sees, page=TaskSlice(limit=0))).pace
        alive = [owner for owner in await living(access) if access.sees_any(owner.queues)]
        limits = limits_in_force(access, (await access.state.board.read()).posts)
        depths = [depth for depth in await _depths(access, queue, alive, must_exist=must_exist) if depth.queue > after]
        found = []
        for depth in depths[:limit]:
            kept = limits.get(depth.queue)
            own = msgspec.structs.replace(
                rules,
                slots=slots or _slots(depth.queue, alive, access),
                limit=Limit() if kept is None else Limit(kept.running, kept.per_second),
            )
            known = pace.get(depth.queue) or await expected_pace(access, depth.queue)
            found.append(await _needed(access, depth, known, alive, own))
        following = found[-1].queue if len(depths) > limit else None
        return ScalingReport(target_age_seconds=target_age_seconds, queues=tuple(found), after=following)


async def _depths(access: Access, queue: str | None, alive: Sequence[Owner], *, must_exist: bool) -> list[Depth]:
    """Read depths by name: of the queues asked for, else of the app's tasks, else of all."""
    if queue is not None and not is_pattern(queue):
        return await access.broker.depth([await check_one(access, queue, consequence="", must_exist=must_exist)])
    own = sorted({task.queue for task in access.tasks.values() if access.sees(task.queue)})
    if queue is None and own:
        return sorted(await access.broker.depth(own), key=lambda depth: depth.queue)
    wanted = None if queue is None else await wanted_queues(access, [queue])
    served = {name for owner in alive for name in owner.queues if not is_pattern(name)}

    def means(name: str) -> bool:
        return access.sees(name) and not is_reserved(name) and (wanted is None or matches(name, wanted))

    depths = {depth.queue: depth for depth in await access.broker.depth() if means(depth.queue)}
    empty = sorted(name for name in {*served, *own} - depths.keys() if means(name))
    depths |= {depth.queue: depth for depth in await access.broker.depth(empty)} if empty else {}
    return [depths[name] for name in sorted(depths)]


def _slots(queue: str, alive: Sequence[Owner], access: Access) -> int:
    """Return the slots of this queue's workers; the fewest, so that no worker is assumed to have more than it has.

    Never more than a worker runs of the tasks of this queue (`concurrency=`).
    """
    found = [owner.concurrency for owner in alive if matches(queue, owner.queues) and owner.concurrency > 0]
    limits = [task.policy.concurrency for task in access.tasks.values() if task.queue == queue]
    most = sum(limit for limit in limits if limit is not None) if limits and None not in limits else math.inf
    return int(min([*found, most] if found else [access.settings.concurrency, most]))


async def _needed(
    access: Access, depth: Depth, pace: Pace | None, alive: Sequence[Owner], rules: ScalingRules
) -> ScalingNeed:
    due = await _due(access, depth, rules.target_age_seconds)
    backlog = Backlog(ready=depth.ready, leased=depth.leased, due=due)
    serving = [owner for owner in alive if matches(depth.queue, owner.queues)]
    added = access.clock.wall() - max((owner.started_at for owner in serving), default=0.0)
    both = compare(backlog, pace, rules, current=len(serving), since_added_seconds=added)
    return ScalingNeed(
        queue=depth.queue, ready=depth.ready, leased=depth.leased, delayed=depth.delayed, due=due,
        estimated=depth.estimated, oldest_age_seconds=depth.oldest_age_seconds,
        mean_seconds=None if pace is None else round(pace.mean_seconds, 6),
        q99_seconds=None if pace is None else round(pace.tail_seconds, 6),
        runs=0 if pace is None else pace.runs, profile=_profile(pace), workers_now=len(serving), slots=rules.slots,
        messages_per_worker=round(messages_per_worker(pace, rules), 3),
        desired=both.desired.workers, why=both.desired.why, visible_only=both.visible_only.workers,
        interrupted=both.interrupted,
    )  # fmt: skip


def _profile(pace: Pace | None) -> str | None:
    return None if pace is None or not pace.source else pace.source.removeprefix("profile ")


async def _due(access: Access, depth: Depth, within: float) -> int | None:
    """Count the delayed messages due by then. None: the broker does not show them, or there are too many."""
    if depth.delayed == 0:
        return 0
    if MessageState.DELAYED not in access.broker.traits.browsable or (depth.delayed or 0) > _MOST_DELAYED:
        return None
    query = Query(states=(MessageState.DELAYED,), queues=(depth.queue,), bodies=False, limit=_PAGE)
    due, looked = 0, 0
    async for page in pages(access.broker, query):
        soon = [one.due_in is not None and one.due_in <= within for one in page.messages]
        due, looked = due + sum(soon), looked + len(soon)
        if not all(soon):  # they come in the order of their due time
            return due
        if looked > _MOST_DELAYED:
            return None
    return due
