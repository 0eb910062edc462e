"""Every query of the dashboard, and every formula of a metric that others know, is one that Prometheus understands."""

import json
from collections.abc import Sequence
from pathlib import Path

from tests.monitoring.prometheus.promtool import promtool
from tests.monitoring.test_grafana import EXPRESSIONS

from tenure.monitoring.catalogue import METRIC_ALIASES


def test_every_query_of_the_dashboard_can_be_parsed(tmp_path: Path) -> None:
    filled = [one.replace("$__rate_interval", "1m").replace("$queue", "mail-tasks") for one in EXPRESSIONS]
    _check(filled, tmp_path)


def test_every_formula_of_a_metric_that_others_know_can_be_parsed(tmp_path: Path) -> None:
    _check([one.expr for one in METRIC_ALIASES], tmp_path)


def _check(queries: Sequence[str], folder: Path) -> None:
    lines = ["groups:", "  - name: queries", "    rules:"]
    for number, query in enumerate(queries):
        lines += [f"      - record: query:{number}", f"        expr: {json.dumps(query)}"]
    (folder / "queries.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    checked = promtool(["check", "rules", "queries.yml"], where=folder)
    assert checked.returncode == 0, checked.stderr
    assert f"{len(queries)} rules found" in checked.stdout
