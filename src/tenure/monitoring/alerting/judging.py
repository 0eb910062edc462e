"""Judge one finding: whether it is pending, fires, rises, or has cleared. Pure.

Each level has a threshold to fire and a lower one to clear, so that a value near the threshold does not fire and clear
all the time. A level fires when its value was above the threshold for long enough, of enough samples.
"""

import msgspec

from tenure.monitoring.alerting.detector import Seen
from tenure.monitoring.alerting.finding import AlertState, rank
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec


def judge(spec: AlertSpec, old: AlertState | None, seen: Seen | None, now: float) -> AlertState | None:
    """What there is to keep of it now. None: nothing. `seen=None`: nothing of it was measured, which clears it."""
    was = None if old is None else old.severity
    since = {} if old is None else old.above_since
    above: dict[str, float] = {}
    severity: AlertSeverity | None = None
    for level in spec.levels:
        was_on = rank(was) >= rank(level.severity)
        if seen is None or not _holds(level, seen, was_on=was_on):
            continue
        begun = above[level.severity.value] = since.get(level.severity.value, now)
        if (was_on or now - begun >= level.for_seconds) and rank(level.severity) > rank(severity):
            severity = level.severity
    if not above and was is None:
        cleared = old is not None and old.cleared_at is not None
        return msgspec.structs.replace(old, above_since={}) if old is not None and cleared else None
    if seen is None or severity is None:
        return _quiet(spec, old, seen, above, now)
    state = old or AlertState(alert=spec.id, subject=seen.subject)
    begins = was is None
    return msgspec.structs.replace(
        state, queue=seen.queue, task=seen.task, message_id=seen.message_id, severity=severity, above_since=above,
        fired_at=now if begins else state.fired_at, cleared_at=None, value=seen.value, evidence=seen.evidence,
        seen_at=now,
        acked_by=None if begins else state.acked_by,
        acked_at=None if begins else state.acked_at,
        acked_severity=None if begins else state.acked_severity,
    )  # fmt: skip


def _holds(level: AlertLevel, seen: Seen, *, was_on: bool) -> bool:
    if seen.samples is not None and seen.samples < level.min_samples:
        return False
    return seen.value > (level.clear if was_on else level.fire)


def _quiet(
    spec: AlertSpec, old: AlertState | None, seen: Seen | None, above: dict[str, float], now: float
) -> AlertState | None:
    """It does not fire: it waits for its time to come, or has just cleared."""
    if old is not None and old.is_firing:
        return msgspec.structs.replace(
            old, severity=None, above_since=above, cleared_at=now, seen_at=now,
            value=old.value if seen is None else seen.value,
        )  # fmt: skip
    if seen is None:
        return old
    state = old or AlertState(alert=spec.id, subject=seen.subject, queue=seen.queue, task=seen.task)
    return msgspec.structs.replace(state, above_since=above, value=seen.value, evidence=seen.evidence, seen_at=now)
