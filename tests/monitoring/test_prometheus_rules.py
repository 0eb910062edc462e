"""The rules for Prometheus are those of the catalogue, and read only what is exported.

That they are valid and fire is in `prometheus/test_rules.py`, with promtool.
"""

from pathlib import Path

from tenure.monitoring.alerting.thresholds import changed
from tenure.monitoring.catalogue import ALERTS, METRICS
from tenure.monitoring.prometheus_rules import inhibit_rules, rules

_FOLDER = Path(__file__).parents[2] / "deploy" / "monitoring" / "prometheus"
_OWN = tuple(one for one in ALERTS if one.expr)


def test_the_committed_rules_are_those_of_the_catalogue() -> None:
    assert (_FOLDER / "tenure.rules.yml").read_text() == rules(ALERTS)
    assert (_FOLDER / "tenure.inhibit.yml").read_text() == inhibit_rules(ALERTS)


def test_every_metric_that_a_rule_reads_is_one_that_is_exported() -> None:
    known = {one.name for one in METRICS}
    assert {name for alert in _OWN for name in alert.metrics} <= known


def test_changed_thresholds_and_the_address_of_a_server_are_in_the_rules() -> None:
    changes = ["duplicates.page=0.2:0.1", "oldest_age=off"]
    text = rules(changed(ALERTS, changes), public_url="https://tenure.example.com/")
    assert "tenure:duplicates > 0.2 or (tenure:duplicates > 0.1 " in text
    assert "TenureOldestAge" not in text
    assert 'runbook_url: "https://tenure.example.com/runbooks/duplicates"' in text
