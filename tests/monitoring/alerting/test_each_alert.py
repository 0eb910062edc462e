"""Each fault fires its own alert alone, at its level, and clears; every alert and detector has a fault."""

import msgspec
import pytest
from tests.monitoring.alerting.faults import FAULTS, Fault, healthy

from tenure.monitoring.alerting.evaluation import ChangeKind, evaluate
from tenure.monitoring.alerting.finding import AlertState
from tenure.monitoring.catalogue import ALERTS
from tenure.monitoring.detectors import DETECTORS, EVERY
from tenure.monitoring.in_force import detectors_in_force

#: Those that are off by default are on where their own fault is tried.
_OFF = {one.spec.id for one in DETECTORS if not one.spec.is_on}
_EVERY, _ROUNDS = 15.0, 60


def _run(known: dict[str, AlertState], fault: Fault | None, now: float, rounds: int, which: str) -> float:
    detectors = detectors_in_force([f"{which}=on"] if which in _OFF else [])
    for _ in range(rounds):
        now += _EVERY
        reading = healthy(now)
        if fault is not None:
            reading = msgspec.structs.replace(reading, **fault.change(now))
        for change in evaluate(detectors, reading, known, since=0.0):
            if change.kind is ChangeKind.GONE:
                del known[change.state.name]
            else:
                known[change.state.name] = change.state
    return now


def _firing(known: dict[str, AlertState]) -> dict[str, str]:
    return {
        state.alert: state.severity.value
        for state in known.values()
        if state.severity is not None and state.alert != "watchdog"
    }


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.alert}-{fault.severity}")
def test_a_fault_fires_its_own_alert_alone_and_it_clears(fault: Fault) -> None:
    known: dict[str, AlertState] = {}
    now = _run(known, None, 1_000.0, 4, fault.alert)
    assert _firing(known) == {}
    now = _run(known, fault, now, _ROUNDS, fault.alert)
    assert _firing(known) == {fault.alert: fault.severity}
    _run(known, None, now, 4, fault.alert)
    assert _firing(known) == {}


def test_every_alert_and_detector_has_a_fault() -> None:
    assert {fault.alert for fault in FAULTS} == {one.spec.id for one in EVERY} - {"watchdog"}


def test_each_has_an_id_of_its_own_and_says_all_that_people_need() -> None:
    ids = [one.spec.id for one in EVERY]
    assert len(set(ids)) == len(ids)
    for one in EVERY:
        spec = one.spec
        assert all([spec.title, spec.about, spec.measures, spec.remedy, spec.runbook, spec.levels])
        assert all(level.clear <= level.fire for level in spec.levels)
    assert {alert.id for alert in ALERTS} < set(ids)
