"""Names of queues: as people write them, as the broker has them, and what may have been meant.

An app with a namespace has its queues as `namespace/queue`. People may write either; with such an app as TARGET,
everything looks at the queues of its namespace only. With a URL it looks at everything there is.
"""

import difflib
from collections.abc import Iterable, Sequence

from tenure.client.operations.access import Access
from tenure.client.operations.presence import living
from tenure.errors import BadArgument, BadTask, UnknownQueue
from tenure.notice import Pause
from tenure.rules.queue_pattern import is_pattern, served_of

#: How far back the journal is asked for names of queues that are empty now.
_EVENTS_LOOKED_AT = 1_000
#: "slwo" is like "slow"; "nowhere" is not like "other".
_ALIKE = 0.7


def full_name(access: Access, queue: str) -> str:
    """The queue's name in the broker; raises `BadArgument` for what cannot name one."""
    if "/" in queue and access.sees(queue):
        return queue
    try:
        return access.registry.queue_named(queue)
    except BadTask as error:
        raise BadArgument(f"{error}; nothing was changed") from error


def full_pattern(access: Access, queue: str) -> str:
    """As `full_name`, for a name or a pattern in which `*` matches any characters."""
    if not is_pattern(queue):
        return full_name(access, queue)
    own = "" if access.namespace is None else f"{access.namespace}/"
    try:
        return access.registry.queues_named(queue.removeprefix(own))
    except BadTask as error:
        raise BadArgument(f"{error}; nothing was changed") from error


async def wanted_queues(access: Access, queues: Sequence[str]) -> tuple[str, ...] | None:
    """The queues that were asked for, names and patterns, as the broker has them.

    None: every queue there is. Empty: none of them is there for this identity.
    """
    return await access.reachable([full_pattern(access, queue) for queue in queues])


def short_name(access: Access, queue: str) -> str:
    """The queue's name as the app's code has it."""
    return queue if access.namespace is None else queue.removeprefix(f"{access.namespace}/")


def near(word: str, names: Iterable[str]) -> str:
    """Suggest similar names, as the end of a sentence; empty where no name is similar."""
    found = difflib.get_close_matches(word, sorted(names), n=1, cutoff=_ALIKE)
    return f"; did you mean {found[0]!r}?" if found else ""


async def queues_of(access: Access, queue: str | None) -> list[str]:
    """The queue that was asked for, those that match the pattern, or every queue that is not empty."""
    if queue and not is_pattern(queue):
        name = full_name(access, queue)
        return [name] if access.sees(name) else []
    found = [depth.queue for depth in await access.broker.depth() if access.sees(depth.queue)]
    return served_of(found, [full_pattern(access, queue)]) if queue else found


async def paused(access: Access) -> list[Pause]:
    """The queues that are paused."""
    return [pause for pause in (await access.state.board.read()).paused if access.sees(pause.queue)]


async def known_queues(access: Access) -> set[str]:
    """List the known queues: of messages, tasks, workers, pauses, schedules, or the recent journal."""
    journal = access.state.journal
    events = await journal.read(max(0, await journal.last() - _EVENTS_LOOKED_AT), _EVENTS_LOOKED_AT)
    names = {
        *await access.broker.queues(),
        *(task.queue for task in access.tasks.values()),
        *(queue for owner in await living(access) for queue in owner.queues if not is_pattern(queue)),
        *(pause.queue for pause in (await access.state.board.read()).paused),
        *(tick.queue for tick in await access.state.board.ticks() if tick.queue),
        *(stored.event.queue for stored in events if stored.event.queue),
    }
    return {name for name in names if access.sees(name)}


async def check_known(access: Access, queues: Sequence[str], *, consequence: str = "") -> None:
    """Raise `UnknownQueue` for an unknown queue, with a guess at what was meant."""
    names = await known_queues(access)
    for queue in queues:
        if queue not in names:
            hint = near(queue, names) or f"; there are: {', '.join(sorted(names)) or 'none'}."
            told = f"there is no queue {queue!r}: it holds no message, and no task or worker uses it{hint}"
            raise UnknownQueue(f"{told} {consequence}".rstrip())


async def check_one(
    access: Access, queue: str, *, consequence: str = "Nothing was changed", must_exist: bool = True
) -> str:
    """The full name of a known queue; raises `UnknownQueue`. A queue that the caller may not see is unknown."""
    name = full_name(access, queue)
    if must_exist or not access.sees(name):
        await check_known(access, [name], consequence=consequence)
    return name
