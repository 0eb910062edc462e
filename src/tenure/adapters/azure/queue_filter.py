"""Which rows are of the queues that somebody asks for, as far as the service can say.

A few names go into the query; patterns and many names are compared by whoever reads the rows. Used by `held_leases.py`
and `scanning.py`.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from tenure.adapters.azure.where import EQ, Where
from tenure.rules.queue_pattern import has_pattern

#: A query takes 15 conditions.
_MOST_NAMES = 10


def of_queues(queues: Sequence[str] | None) -> Where | None:
    """A condition on `Queue`. None: every row must be looked at."""
    if not queues or len(queues) > _MOST_NAMES or has_pattern(queues):
        return None
    return reduce(or_, (EQ("Queue", queue) for queue in queues))
