"""Queue limits: which limits this worker leases by, from its code, the board, and on some brokers the roster.

The code's limits hold until an operator sets others. A quota that holds for every client
(`WorkerOptions.client_limit`) is a limit of each client's queue, as far as neither says anything else. On brokers that
cannot keep a limit over all workers (trait `limits_are_shared_out`) each has its part: the limit divided by the number
of live workers that serve the queue. Until the roster was read once, nothing is leased from limited queues there.

Told by `board_watch.py` and `sweeper.py`, which read board and roster anyway; tells `path/intake.py`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from tenure.limit import NO_LIMIT, Limit
from tenure.notice import Post
from tenure.owner import Member, Owner
from tenure.rules.client_queue import client_of_queue
from tenure.rules.limits import share
from tenure.rules.operator_limits import OperatorLimit, in_force, merged, operator_limits
from tenure.rules.presence import SILENT_SECONDS
from tenure.rules.queue_pattern import matches

_CLOSED = Limit(running=0)


class QueueLimits:
    """The limits in force, as far as this worker knows."""

    def __init__(
        self,
        code: Mapping[str, Limit],
        *,
        owner: Callable[[], Owner],
        are_shared_out: bool,
        on_changed: Callable[[dict[str, Limit]], None],
        of_clients: Limit = NO_LIMIT,
        queues: Sequence[str] = (),
    ) -> None:
        """Begin with the limits of the code. `on_changed` gets all limits whenever one has changed.

        `of_clients` is the limit of every client's queue, as far as nothing else is said of it; `queues` are those
        that are known so far.
        """
        self._code = code
        self._of_clients = of_clients
        self._clients = _of_clients(queues)
        self._operators: Mapping[str, OperatorLimit] = {}
        self._owner = owner
        self._are_shared_out = are_shared_out
        #: None: not known yet.
        self._members: Collection[Owner] | None = None
        self._on_changed = on_changed
        self._told: dict[str, Limit] = {}

    def read_posts(self, posts: Sequence[Post]) -> None:
        """What the board says now."""
        self._operators = operator_limits(posts)
        self._tell()

    def read_queues(self, queues: Sequence[str]) -> None:
        """The names of the queues that are served now."""
        self._clients = _of_clients(queues)
        self._tell()

    def read_members(self, members: Sequence[Member]) -> None:
        """Who is on the roster now."""
        if self._are_shared_out:
            self._members = [
                one.owner
                for one in members
                if not one.left and not one.is_retired and one.silent_seconds < SILENT_SECONDS
            ]
            self._tell()

    def _tell(self) -> None:
        code = self._code
        if not self._of_clients.is_none:
            code = {**code, **{queue: merged(self._of_clients, code.get(queue, NO_LIMIT)) for queue in self._clients}}
        limits = in_force(code, self._operators)
        if self._are_shared_out:
            limits = {queue: self._share(queue, limit) for queue, limit in limits.items()}
        if limits != self._told:
            self._told = limits
            self._on_changed(limits)

    def _share(self, queue: str, limit: Limit) -> Limit:
        if self._members is None:
            return _CLOSED
        own = self._owner().id
        ids = sorted({own, *(one.id for one in self._members if matches(queue, one.queues))})
        return share(limit, ids.index(own), len(ids))


def _of_clients(queues: Sequence[str]) -> list[str]:
    return [queue for queue in queues if client_of_queue(queue) is not None]
