"""`tenure worker --until-empty`: when there is nothing left to do.

A queue is empty when nothing is ready, nothing runs on any worker, and no tried message comes again (a retry, or a
message that was returned for a moment). Not counted: messages that their sender delayed and that were not tried yet,
messages in a paused queue, and messages of tasks that the app does not have, which wait for another worker.

Used by `worker.py`.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenure.app import Tenure
from tenure.broker import Depth
from tenure.cli.look import WaitingMessage, look
from tenure.client.operations.naming import paused
from tenure.errors import BrokerUnavailable, NotBrowsable
from tenure.message import MessageState
from tenure.rules.queue_pattern import has_pattern, matches
from tenure.rules.reserved_queue import reserved_of
from tenure.runtime.ownership.owned import UNKNOWN_TASK

if TYPE_CHECKING:
    from tenure.runtime.worker import Worker

logger = logging.getLogger("tenure.cli")

_LOOK_SECONDS = 0.25


async def until_empty(app: Tenure, worker: "Worker") -> None:
    """Wait until nothing is left, then ask the worker to stop; or until it stops for another reason."""
    asked = asyncio.ensure_future(worker.asked_to_stop())
    try:
        while not asked.done():
            if await _is_empty_now(app, worker.owner.queues):
                logger.info("%s: queues are empty; stopping", worker.owner_id)
                worker.ask_to_stop()
            await asyncio.wait({asked}, timeout=_LOOK_SECONDS)
    finally:
        asked.cancel()


async def _is_empty_now(app: Tenure, queues: Sequence[str]) -> bool:
    try:
        return await is_empty(app, queues)
    except BrokerUnavailable:
        return False  # the worker says so itself, and works on when it is back


async def is_empty(app: Tenure, queues: Sequence[str]) -> bool:
    """Whether nothing of these queues is left to do."""
    stopped = {pause.queue for pause in await paused(app.operate.access)}
    delayed = []
    for depth in await _depths(app, queues):
        if depth.ready is None or depth.leased is None:
            raise NotBrowsable(
                "this broker cannot say what is left in its queues, so --until-empty cannot see when they are empty"
            )
        if depth.leased or (depth.ready and depth.queue not in stopped):
            return False
        if depth.delayed != 0 and depth.queue not in stopped:
            delayed.append(depth.queue)
    if not delayed:
        return True
    traits = app.broker.traits
    if MessageState.DELAYED not in (traits.browsable | traits.scannable) - traits.opaque_states:
        return False  # it is not known whether they were tried: wait for all of them
    # They differ from those that their sender delayed: they were leased before.
    async for one in look(app.broker, delayed, [MessageState.DELAYED], scan=True):
        if one.browsed.counters.deliveries and _is_ours(app, one):
            return False
    return True


async def _depths(app: Tenure, queues: Sequence[str]) -> list[Depth]:
    if not has_pattern(queues):
        return await app.broker.depth(queues)
    excluded = reserved_of(queues)
    return [depth for depth in await app.broker.depth() if matches(depth.queue, queues, excluded)]


def _is_ours(app: Tenure, one: WaitingMessage) -> bool:
    """Whether the app can run a message that was tried before.

    What Tenure did not send names no task: it is the app's if the app routes what is foreign in its queue, and did not
    give it back as a message of a newer Tenure.
    """
    if one.message is not None:
        return one.task in app.tasks
    reason = one.browsed.reason
    return app._router.knows(one.browsed.queue) and (reason is None or reason.code != UNKNOWN_TASK)
