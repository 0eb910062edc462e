"""Detail: each step of a message as an event of its own, for the messages that it is asked for.

`TENURE_DETAIL=0.01` asks for one message in a hundred, `@app.task(detail=1.0)` for all of one task. A sampled event
carries `sample_weight`. What is abnormal is emitted for every message: a delivery after a crash or a lost lease, a run
that ended shortly before its lease, a delete that did not work. Where nothing is asked for, a message costs two
comparisons: the number of its delivery, and what is left of its lease (`events.py`).

Called by the stages: `received` by admission, `held` by holding, `extended` for beats, `ended` by reporting.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenure.clock import Clock
from tenure.event import Event, EventKind
from tenure.rules.sampling import sample_weight
from tenure.runtime.background.facts import Facts
from tenure.runtime.background.heartbeat import Beat
from tenure.runtime.delivery import BeatStats, Delivery
from tenure.runtime.path.events import RISK, Told
from tenure.settlement import Outcome, Settlement
from tenure.tasks.task import Task
from tenure.timing.policy import beat_interval
from tenure.verdict import Completed, Dead, Duplicate, Lost, Retried, Returned, Snoozed, Verdict

_DELETING = (Completed, Duplicate)
_DELETED = Outcome.DELETED
#: A delete that ended so did not fail.
_WELL = (Outcome.DELETED, Outcome.ALREADY_GONE)
_ENDS: Mapping[type[Verdict], str] = {
    Completed: "completed", Retried: "retried", Snoozed: "snoozed", Dead: "dead", Returned: "given_back",
    Duplicate: "duplicate", Lost: "lease_lost",
}  # fmt: skip
_LOST = Lost()
_NO_BEATS = BeatStats(is_running=False)


class Detail:
    """The steps of the messages of one worker."""

    def __init__(self, facts: Facts, clock: Clock, rate: float, tasks: Mapping[str, Task[..., Any]]) -> None:
        """Follow the part `rate` of all messages, and of a task that says so its own part."""
        self._facts = facts
        self._clock = clock
        self._rate = rate
        self._rates = {name: task.policy.detail for name, task in tasks.items() if task.policy.detail is not None}
        #: Whether any message is followed in detail.
        self.is_asked = rate > 0 or any(self._rates.values())

    def weight(self, delivery: Delivery) -> float | None:
        """How many messages it stands for. None: it is not followed."""
        task = delivery.task
        rate = self._rate if task is None else self._rates.get(task.name, self._rate)
        return sample_weight(delivery.id, rate)

    # -- the steps ---------------------------------------------------------------------------------

    def received(self, taken: Sequence[tuple[Delivery, Verdict | None]], has_been: bool) -> None:  # noqa: FBT001
        """A batch was leased, read and claimed. `has_been`: one of them was delivered before."""
        if self.is_asked or has_been:
            self._tell(self._received([one for one, _ in taken]))

    def held(self, deliveries: Sequence[Delivery]) -> None:
        """The heartbeat has taken over the leases of a batch."""
        if self.is_asked:
            self._tell(self._held(deliveries))

    def extended(self, beats: Sequence[Beat]) -> None:
        """The heartbeat has renewed leases."""
        if self.is_asked:
            self._tell(self._extended(beats))

    def ended(self, settled: Sequence[Told], unusual: Sequence[Told]) -> None:
        """A batch has left the path; `unusual` are those of them that `events.events_of` had to look at closely."""
        chosen = settled if self.is_asked else unusual
        if chosen:
            self._tell(self._ended(chosen))

    # -- their events ------------------------------------------------------------------------------

    def _received(self, deliveries: Sequence[Delivery]) -> Iterator[Event]:
        at = self._clock.wall()
        for delivery in deliveries:
            counters, weight = delivery.lease.counters, self.weight(delivery) if self.is_asked else None
            if weight is None and not (counters.crashes or counters.lost):
                continue
            message = delivery.message
            data: dict[str, object] = {"deliveries": counters.deliveries, "lease_seconds": delivery.lease.seconds}
            if counters.deliveries <= 1 and message is not None and message.sent_at:
                data["waited_seconds"] = round(max(0.0, self._facts.wall() - message.sent_at), 6)
            yield self._event(EventKind.RECEIVED, at, delivery, weight, data)

    def _held(self, deliveries: Sequence[Delivery]) -> Iterator[Event]:
        at = self._clock.wall()
        for delivery in deliveries:
            if delivery.is_renewed and (weight := self.weight(delivery)) is not None:
                seconds = delivery.lease.seconds
                interval = delivery.first_beat or beat_interval(seconds)
                data: dict[str, object] = {"lease_seconds": seconds, "interval_seconds": round(interval, 3)}
                yield self._event(EventKind.HEARTBEAT_STARTED, at, delivery, weight, data)

    def _extended(self, beats: Sequence[Beat]) -> Iterator[Event]:
        at = self._clock.wall()
        for delivery, stats in beats:
            if (weight := self.weight(delivery)) is not None:
                data: dict[str, object] = {
                    "extension_count": stats.extension_count,
                    "extension_seconds": delivery.lease.seconds,
                    "total_extended_seconds": stats.total_extended_seconds,
                }
                yield self._event(EventKind.HEARTBEAT_EXTENDED, at, delivery, weight, data)

    def _ended(self, settled: Sequence[Told]) -> Iterator[Event]:
        at, now = self._clock.wall(), self._clock.monotonic()
        for delivery, settlement in settled:
            weight = self.weight(delivery) if self.is_asked else None
            if delivery.started is not None and delivery.finished is not None:
                ran_until = at - (now - delivery.finished)
                if weight is not None or _is_at_risk(delivery):
                    yield self._event(EventKind.PROCESSED, ran_until, delivery, weight, _processed(delivery))
                if weight is not None and delivery.is_renewed:
                    yield self._event(EventKind.HEARTBEAT_STATS, ran_until, delivery, weight, _beaten(delivery))
            if settlement is None or type(delivery.verdict) not in _DELETING:
                continue
            if weight is not None or settlement.outcome is not _DELETED:
                yield self._event(EventKind.DELETION, at, delivery, weight, _deleted(settlement))

    def _event(
        self, kind: EventKind, at: float, delivery: Delivery, weight: float | None, data: dict[str, object]
    ) -> Event:
        message = delivery.message
        if message is not None and message.correlation_id is not None:
            data["correlation_id"] = message.correlation_id
        if weight is not None:
            data["sample_weight"] = weight
        seconds = delivery.seconds if kind is EventKind.PROCESSED else None
        return Event(
            kind, at, delivery.queue, None if message is None else message.task, delivery.id, self._facts.owner_id(),
            delivery.attempt, None if seconds is None else round(seconds, 6), data,
        )  # fmt: skip

    def _tell(self, events: Iterator[Event]) -> None:
        if told := list(events):
            self._facts.tell_steps(told)


def left_seconds(delivery: Delivery) -> float | None:
    """How much of its latest lease was left when its handler ended. None: it did not run."""
    if delivery.finished is None:
        return None
    beats = delivery.beats
    return (delivery.lease.deadline if beats is None else beats.deadline) - delivery.finished


def _is_at_risk(delivery: Delivery) -> bool:
    left = left_seconds(delivery)
    return left is not None and delivery.started is not None and left < RISK * delivery.lease.seconds


def _processed(delivery: Delivery) -> dict[str, object]:
    seconds, lease, left = delivery.seconds, delivery.lease.seconds, left_seconds(delivery)
    return {
        "outcome": _ENDS[type(delivery.verdict or _LOST)],
        "lease_seconds": lease,
        "lease_left_seconds": None if left is None else round(left, 3),
        "lease_use": None if seconds is None else round(seconds / lease, 4),
        "timeout_risk": _is_at_risk(delivery),
    }


def _beaten(delivery: Delivery) -> dict[str, object]:
    stats = delivery.beats or _NO_BEATS
    return {
        "extension_count": stats.extension_count,
        "total_extended_seconds": stats.total_extended_seconds,
        "is_running": False,
        "last_error": stats.last_error,
    }


def _deleted(settlement: Settlement) -> dict[str, object]:
    return {
        "result": settlement.outcome.value,
        "is_failure": settlement.outcome not in _WELL,
        "delete_attempts": settlement.attempts,
        "delete_seconds": round(settlement.seconds, 6),
    }
