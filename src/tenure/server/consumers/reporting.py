"""Reporting: what became of the messages of clients is counted and published as that of workers.

By the server's own aggregate (`runtime/background/statistics.py`), stored as tallies; one event a message in the
journal; how long some of them took, as samples for all workers; and by consumer, for people who look at workers
(`activity.py`).
"""

from collections.abc import Callable, Sequence
from itertools import groupby

from tenure.app import Tenure
from tenure.event import Event
from tenure.rules.shared_samples import is_shared
from tenure.runtime.background.sampler import Sampler
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.ownership.blob_fetch import BlobFetch
from tenure.runtime.path.events import events_of
from tenure.server.consumers.activity import Activity
from tenure.server.consumers.remote_delivery import RemoteDelivery
from tenure.settlement import Settlement


class Reporting:
    """Reports what became of the messages of one process's clients."""

    def __init__(
        self,
        app: Tenure,
        statistics: Statistics,
        publish: Callable[[Sequence[Event]], None],
        activity: Activity,
        bodies: BlobFetch,
        sampler: Sampler,
    ) -> None:
        """Count in `statistics` and `activity`; `publish` takes events to the journal, `sampler` writes samples."""
        self._app = app
        self._statistics = statistics
        self._publish = publish
        self._activity = activity
        self._bodies = bodies
        self._sampler = sampler
        #: Those that were sampled, until they are so many that their samples are kept together.
        self._queues: set[str] = set()

    def report(self, settled: Sequence[tuple[RemoteDelivery, Settlement | None]], *, is_by_client: bool = True) -> None:
        """Report deliveries that were settled. None: nothing was settled, because the claim is lost."""
        if not settled:
            return
        clock = self._app.clock
        self._bodies.settled(settled)
        self._statistics.note(settled, self._app.state.wall() - clock.monotonic())
        at = clock.wall()
        self._sample(settled, at)
        for owner, some in groupby(settled, lambda one: one[0].lease.owner):
            batch = list(some)
            self._publish(events_of(batch, owner=owner, at=at))
            if is_by_client:
                self._activity.settled(owner, batch)

    def _sample(self, settled: Sequence[tuple[RemoteDelivery, Settlement | None]], at: float) -> None:
        if not self._sampler.is_shared:
            self._queues.update(one.lease.queue for one, _ in settled)
            self._sampler.is_shared = is_shared(tuple(self._queues))
        self._sampler.note(settled, at)

    def beat(self, touched: Sequence[RemoteDelivery]) -> None:
        """Count leases that were renewed."""
        if touched:
            self._statistics.beat(
                [(one.lease.queue, "" if one.message is None else one.message.task) for one in touched]
            )
            for one in touched:
                self._activity.heard(one.lease.owner)
