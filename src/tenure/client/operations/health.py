"""Health: the store answers, each queue has a worker that is alive, and somebody sweeps."""

from collections.abc import Sequence

import msgspec

from tenure.client.operations.operations import Operations


class Health(msgspec.Struct, frozen=True):
    """What was found."""

    healthy: bool
    #: What is wrong, a clause each.
    problems: tuple[str, ...]
    #: Whether the store answered.
    store: bool
    #: How many workers are alive. None: not known.
    workers: int | None = None
    #: How many of them serve each queue.
    queues: dict[str, int] = {}
    #: Whether somebody sweeps. None: not known.
    sweep: bool | None = None


class HealthOperations(Operations):
    """How the store and its workers are."""

    async def health(self, queues: Sequence[str] = (), *, here: bool = False) -> Health:
        """Check that the store answers, that workers are alive, and that overdue leases are swept.

        May take two sweep intervals, if nobody sweeps. Raises `BrokerError` while the store is away.

        - `queues`: Each of these must have a worker. Default: the queues of the app's tasks; without any, one worker.
        - `here`: Count only workers of this container or machine.
        """
        raise NotImplementedError
