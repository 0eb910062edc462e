"""A detector: an alert of its own, and what measures it in a reading.

    FULL_DISK = Detector(AlertSpec(id="full_disk", …), lambda reading: [Seen("/srv", 0.93, "93 % of /srv is used")])

Detectors of your own are found by the entry point group `tenure.detectors`: each is a `Detector`, or a list of them.
"""

import importlib.metadata
import logging
from collections.abc import Callable, Iterable, Sequence

import msgspec

from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertSpec

logger = logging.getLogger("tenure.alerting")

#: The entry point group of detectors that others ship.
GROUP = "tenure.detectors"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of one subject."""

    #: What it is about: a queue, a queue and a task, a worker. Empty: the store as a whole.
    subject: str = ""
    value: float
    #: The figures, in words.
    evidence: str
    #: Of how many samples. None: it is no sample.
    samples: int | None = None
    #: Who may see some queues only sees what is about one of them.
    queue: str | None = None
    task: str | None = None
    message_id: str | None = None


Look = Callable[[Reading], Iterable[Seen]]


class Detector(msgspec.Struct, frozen=True):
    """One alert, and what measures it. `look` names every subject above zero; it must not block and must not change."""

    spec: AlertSpec
    look: Look


def of_others() -> list[Detector]:
    """Detectors that other packages ship. One that cannot be loaded is logged and left out."""
    found: list[Detector] = []
    for point in importlib.metadata.entry_points(group=GROUP):
        try:
            loaded: object = point.load()
        except Exception:
            logger.exception("detector %s (%s) cannot be loaded, and judges nothing", point.name, point.value)
            continue
        some = loaded if isinstance(loaded, Sequence) else [loaded]
        found += [one for one in some if isinstance(one, Detector)]
        odd = [one for one in some if not isinstance(one, Detector)]
        if odd:
            logger.error(
                "entry point %s (%s) is no Detector but %r; it judges nothing", point.name, point.value, odd[0]
            )
    return found
