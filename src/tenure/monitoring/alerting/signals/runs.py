"""What became of messages: duplicates, runs after their lease, deletes, lost leases, returns, dead letters."""

from collections.abc import Iterable, Iterator, Mapping

from tenure.monitoring.alerting.detector import Look, Seen
from tenure.monitoring.alerting.reading import Counted, Reading
from tenure.text.plural import plural

_TEN_MINUTES, _QUARTER = 600.0, 900.0
#: How a delete ends that worked, or was not needed.
_WELL = ("deleted", "already_gone")


def _by_queue(reading: Reading, seconds: float) -> Iterator[tuple[str, list[Counted]]]:
    found: dict[str, list[Counted]] = {}
    for one in reading.window(seconds).counted:
        found.setdefault(one.queue, []).append(one)
    yield from found.items()


def _count(counted: Iterable[Counted], *outcomes: str) -> int:
    return sum(one.count(*outcomes) for one in counted)


def _minutes(seconds: float) -> str:
    return f"in {seconds / 60:.0f} min"


def duplicates(reading: Reading) -> Iterator[Seen]:
    """Duplicates that were suppressed, as a part of all finished."""
    for queue, counted in _by_queue(reading, _TEN_MINUTES):
        number = _count(counted, "duplicate")
        finished = number + _count(counted, "completed")
        if number:
            part = number / finished
            text = f"{number} of {finished} finished messages came again ({part:.1%}) {_minutes(_TEN_MINUTES)}"
            yield Seen(subject=queue, queue=queue, value=part, samples=finished, evidence=text)


def work_done_twice(reading: Reading) -> Iterator[Seen]:
    """Runs that ended after their lease was gone."""
    for queue, counted in _by_queue(reading, _QUARTER):
        number = _count(counted, "late_settle")
        if number:
            text = f"{plural(number, 'run')} ended after the lease was over, {_minutes(_QUARTER)}"
            yield Seen(subject=queue, queue=queue, value=number, evidence=text)


def deletion_failures(reading: Reading) -> Iterator[Seen]:
    """Deletes whose end is not known or that were refused. One that was already gone is none."""
    for queue, counted in _by_queue(reading, _TEN_MINUTES):
        ends: dict[str, int] = {}
        for one in counted:
            for end, number in one.deletes.items():
                ends[end] = ends.get(end, 0) + number
        total = sum(ends.values())
        failed = total - sum(ends.get(one, 0) for one in _WELL)
        if failed:
            text = f"{failed} of {total} deletes failed ({failed / total:.1%}) {_minutes(_TEN_MINUTES)}"
            yield Seen(subject=queue, queue=queue, value=failed / total, samples=total, evidence=text)


def lease_use(reading: Reading) -> Iterator[Seen]:
    """p95 of the runs over their lease, where no heartbeat renews it: with one, a run may outlast its lease."""
    for one in reading.window(_TEN_MINUTES).counted:
        if one.lease_use is not None and not one.beats and one.task:
            text = f"p95 of {plural(one.runs, 'run')} is {one.lease_use:.0%} of the lease, which is not renewed"
            yield Seen(
                subject=f"{one.queue}/{one.task}", queue=one.queue, task=one.task, value=one.lease_use,
                samples=one.runs, evidence=text,
            )  # fmt: skip


def redelivered(reading: Reading) -> Iterator[Seen]:
    """Messages that a sweep or a retirement returned, as a part of the deliveries."""
    for queue, counted in _by_queue(reading, _TEN_MINUTES):
        number = _count(counted, "requeue")
        if number:
            delivered = max(number, sum(one.deliveries for one in counted))
            part = number / delivered
            text = f"{number} of {delivered} deliveries came back by a sweep or a death ({part:.1%})"
            yield Seen(subject=queue, queue=queue, value=part, samples=delivered, evidence=text)


def leases_lost(reading: Reading) -> Iterator[Seen]:
    """Leases that were lost while the handler ran."""
    for queue, counted in _by_queue(reading, _QUARTER):
        number = _count(counted, "lease_lost")
        if number:
            text = f"{plural(number, 'lease')} lost {_minutes(_QUARTER)}"
            yield Seen(subject=queue, queue=queue, value=number, evidence=text)


def dead_letters(reading: Reading) -> Iterator[Seen]:
    """Messages that became dead letters."""
    dead = {one.name: one.dead for one in reading.queues}
    for queue, counted in _by_queue(reading, _QUARTER):
        number = _count(counted, "dead", "move_to_dlq")
        if number:
            held = dead.get(queue)
            now = "" if held is None else f"; {held} are there now"
            letters = "a dead letter" if number == 1 else "dead letters"
            text = f"{plural(number, 'message')} became {letters} {_minutes(_QUARTER)}{now}"
            yield Seen(subject=queue, queue=queue, value=number, evidence=text)


SIGNALS: Mapping[str, Look] = {
    "duplicates": duplicates,
    "work_done_twice": work_done_twice,
    "deletion_failures": deletion_failures,
    "lease_use": lease_use,
    "redelivered": redelivered,
    "leases_lost": leases_lost,
    "dead_letters": dead_letters,
}
