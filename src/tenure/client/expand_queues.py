"""Expand names and patterns into the queues that they match now.

For those who need names: `Broker.check`, `Broker.depth`, `--until-empty`. What a worker serves is in `Owner.queues`.
"""

from collections.abc import Sequence

from tenure.broker import Broker
from tenure.rules.queue_pattern import has_pattern, is_pattern, served_of
from tenure.rules.reserved_queue import reserved_of


async def expand_queues(broker: Broker, served: Sequence[str]) -> list[str]:
    """The names among `served`, and the queues there are that match one of its patterns; each once, sorted."""
    names = {queue for queue in served if not is_pattern(queue)}
    if has_pattern(served):
        names.update(served_of(await broker.queues(), served, reserved_of(served)))
    return sorted(names)
