"""Dead letters that were sent back, moved or edited within the last quarter of an hour."""

from collections import Counter
from collections.abc import Iterator

from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec
from tenure.text.plural import plural

_KINDS = ("redriven", "moved", "edited")
_LAST_SECONDS = 900.0


def look(reading: Reading) -> Iterator[Seen]:
    """Dead letters that were moved, by queue."""
    moved: Counter[str] = Counter()
    by: dict[str, str] = {}
    for act in reading.acts:
        if act.kind in _KINDS and act.queue is not None and reading.now - act.at <= _LAST_SECONDS:
            moved[act.queue] += act.count
            by.setdefault(act.queue, act.by)
    for queue, number in moved.items():
        text = f"{plural(number, 'dead letter')} sent back or moved by {by[queue] or 'an unknown person'} in 15 min"
        yield Seen(subject=queue, queue=queue, value=number, evidence=text)


DEAD_LETTER_MOVEMENT = Detector(
    AlertSpec(
        id="dead_letter_movement",
        title="Dead letters are moved",
        about="Dead letters were sent back to their queue, moved or edited.",
        measures="dead letters that were moved in 15 minutes",
        levels=(AlertLevel(AlertSeverity.SHOW, fire=0.0, clear=0.0),),
        unit="{message}",
        labels=("queue",),
        grace_seconds=0.0,
        remedy="Look whether they end well now: tenure dead list",
        runbook="dead_letter_movement",
    ),
    look,
)
