"""One act, or several of one person, that changed very many messages; and very many that were sent at once."""

from collections import Counter
from collections.abc import Iterator

from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec

_KINDS = ("deleted", "moved", "cancelled", "redriven", "edited", "promoted")
_LAST_SECONDS = 600.0
_MINUTE = 60.0
#: Sending is judged against what is usual: so many times that.
_TIMES = 10.0


def look(reading: Reading) -> Iterator[Seen]:
    """Messages by who changed them how, in ten minutes; and those that were sent within a minute."""
    changed: Counter[tuple[str, str, str]] = Counter()
    for act in reading.acts:
        if act.kind in _KINDS and act.queue is not None and reading.now - act.at <= _LAST_SECONDS:
            changed[act.queue, act.kind, act.by] += act.count
    for (queue, kind, by), number in changed.items():
        text = f"{number:,} messages {kind} by {by or 'an unknown person'} in 10 min"
        yield Seen(subject=f"{queue}/{kind}", queue=queue, value=number, evidence=text)
    for one in reading.queues:
        usual = reading.usual.get((one.name, ""))
        if one.in_per_second is None or usual is None or usual.rate is None:
            continue
        sent = one.in_per_second * _MINUTE
        if sent > _TIMES * usual.rate * _MINUTE:
            text = f"{sent:,.0f} messages sent in a minute; usual: {usual.rate * _MINUTE:,.0f}"
            yield Seen(subject=f"{one.name}/sent", queue=one.name, value=sent, evidence=text)


BULK_ACT = Detector(
    AlertSpec(
        id="bulk_act",
        title="Very many messages at once",
        about="Very many messages were sent, moved, cancelled, redriven or deleted within minutes.",
        measures="messages that one person changed in 10 minutes, or that were sent in one (10 times the usual)",
        levels=(AlertLevel(AlertSeverity.SHOW, fire=1_000.0, clear=1_000.0),),
        unit="{message}",
        labels=("queue",),
        grace_seconds=0.0,
        remedy="Look who it was, and whether it was meant: tenure acts",
        runbook="bulk_act",
    ),
    look,
)
