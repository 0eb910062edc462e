"""What waits: how long, whether anybody serves it, whether a limit or a pause holds it back."""

from collections.abc import Iterator, Mapping

from tenure.monitoring.alerting.detector import Look, Seen
from tenure.monitoring.alerting.reading import QueueReading, Reading
from tenure.text.plural import plural


def _waits(queue: QueueReading) -> bool:
    """Whether messages wait there that were not asked to wait."""
    return bool(queue.waiting) and queue.paused_at is None


def _late(queue: QueueReading) -> Seen:
    oldest, expected = queue.oldest_seconds or 0.0, queue.expected_seconds
    text = f"the oldest of {plural(queue.waiting or 0, 'message')} waits {oldest:.0f} s; expected: {expected:.0f} s"
    return Seen(subject=queue.name, queue=queue.name, value=oldest / expected, evidence=text)


def oldest_age(reading: Reading) -> Iterator[Seen]:
    """The oldest age over what is expected, where neither a pause nor a limit holds messages back."""
    for queue in reading.queues:
        if _waits(queue) and not queue.is_limited and queue.oldest_seconds is not None:
            yield _late(queue)


def limit_starves(reading: Reading) -> Iterator[Seen]:
    """The same, where messages wait for the limit of the queue."""
    for queue in reading.queues:
        if _waits(queue) and queue.is_limited and queue.oldest_seconds is not None:
            yield _late(queue)


def workers_absent(reading: Reading) -> Iterator[Seen]:
    """Messages that wait while no worker is alive."""
    waiting = sum(queue.waiting or 0 for queue in reading.queues if _waits(queue))
    if waiting and not any(one.is_alive for one in reading.workers):
        verb = "waits" if waiting == 1 else "wait"
        yield Seen(value=waiting, evidence=f"{plural(waiting, 'message')} {verb}, and no worker is alive")


def queue_unserved(reading: Reading) -> Iterator[Seen]:
    """Messages that wait in a queue that no live worker serves, while there are workers."""
    if any(one.is_alive for one in reading.workers):
        for queue in reading.queues:
            if _waits(queue) and not queue.workers and not queue.running:
                waiting = queue.waiting or 0
                verb = "waits" if waiting == 1 else "wait"
                text = f"{plural(waiting, 'message')} {verb}, and no worker serves the queue"
                yield Seen(subject=queue.name, queue=queue.name, value=waiting, evidence=text)


def queue_paused(reading: Reading) -> Iterator[Seen]:
    """How long a queue is paused."""
    for queue in reading.queues:
        if queue.paused_at is not None:
            paused = reading.now - queue.paused_at
            waiting = "" if queue.waiting is None else f"; {plural(queue.waiting, 'message')} there"
            text = f"paused for {paused / 3600:.0f} h{waiting}"
            yield Seen(subject=queue.name, queue=queue.name, value=max(0.0, paused), evidence=text)


SIGNALS: Mapping[str, Look] = {
    "oldest_age": oldest_age,
    "limit_starves": limit_starves,
    "workers_absent": workers_absent,
    "queue_unserved": queue_unserved,
    "queue_paused": queue_paused,
}
