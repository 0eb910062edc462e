"""A queue into which much more is sent than usual. Off by default."""

from collections.abc import Iterator

from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec

#: Slower queues burst with every message.
_SLOWEST = 1.0


def look(reading: Reading) -> Iterator[Seen]:
    """Messages a second that are sent, over the usual number."""
    for one in reading.queues:
        usual = reading.usual.get((one.name, ""))
        if one.in_per_second is None or usual is None or not usual.rate or one.in_per_second < _SLOWEST:
            continue
        times = one.in_per_second / usual.rate
        text = f"{one.in_per_second:.1f} messages a second are sent; usual: {usual.rate:.1f}"
        yield Seen(subject=one.name, queue=one.name, value=times, evidence=text)


BURST = Detector(
    AlertSpec(
        id="burst",
        title="Much more is sent than usual",
        about="Messages are sent into a queue at several times the usual rate.",
        measures="messages a second that are sent, over the usual number",
        levels=(AlertLevel(AlertSeverity.SHOW, fire=5.0, clear=3.0, for_seconds=60.0),),
        unit="1",
        labels=("queue",),
        remedy="Look who sends, and whether the workers keep up: tenure top",
        runbook="burst",
        is_on=False,
    ),
    look,
)
