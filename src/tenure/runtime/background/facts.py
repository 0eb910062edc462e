"""Facts: publishes and counts what happened in one worker, for sinks and the journal.

The last stage of the path reports what became of messages, the jobs beside the path report what they did and saw.
Everything here runs on the worker's loop. After: `bus.py`, `statistics.py`.
"""

from collections.abc import Callable, Sequence

from tenure.clock import Clock
from tenure.event import Event, EventKind
from tenure.runtime.background.bus import Bus
from tenure.runtime.background.heartbeat import Beat
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.delivery import Delivery
from tenure.settlement import Settlement

_MIB = 1 << 20
#: An event names so many messages at most; all of them are counted.
_MOST_IDS = 100


class Facts:
    """Publishes and counts what happened in one worker."""

    def __init__(
        self,
        bus: Bus,
        clock: Clock,
        statistics: Statistics,
        *,
        owner_id: Callable[[], str],
        wall: Callable[[], float],
        has_statistics: bool,
    ) -> None:
        """Publish as `owner_id`; `wall` is the store's time. `has_statistics=False`: nothing is counted."""
        self._bus = bus
        self._clock = clock
        self._statistics = statistics
        #: Who this worker is at the moment.
        self.owner_id = owner_id
        #: The store's time.
        self.wall = wall
        self._has_statistics = has_statistics

    # -- by the path -------------------------------------------------------------------------------

    def count(self, settled: Sequence[tuple[Delivery, Settlement | None]]) -> None:
        """A batch has left the path."""
        if self._has_statistics:
            self._statistics.note(settled, self.wall() - self._clock.monotonic())

    def tell_endings(self, events: Sequence[Event], untold: int) -> None:
        """Publish the endings of a batch; `untold` more were given back, and leave no event."""
        if untold:
            self._bus.counts[EventKind.GIVEN_BACK.value] += untold
        self._bus.publish(events)

    def tell_steps(self, events: Sequence[Event]) -> None:
        """Publish steps of messages (`path/detail.py`)."""
        self._bus.publish(events)

    def tell_size(self, delivery: Delivery, size: float, expected_seconds: float | None) -> None:
        """Publish the size of the work that a handler measured."""
        task = None if delivery.task is None else delivery.task.name
        data = {
            "file_size_bytes": round(size),
            "file_size_mb": round(size / _MIB, 3),
            "estimated_processing_seconds": None if expected_seconds is None else round(expected_seconds, 3),
        }
        event = Event(
            EventKind.FILE_SIZE_DETECTED,
            self._clock.wall(),
            delivery.queue,
            task,
            delivery.id,
            self.owner_id(),
            delivery.attempt,
            data=data,
        )
        self._bus.publish([event])

    def tell(self, kind: EventKind, data: dict[str, object]) -> None:
        """Publish an event that is about the worker, not about one message."""
        self._bus.publish([Event(kind, self._clock.wall(), owner=self.owner_id(), data=data)])

    # -- from beside the path ----------------------------------------------------------------------

    def publish(self, events: Sequence[Event]) -> None:
        """Count and publish the events of sweeps and retirements."""
        if self._has_statistics:
            self._statistics.note_events(events)
        self._bus.publish(events)

    def on_beats(self, beats: Sequence[Beat]) -> None:
        """Count renewed leases."""
        if self._has_statistics:
            self._statistics.beat([_name(delivery) for delivery, _ in beats])

    def on_beat_failed(self, ids: Sequence[str], error: str) -> None:
        """Publish that the leases on these messages could not be renewed for now."""
        self._statistics.facts.beats_failed += len(ids)
        if self._has_statistics:
            self._statistics.note_fact(EventKind.HEARTBEAT_FAILED, len(ids))
        self.tell(EventKind.HEARTBEAT_FAILED, {"count": len(ids), "ids": list(ids[:_MOST_IDS]), "error": error})

    def on_blocked(self, seconds: float, stack: str) -> None:
        """Publish that a handler, or the machine, blocked the worker's loop."""
        self.tell(EventKind.LOOP_BLOCKED, {"seconds": round(seconds, 3), "stack": stack})


def _name(delivery: Delivery) -> tuple[str, str]:
    """Return the queue and the task."""
    return (delivery.queue, "" if delivery.message is None else delivery.message.task)
