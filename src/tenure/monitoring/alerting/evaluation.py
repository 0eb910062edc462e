"""Evaluate a reading: judge every alert and subject, and say what has changed. Pure.

Nothing is judged within an alert's grace after a start or an outage, nor while a stronger fault explains it: what
fires then goes on firing, and nothing new begins. Alerts that inhibit others are judged first.
"""

import logging
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.finding import AlertState, name_of, rank
from tenure.monitoring.alerting.judging import judge
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue.spec import AlertSpec

logger = logging.getLogger("tenure.alerting")

#: Of one alert so many subjects are kept, the worst ones.
MOST_SUBJECTS = 50
#: The value of what fires is written so often.
KEEP_SECONDS = 60.0
EVERYTHING = "*"
#: These say something while the store is away, too.
_NEVER_INHIBITED = ("store_away", "watchdog")


class ChangeKind(StrEnum):
    """How a finding changed."""

    #: It began to fire.
    FIRED = "fired"
    #: It fires at a stronger level than before.
    ROSE = "rose"
    #: It fires no more.
    CLEARED = "cleared"
    #: What is kept of it is another: its value, or since when it is pending.
    KEPT = "kept"
    #: There is nothing to keep of it any more.
    GONE = "gone"


class Change(msgspec.Struct, frozen=True):
    """One finding that changed."""

    kind: ChangeKind
    spec: AlertSpec
    #: As it is now; of one that is gone, as it was.
    state: AlertState


def evaluate(
    detectors: Sequence[Detector], reading: Reading, known: Mapping[str, AlertState], *, since: float
) -> list[Change]:
    """Judge all. `known`: what is kept, by name. `since`: when judging began, after a start or an outage."""
    changes: list[Change] = []
    firing = [state for state in known.values() if state.is_firing]
    specs = {one.spec.id: one.spec for one in detectors}
    for detector in sorted(detectors, key=lambda one: (not one.spec.inhibits, EVERYTHING not in one.spec.inhibits)):
        spec = detector.spec
        olds = {name: state for name, state in known.items() if state.alert == spec.id}
        if reading.away and spec.id not in _NEVER_INHIBITED:
            continue
        if reading.now - since < spec.grace_seconds:
            continue
        seen = {name_of(spec.id, one.subject): one for one in _looked(detector, reading)}
        for name in {**olds, **seen}:
            old = olds.get(name)
            inhibited = _is_inhibited(spec, seen.get(name), old, firing, specs)
            new = _held(old) if inhibited else judge(spec, old, seen.get(name), reading.now)
            change = _change(spec, old, new)
            if change is not None:
                changes.append(change)
                firing = [one for one in firing if one.name != name]
                if change.state.is_firing:
                    firing.append(change.state)
    return changes


def _looked(detector: Detector, reading: Reading) -> list[Seen]:
    """What it sees, the worst `MOST_SUBJECTS` of it. One that fails sees nothing, and stops no other."""
    try:
        seen = list(detector.look(reading))
    except Exception:
        logger.exception("detector %s failed; it judged nothing this time", detector.spec.id)
        return []
    return sorted(seen, key=lambda one: -one.value)[:MOST_SUBJECTS]


def _held(old: AlertState | None) -> AlertState | None:
    """While something else explains it: what fires stays, what is pending begins anew."""
    if old is None or old.is_firing or old.cleared_at is not None:
        return old
    return None


def _is_inhibited(
    spec: AlertSpec, seen: Seen | None, old: AlertState | None, firing: Sequence[AlertState],
    specs: Mapping[str, AlertSpec],
) -> bool:  # fmt: skip
    if spec.id in _NEVER_INHIBITED:
        return False
    queue = seen.queue if seen is not None else None if old is None else old.queue
    for state in firing:
        other = specs.get(state.alert)
        if other is None or other.id == spec.id:
            continue
        if EVERYTHING in other.inhibits:
            return True
        if (
            spec.id in other.inhibits
            and (state.queue is None or state.queue == queue)
            and _is_same(other, state, seen, old)
        ):
            return True
    return False


def _is_same(other: AlertSpec, state: AlertState, seen: Seen | None, old: AlertState | None) -> bool:
    """Whether two are about the same thing, where that is no queue: an endpoint."""
    if not other.labels or state.queue is not None:
        return True
    subject = seen.subject if seen is not None else "" if old is None else old.subject
    return state.subject == subject


def _change(spec: AlertSpec, old: AlertState | None, new: AlertState | None) -> Change | None:
    if new is None:
        return None if old is None else Change(ChangeKind.GONE, spec, old)
    if old == new:
        return None
    before, after = rank(None if old is None else old.severity), rank(new.severity)
    if after and not before:
        return Change(ChangeKind.FIRED, spec, new)
    if after > before:
        return Change(ChangeKind.ROSE, spec, new)
    if before and not after:
        return Change(ChangeKind.CLEARED, spec, new)
    return Change(ChangeKind.KEPT, spec, new) if _is_worth_keeping(old, new) else None


def _is_worth_keeping(old: AlertState | None, new: AlertState) -> bool:
    """A value that moves is written now and then: each write is a call."""
    if old is None or old.above_since != new.above_since or old.severity != new.severity:
        return True
    return new.seen_at - old.seen_at >= KEEP_SECONDS
