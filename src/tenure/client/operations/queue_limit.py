"""The limit of a queue as people see it: what is in force, who set it, and whether messages wait for it.

The limits of the code are known where the app is; a server of a bare store knows those of operators. Used by
`limits.py` and by everything that shows queues or messages.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from tenure.limit import rate_text
from tenure.notice import Post
from tenure.rules.operator_limits import OperatorLimit, in_force, operator_limits
from tenure.tasks.limits import code_limits

if TYPE_CHECKING:
    from tenure.client.operations.access import Access


class QueueLimit(msgspec.Struct, frozen=True, kw_only=True):
    """The limit of a queue that is in force."""

    queue: str
    #: At most so many run at once, over all workers. None: any number.
    running: int | None = None
    #: At most so many start in a second, over all workers. None: any number.
    per_second: float | None = None
    #: The same as people write it, such as `100/m`.
    rate: str | None = None
    #: When an operator set it, in Unix seconds. None: the code says so.
    at: float | None = None
    #: The operator.
    by: str = ""

    def __str__(self) -> str:
        """As people read it: `5 running, 100/m`."""
        parts = [] if self.running is None else [f"{self.running} running"]
        return ", ".join([*parts, *([] if self.rate is None else [self.rate])])


def limits_in_force(access: "Access", posts: Iterable[Post]) -> dict[str, QueueLimit]:
    """The limits that are known here, by queue: of the app's code, and of operators."""
    operators = operator_limits(posts)
    limits = in_force(code_limits(access.tasks.values()), operators)
    return {
        queue: _shown(queue, limit.running, limit.per_second, operators)
        for queue, limit in limits.items()
        if access.sees(queue)
    }


def waits_for_limit(limit: QueueLimit | None, *, ready: int | None, running: int | None) -> bool:
    """Whether messages are ready that the limit holds back.

    As many run as may; or the queue has a rate, by which a message waits for its turn even if nothing runs.
    """
    if limit is None or not ready:
        return False
    return limit.per_second is not None or (
        limit.running is not None and running is not None and running >= limit.running
    )


def _shown(
    queue: str, running: int | None, per_second: float | None, operators: Mapping[str, OperatorLimit]
) -> QueueLimit:
    set_by = operators.get(queue)
    return QueueLimit(
        queue=queue,
        running=running,
        per_second=per_second,
        rate=None if per_second is None else rate_text(per_second),
        at=None if set_by is None else set_by.at,
        by="" if set_by is None else set_by.by,
    )
