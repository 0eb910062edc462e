"""Azure's module is HCL, its rules have the thresholds of the catalogue, and the KQL inside it has no mistake."""

import re
from typing import Any

import hcl2
import pytest
from tests.docs.monitoring_files import specs
from tests.monitoring.render.kql_reference import run
from tests.monitoring.render.kusto import mistakes, parsed
from tests.monitoring.render.played import played
from tests.monitoring.render.terraform import resources, variables

from tenure.monitoring.catalogue import AlertSeverity
from tenure.monitoring.render.kql_alerts import LABELS, VALUES
from tenure.monitoring.render.kql_queries import QUERIES
from tenure.monitoring.render.kql_tables import Tables, in_form
from tenure.monitoring.render.terraform_azure import LEFT_OUT, azure_files

#: Reads KQL by a package of npm.
pytestmark = pytest.mark.cloud

_FILES = {tables: {one.name: one.text for one in azure_files(specs(), tables)} for tables in Tables}
_RULE = "azurerm_monitor_scheduled_query_rules_alert_v2"
#: What Azure takes, as its reference has it.
_WINDOWS = {"PT5M", "PT10M", "PT15M", "PT30M", "PT45M", "PT1H"}


def _rules(tables: Tables) -> dict[str, Any]:
    return resources(_FILES[tables]["main.tf"])[_RULE]


@pytest.mark.parametrize("tables", Tables)
def test_the_query_of_a_rule_has_no_mistake_and_the_columns_that_the_rule_reads(tables: Tables) -> None:
    for name, rule in _rules(tables).items():
        (criteria,) = rule["criteria"]
        assert mistakes(criteria["query"]) == [], name
        last = [line for line in criteria["query"].splitlines() if "where" not in line][-1]
        for column in (criteria["metric_measure_column"], *(one["name"] for one in criteria.get("dimension", ()))):
            assert re.search(rf"\b{column}\b", last), (name, last)


def test_a_wrong_column_inside_a_rule_is_found() -> None:
    for name, rule in _rules(Tables.WORKSPACE).items():
        (criteria,) = rule["criteria"]
        assert mistakes(criteria["query"].replace("Name", "Nam").replace("Properties", "Property")), name


def test_each_level_of_each_alert_is_a_rule_with_its_threshold() -> None:
    rules = dict(_rules(Tables.APPLICATION_INSIGHTS))
    for spec in specs():
        for level in spec.levels if spec.id in VALUES else ():
            rule = rules.pop(f"{spec.id}_{level.severity}")
            (criteria,) = rule["criteria"]
            assert criteria["threshold"] == level.fire
            assert criteria["operator"] == "GreaterThan"
            assert rule["severity"] == list(AlertSeverity).index(level.severity) + 1
            assert rule["window_duration"] in _WINDOWS
            assert _minutes(rule["window_duration"]) * 60 >= max(spec.window_seconds, level.for_seconds)
            assert f'"{level.severity}"' in rule["action"][0]["action_groups"]
            assert rule["action"][0]["custom_properties"]["runbook_url"] == f"${{var.runbooks_url}}/{spec.runbook}"
            assert tuple(one["name"] for one in criteria.get("dimension", ())) == LABELS.get(spec.id, ())
            if level.min_samples:
                assert f"samples >= {level.min_samples}" in criteria["query"]
    assert set(rules) == {"findings_page", "findings_ticket", "findings_show"}


def _minutes(duration: str) -> int:
    found = re.fullmatch(r"PT(\d+)([MH])", duration)
    assert found is not None
    return int(found[1]) * (60 if found[2] == "H" else 1)


def test_what_only_tenure_judges_reaches_a_rule_by_its_log_lines() -> None:
    for severity in AlertSeverity:
        (criteria,) = _rules(Tables.APPLICATION_INSIGHTS)[f"findings_{severity}"]["criteria"]
        named = set(re.findall(r'"(\w+)"', criteria["query"].split("where alert in")[1]))
        assert named == {
            one.id
            for one in specs()
            if one.id not in VALUES and one.id not in LEFT_OUT and severity in {level.severity for level in one.levels}
        }


@pytest.mark.parametrize(
    ("severity", "alert", "subject"), [("page", "oldest_age", "articles"), ("ticket", "queue_unserved", "other")]
)
def test_a_finding_that_fired_is_a_row_and_one_that_cleared_is_none(severity: str, alert: str, subject: str) -> None:
    (criteria,) = _rules(Tables.APPLICATION_INSIGHTS)[f"findings_{severity}"]["criteria"]
    rows = run(parsed(criteria["query"]).tree, played().tables)
    assert rows == [{"alert": alert, "subject": subject, "value": 1}]


@pytest.mark.parametrize("tables", Tables)
def test_the_saved_queries_are_those_of_the_files(tables: Tables) -> None:
    saved = resources(_FILES[tables]["queries.tf"])["azurerm_log_analytics_query_pack_query"]
    assert {name: one["body"].rstrip() for name, one in saved.items()} == {
        one.id.replace("-", "_"): in_form(one.text, tables).rstrip() for one in QUERIES
    }
    for one in saved.values():
        assert mistakes(one["body"]) == []


def test_each_variable_is_described_and_used_and_each_that_is_used_is_there() -> None:
    files = _FILES[Tables.WORKSPACE]
    there = variables(files["variables.tf"])
    used = set(re.findall(r"\bvar\.(\w+)", files["main.tf"] + files["queries.tf"]))
    assert set(there) == used
    assert all(one["description"].endswith(".") for one in there.values())


def test_the_module_says_which_provider_it_needs() -> None:
    (needed,) = hcl2.loads(_FILES[Tables.WORKSPACE]["versions.tf"])["terraform"]
    assert '"hashicorp/azurerm"' in str(needed)


def test_what_is_no_hcl_is_refused_by_the_parser() -> None:
    with pytest.raises(Exception, match="Unexpected"):
        hcl2.loads(_FILES[Tables.WORKSPACE]["main.tf"].replace("criteria {", "criteria", 1))
