"""Names of queues: as people write them, as the broker has them, and what may have been meant.

An app with a namespace has its queues as `namespace/queue`. People may write either; with such an app as TARGET,
commands look at the queues of its namespace only. With a URL they look at everything there is.
"""

import difflib
from collections.abc import Iterable, Sequence

from tenure.app import Tenure
from tenure.cli.duration import spoken
from tenure.cli.presence import living
from tenure.errors import BadArgument, BadTask, UnknownQueue
from tenure.notice import Pause
from tenure.rules.queue_pattern import is_pattern, matches, served_of

#: How far back the journal is asked for names of queues in which nothing lies now.
_EVENTS_LOOKED_AT = 1_000
#: "slwo" is like "slow"; "nowhere" is not like "other".
_ALIKE = 0.7


def full_name(app: Tenure, queue: str) -> str:
    """The queue's name in the broker; raises `BadArgument` for what cannot name one."""
    if "/" in queue and app.sees(queue):
        return queue
    try:
        return app.queue_named(queue)
    except BadTask as error:
        raise BadArgument(f"{error}; nothing was changed") from error


def full_pattern(app: Tenure, queue: str) -> str:
    """As `full_name`, for a name or a pattern in which `*` stands for any characters."""
    if not is_pattern(queue):
        return full_name(app, queue)
    own = "" if app.namespace is None else f"{app.namespace}/"
    try:
        return app.queues_named(queue.removeprefix(own))
    except BadTask as error:
        raise BadArgument(f"{error}; nothing was changed") from error


def wanted_queues(app: Tenure, queues: Sequence[str]) -> tuple[str, ...] | None:
    """The queues that were asked for, names and patterns, as the broker has them. None: none in particular."""
    return tuple(full_pattern(app, queue) for queue in queues) or (
        None if app.namespace is None else (f"{app.namespace}/*",)
    )


def short_name(app: Tenure, queue: str) -> str:
    """The queue's name as the app's code has it."""
    return queue if app.namespace is None else queue.removeprefix(f"{app.namespace}/")


def near(word: str, names: Iterable[str]) -> str:
    """What may have been meant, as the end of a sentence; empty where nothing is like it."""
    found = difflib.get_close_matches(word, sorted(names), n=1, cutoff=_ALIKE)
    return f"; did you mean {found[0]!r}?" if found else ""


async def queues_of(app: Tenure, queue: str | None) -> list[str]:
    """The queue that was asked for, those that match the pattern, or every queue in which something lies."""
    if queue and not is_pattern(queue):
        return [full_name(app, queue)]
    found = [depth.queue for depth in await app.broker.depth() if app.sees(depth.queue)]
    return served_of(found, [full_pattern(app, queue)]) if queue else found


async def paused(app: Tenure) -> list[Pause]:
    """The queues that are paused."""
    return [pause for pause in (await app.state.board.read()).paused if app.sees(pause.queue)]


def since(pause: Pause, wall: float) -> str:
    """How long it has been paused, and by whom."""
    return f"for {spoken(wall - pause.at)}{f' by {pause.by}' if pause.by else ''}"


async def known_queues(app: Tenure) -> set[str]:
    """Every queue that anybody here knows: messages, tasks, workers, pauses, schedules, or the journal of late."""
    journal = app.state.journal
    events = await journal.read(max(0, await journal.last() - _EVENTS_LOOKED_AT), _EVENTS_LOOKED_AT)
    names = {
        *(depth.queue for depth in await app.broker.depth()),
        *(task.queue for task in app.tasks.values()),
        *(queue for owner in await living(app) for queue in owner.queues if not is_pattern(queue)),
        *(pause.queue for pause in (await app.state.board.read()).paused),
        *(tick.queue for tick in await app.state.board.ticks() if tick.queue),
        *(stored.event.queue for stored in events if stored.event.queue),
    }
    return {name for name in names if app.sees(name)}


async def is_served(app: Tenure, queue: str) -> bool:
    """Whether a worker that is alive leases from it."""
    return any(matches(queue, owner.queues) for owner in await living(app))


async def check_known(app: Tenure, queues: Sequence[str], *, consequence: str = "") -> None:
    """Raise `UnknownQueue`, with a guess at what was meant, for a queue that nobody knows."""
    names = await known_queues(app)
    for queue in queues:
        if queue not in names:
            hint = near(queue, names) or f"; there are: {', '.join(sorted(names)) or 'none'}."
            told = f"nobody knows queue {queue!r}: nothing lies there, and no task or worker has it{hint}"
            raise UnknownQueue(f"{told} {consequence}".rstrip())
