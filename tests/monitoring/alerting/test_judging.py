"""One finding: how long it takes to fire, where it clears, which level it has, and what an ack and a silence do."""

import msgspec
import pytest

from tenure.errors import BadSetting
from tenure.monitoring.alerting.detector import Detector, Seen
from tenure.monitoring.alerting.evaluation import ChangeKind, evaluate
from tenure.monitoring.alerting.finding import AlertState
from tenure.monitoring.alerting.judging import judge
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.alerting.thresholds import changed
from tenure.monitoring.catalogue import ALERTS, AlertLevel, AlertSeverity, AlertSpec
from tenure.monitoring.detectors import EVERY

_SHOW, _TICKET, _PAGE = AlertSeverity.SHOW, AlertSeverity.TICKET, AlertSeverity.PAGE
_SPEC = AlertSpec(
    id="share",
    title="A share is high",
    about="",
    measures="",
    levels=(AlertLevel(_TICKET, 0.01, 0.005, 60.0, 100), AlertLevel(_PAGE, 0.1, 0.05, 60.0, 100)),
    unit="1",
    remedy="Do",
    grace_seconds=0.0,
    runbook="share",
)


def _seen(value: float, samples: int | None = 1_000, subject: str = "mail") -> Seen:
    return Seen(subject=subject, queue=subject, value=value, samples=samples, evidence=f"{value}")


def _course(*steps: tuple[float, float], spec: AlertSpec = _SPEC) -> AlertState | None:
    state = None
    for at, value in steps:
        state = judge(spec, state, _seen(value), at)
    return state


def test_it_fires_when_it_was_above_for_long_enough() -> None:
    assert (early := _course((0.0, 0.02), (59.0, 0.02))) is not None
    assert early.severity is None
    assert (state := _course((0.0, 0.02), (60.0, 0.02))) is not None
    assert (state.severity, state.fired_at) == (_TICKET, 60.0)


def test_a_gap_begins_the_time_anew() -> None:
    state = _course((0.0, 0.02), (30.0, 0.001), (40.0, 0.02), (90.0, 0.02))
    assert state is not None
    assert state.severity is None


def test_it_clears_at_the_lower_threshold_only() -> None:
    fires = ((0.0, 0.02), (60.0, 0.02))
    assert (still := _course(*fires, (70.0, 0.006))) is not None
    assert still.severity is _TICKET
    assert (cleared := _course(*fires, (70.0, 0.005))) is not None
    assert (cleared.severity, cleared.cleared_at, cleared.fired_at) == (None, 70.0, 60.0)


def test_it_rises_to_the_stronger_level_and_falls_back() -> None:
    rose = _course((0.0, 0.2), (60.0, 0.2))
    assert rose is not None
    assert rose.severity is _PAGE
    fell = judge(_SPEC, rose, _seen(0.04), 70.0)
    assert fell is not None
    assert (fell.severity, fell.fired_at) == (_TICKET, 60.0)


def test_few_samples_say_nothing() -> None:
    assert judge(_SPEC, None, _seen(0.5, samples=99), 0.0) is None
    fires = _course((0.0, 0.02), (60.0, 0.02))
    cleared = judge(_SPEC, fires, _seen(0.5, samples=99), 70.0)
    assert cleared is not None
    assert cleared.severity is None


def test_after_it_has_cleared_it_needs_its_time_again() -> None:
    cleared = _course((0.0, 0.02), (60.0, 0.02), (70.0, 0.0), (80.0, 0.02))
    assert cleared is not None
    assert cleared.severity is None
    quiet = judge(_SPEC, cleared, None, 90.0)
    assert quiet is not None
    again = judge(_SPEC, quiet, _seen(0.02), 200.0)
    assert again is not None
    assert again.severity is None


def test_a_stronger_level_voids_an_ack_and_a_new_firing_does() -> None:
    state = _course((0.0, 0.02), (60.0, 0.02))
    assert state is not None
    acked = msgspec.structs.replace(state, acked_by="alice", acked_severity=_TICKET)
    assert acked.is_acked()
    judge_again = judge(_SPEC, acked, _seen(0.2), 70.0)
    assert judge_again is not None
    rose = judge(_SPEC, judge_again, _seen(0.2), 130.0)
    assert rose is not None
    assert rose.severity is _PAGE
    assert not rose.is_acked()
    cleared = judge(_SPEC, acked, None, 70.0)
    anew = judge(_SPEC, judge(_SPEC, cleared, _seen(0.02), 80.0), _seen(0.02), 140.0)
    assert anew is not None
    assert anew.acked_by is None


def test_a_silence_outlives_a_clearing() -> None:
    state = _course((0.0, 0.02), (60.0, 0.02))
    assert state is not None
    silenced = msgspec.structs.replace(state, silenced_by="alice", silenced_until=1_000.0)
    cleared = judge(_SPEC, silenced, None, 70.0)
    anew = judge(_SPEC, judge(_SPEC, cleared, _seen(0.02), 80.0), _seen(0.02), 140.0)
    assert anew is not None
    assert anew.is_silenced(999.0)
    assert not anew.is_silenced(1_000.0)


# -- all of them -----------------------------------------------------------------------------------


def _detector(id: str, *seen: Seen, grace: float = 0.0, inhibits: tuple[str, ...] = ()) -> Detector:
    level = AlertLevel(_TICKET, 0.0, 0.0)
    return Detector(
        msgspec.structs.replace(_SPEC, id=id, levels=(level,), grace_seconds=grace, inhibits=inhibits), lambda _: seen
    )


def _fired(*detectors: Detector, known: dict[str, AlertState] | None = None, now: float = 1_000.0) -> list[str]:
    changes = evaluate(detectors, Reading(now=now), known or {}, since=900.0)
    return [change.state.name for change in changes if change.kind is ChangeKind.FIRED]


def test_nothing_is_judged_within_the_grace() -> None:
    assert _fired(_detector("a", _seen(1.0), grace=101.0), _detector("b", _seen(1.0), grace=100.0)) == ["b@mail"]


def test_an_alert_that_explains_others_holds_them_back_for_the_same_queue() -> None:
    stronger = _detector("a", _seen(1.0), inhibits=("b",))
    assert _fired(_detector("b", _seen(1.0), _seen(1.0, subject="other")), stronger) == ["a@mail", "b@other"]
    everything = _detector("a", _seen(1.0), inhibits=("*",))
    assert _fired(_detector("b", _seen(1.0)), _detector("c", _seen(1.0)), everything) == ["a@mail"]


def test_what_fires_goes_on_while_it_is_held_back() -> None:
    fires = AlertState(alert="b", subject="mail", queue="mail", severity=_TICKET, fired_at=1.0)
    stronger, quiet = _detector("a", _seen(1.0), inhibits=("*",)), _detector("b")
    changes = evaluate([stronger, quiet], Reading(now=1_000.0), {"b@mail": fires}, since=0.0)
    assert [(change.kind, change.state.name) for change in changes] == [(ChangeKind.FIRED, "a@mail")]


def test_a_detector_that_fails_stops_no_other() -> None:
    def fail(_: Reading) -> list[Seen]:
        raise RuntimeError

    broken = Detector(msgspec.structs.replace(_SPEC, id="broken"), fail)
    assert _fired(broken, _detector("b", _seen(1.0))) == ["b@mail"]


def test_only_the_worst_subjects_are_kept() -> None:
    many = [_seen(float(number), subject=f"q{number}") for number in range(1, 101)]
    assert sorted(_fired(_detector("a", *many))) == sorted(f"a@q{number}" for number in range(51, 101))


def test_while_the_store_is_away_only_that_is_judged() -> None:
    reading = Reading(now=1_000.0, away="no answer")
    first = evaluate(EVERY, reading, {}, since=0.0)
    known = {change.state.name: change.state for change in first}
    later = evaluate(EVERY, msgspec.structs.replace(reading, now=1_030.0), known, since=0.0)
    assert [(change.kind, change.state.alert) for change in later] == [(ChangeKind.FIRED, "store_away")]


# -- thresholds ------------------------------------------------------------------------------------


def test_settings_change_levels_and_switch_alerts() -> None:
    specs = {one.id: one for one in changed([*ALERTS, *(one.spec for one in EVERY)], [
        "duplicates.page=0.2", "lease_use.ticket=0.85:0.75", "dead_letters.show=off", "zombie=off", "flash=on"
    ])}  # fmt: skip
    assert (specs["duplicates"].levels[2].fire, specs["duplicates"].levels[2].clear) == (0.2, 0.1)
    assert (specs["lease_use"].levels[0].fire, specs["lease_use"].levels[0].clear) == (0.85, 0.75)
    assert [level.severity for level in specs["dead_letters"].levels] == [_TICKET, _PAGE]
    assert "zombie" not in specs
    assert "flash" in specs
    assert "burst" not in specs


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("duplicate.page=0.2", "there is no alert 'duplicate'"),
        ("duplicates.loud=1", "a level is page, ticket, show"),
        ("workers_absent.show=1", "its levels are page"),
        ("duplicates.page=much", "'much' is no number from 0"),
        ("duplicates.page=0.1:0.2", "it would clear at 0.2"),
        ("duplicates=maybe", "an alert is on or off"),
    ],
)
def test_a_setting_that_says_nothing_is_an_error_that_names_it(change: str, why: str) -> None:
    with pytest.raises(BadSetting, match="TENURE_ALERTS") as caught:
        changed(ALERTS, [change])
    assert why in str(caught.value)


def test_off_alone_switches_everything_off() -> None:
    assert changed(ALERTS, ["off"]) == []
