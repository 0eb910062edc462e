"""A queue that was filled and emptied within a minute. Off by default: for many queues that is how they live."""

from collections.abc import Iterator

from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec

_MINUTE = 60.0
_FEWEST = 100
_ENDINGS = ("completed", "dead", "duplicate")


def look(reading: Reading) -> Iterator[Seen]:
    """Messages that ended in the last minute in a queue that is empty now, over the usual number."""
    empty = {one.name for one in reading.queues if not one.waiting and not one.running}
    ended: dict[str, int] = {}
    for one in reading.window(_MINUTE).counted:
        ended[one.queue] = ended.get(one.queue, 0) + one.count(*_ENDINGS)
    for queue, number in ended.items():
        usual = reading.usual.get((queue, ""))
        if queue in empty and number >= _FEWEST and usual is not None and usual.rate:
            times = number / (usual.rate * _MINUTE)
            text = f"{number:,} messages came and ended within a minute, {times:.0f} times the usual number"
            yield Seen(subject=queue, queue=queue, value=times, evidence=text)


FLASH = Detector(
    AlertSpec(
        id="flash",
        title="A queue was filled and emptied at once",
        about="Many messages came and ended within a minute, and nothing is left to look at.",
        measures="messages that ended in the last minute, over the usual number",
        levels=(AlertLevel(AlertSeverity.SHOW, fire=10.0, clear=10.0),),
        unit="1",
        labels=("queue",),
        remedy="Look at what was sent: tenure messages --queue QUEUE --state completed",
        runbook="flash",
        is_on=False,
    ),
    look,
)
