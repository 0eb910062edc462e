"""The alerts and detectors in force: Tenure's own and those of other packages, with the thresholds of the settings."""

from collections.abc import Sequence

import msgspec

from tenure.monitoring.alerting.detector import Detector, of_others
from tenure.monitoring.alerting.thresholds import changed
from tenure.monitoring.detectors import EVERY


def every_detector() -> tuple[Detector, ...]:
    """Tenure's own and those of others. One with the id of another is left out."""
    found: dict[str, Detector] = {}
    for one in (*EVERY, *of_others()):
        found.setdefault(one.spec.id, one)
    return tuple(found.values())


def detectors_in_force(changes: Sequence[str]) -> tuple[Detector, ...]:
    """Those that are on, with these changes (`TENURE_ALERTS`). Raises `BadSetting`."""
    every = every_detector()
    specs = {one.id: one for one in changed([one.spec for one in every], changes)}
    return tuple(msgspec.structs.replace(one, spec=specs[one.spec.id]) for one in every if one.spec.id in specs)
