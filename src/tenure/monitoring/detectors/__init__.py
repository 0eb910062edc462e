"""Detectors: what only Tenure judges, because it takes more than metrics: single leases, and what people did.

One file each, with its alert and what measures it. Those of other packages are found by the entry point group
`tenure.detectors` (`monitoring/alerting/detector.py`).
"""

from tenure.monitoring.alerting.detector import Detector
from tenure.monitoring.alerting.signals import SIGNALS
from tenure.monitoring.catalogue.alerts import ALERTS
from tenure.monitoring.detectors.bulk_act import BULK_ACT
from tenure.monitoring.detectors.burst import BURST
from tenure.monitoring.detectors.dead_letter_movement import DEAD_LETTER_MOVEMENT
from tenure.monitoring.detectors.flash import FLASH
from tenure.monitoring.detectors.large_payload import LARGE_PAYLOAD
from tenure.monitoring.detectors.long_processing import LONG_PROCESSING
from tenure.monitoring.detectors.near_dead_letters import NEAR_DEAD_LETTERS
from tenure.monitoring.detectors.queue_cleared import QUEUE_CLEARED
from tenure.monitoring.detectors.zombie import ZOMBIE

#: A lost lease is an alert of the catalogue (`leases_lost`), so it has no detector of its own.
DETECTORS: tuple[Detector, ...] = (
    LONG_PROCESSING, NEAR_DEAD_LETTERS, ZOMBIE, BULK_ACT, QUEUE_CLEARED, DEAD_LETTER_MOVEMENT,
    FLASH, BURST, LARGE_PAYLOAD,
)  # fmt: skip

#: All that Tenure itself judges: the alerts of the catalogue, and the detectors.
EVERY: tuple[Detector, ...] = (*(Detector(alert, SIGNALS[alert.id]) for alert in ALERTS), *DETECTORS)
