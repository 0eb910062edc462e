"""The rules for Prometheus: valid, and each fires for its own fault alone and clears again."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.monitoring.prometheus.promtool import promtool
from tests.monitoring.prometheus.rule_cases import CASES, EXPECTED, HEALTHY, JUST_STARTED, PAUSED, Case

from tenure.monitoring.catalogue import ALERTS
from tenure.monitoring.catalogue.spec import AlertSpec
from tenure.monitoring.prometheus_rules import rule_name

_FOLDER = Path(__file__).parents[3] / "deploy" / "monitoring" / "prometheus"
#: Every alert that fires, but the one that always does.
_FIRING = 'count by (alertname, severity) (ALERTS{alertstate="firing", alertname!="TenureWatchdog"})'
_OWN: tuple[AlertSpec, ...] = tuple(one for one in ALERTS if one.expr)


def test_promtool_accepts_the_rules() -> None:
    found = promtool(["check", "rules", str(_FOLDER / "tenure.rules.yml")])
    assert found.returncode == 0, found.stdout + found.stderr


def test_every_alert_that_prometheus_judges_has_a_fault_that_makes_it_fire() -> None:
    tried = Counter(case.alert for case in CASES)
    assert {one.id for one in _OWN} - {"watchdog"} == set(tried)


def test_each_fault_fires_its_own_alert_alone_and_it_clears(tmp_path: Path) -> None:
    """What fires is asked as a whole, so that an alert of another fault would be seen too."""
    tests = [_group(case, {18: (), case.fires_at: case.levels, case.clears_at: ()}) for case in CASES]
    tests += [
        _group(EXPECTED, {EXPECTED.fires_at: ()}),
        _group(PAUSED, {PAUSED.fires_at: ()}),
        _group(JUST_STARTED, {JUST_STARTED.fires_at: ()}),
    ]
    file = tmp_path / "test.yml"
    given = {"rule_files": [str(_FOLDER / "tenure.rules.yml")], "evaluation_interval": "1m", "tests": tests}
    file.write_text(json.dumps(given))
    found = promtool(["test", "rules", str(file)])
    assert found.returncode == 0, found.stdout + found.stderr


def _group(case: Case, levels: Mapping[int, Sequence[str]]) -> dict[str, object]:
    """One fault, and what fires at these minutes."""
    name = rule_name(case.alert)
    looks = [
        {
            "expr": _FIRING,
            "eval_time": f"{at}m",
            "exp_samples": [{"labels": f'{{alertname="{name}", severity="{one}"}}', "value": 1} for one in fires],
        }
        for at, fires in levels.items()
    ]
    series = [{"series": name, "values": values} for name, values in {**HEALTHY, **case.series}.items()]
    return {"interval": "1m", "name": case.alert or "none", "input_series": series, "promql_expr_test": looks}
