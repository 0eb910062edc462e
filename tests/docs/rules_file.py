"""Writes the rules for Prometheus and Alertmanager anew: `make reference` runs it."""

from tenure.monitoring.catalogue import ALERTS
from tenure.monitoring.prometheus_rules import inhibit_rules, rules

from .markdown import ROOT

FOLDER = ROOT / "deploy" / "monitoring" / "prometheus"

if __name__ == "__main__":
    (FOLDER / "tenure.rules.yml").write_text(rules(ALERTS))
    (FOLDER / "tenure.inhibit.yml").write_text(inhibit_rules(ALERTS))
