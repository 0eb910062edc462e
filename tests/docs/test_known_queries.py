"""docs/reference/known-queries.md names every query, event, metric and alert that there is, and the how-to is right."""

import re

import hcl2
import pytest

from tenure.monitoring.catalogue import ALERTS, EVENT_ALIASES, METRIC_ALIASES
from tenure.monitoring.render import rendered
from tenure.monitoring.render.kql_queries import QUERIES as KQL
from tenure.monitoring.render.logs_insights import QUERIES as LOGS_INSIGHTS

from .markdown import ROOT, blocks_of
from .monitoring_files import specs

PAGE = (ROOT / "docs" / "reference" / "known-queries.md").read_text(encoding="utf-8")
HOW_TO = ROOT / "docs" / "how-to" / "watch-from-azure-and-aws.md"
_THRESHOLDS = {
    "duplicates": ["0", "0.5", "5"], "deletion_failures": ["1", "2"], "redelivered": ["2", "10"]
}  # fmt: skip


def test_every_query_is_linked() -> None:
    links = [f"[{one.id}](../../deploy/monitoring/kql/workspace/{one.id}.kql)" for one in KQL]
    links += [f"[{one.id}](../../deploy/monitoring/logs-insights/{one.id}.txt)" for one in LOGS_INSIGHTS]
    assert [link for link in links if link not in PAGE] == []


def test_every_event_and_metric_under_another_name_is_there() -> None:
    names = [*(one.name for one in EVENT_ALIASES), *(one.name for one in METRIC_ALIASES)]
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_the_alerts_that_are_named_are_there_with_their_thresholds() -> None:
    for id, percents in _THRESHOLDS.items():
        (spec,) = [one for one in ALERTS if one.id == id]
        assert [f"{level.fire * 100:g}" for level in spec.levels] == percents
        line = next(line for line in PAGE.splitlines() if re.search(rf"\| `{id}` \|", line))
        for level, percent in zip(spec.levels, percents, strict=True):
            assert re.search(rf"`{level.severity}` above {re.escape(percent)}( %|,)", line), line


@pytest.mark.parametrize(("file", "target"), [("azure.tf", "terraform-azure"), ("aws.tf", "terraform-aws")])
def test_the_modules_of_the_how_to_are_given_what_they_ask_for(file: str, target: str) -> None:
    (block,) = [one for one in blocks_of(HOW_TO) if f"> {file}" in one.code]
    ((_, module),) = hcl2.loads(block.code.split("<<'END'\n")[1].split("END\n")[0])["module"][0].items()
    given = {name for name in module if not name.startswith("__")} - {"source"}
    text = next(one.text for one in rendered(target, specs()) if one.name == "variables.tf")
    asked = {name.strip('"'): about for one in hcl2.loads(text)["variable"] for name, about in one.items()}
    assert given <= set(asked)
    assert {name for name, about in asked.items() if "default" not in about} <= given
