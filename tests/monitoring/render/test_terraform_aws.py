"""AWS's module is HCL, its alarms have the thresholds of the catalogue, and judge known work as it was."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import hcl2
import pytest
from tests.docs.monitoring_files import specs
from tests.monitoring.render.logs_insights_language import read
from tests.monitoring.render.metric_math import Value, evaluate
from tests.monitoring.render.played import Row, played
from tests.monitoring.render.terraform import resources, variables

from tenure.monitoring.catalogue import LABELS, METRICS, AlertSeverity, MetricKind
from tenure.monitoring.otel.attributes import attribute_of
from tenure.monitoring.render.cloudwatch_alarms import MEASURES
from tenure.monitoring.render.logs_insights import QUERIES
from tenure.monitoring.render.terraform_aws import aws_files
from tenure.monitoring.render.terraform_azure import LEFT_OUT

_FILES = {one.name: one.text for one in aws_files(specs())}
_ALARM = "aws_cloudwatch_metric_alarm"
_KNOWN = {one.name: one for one in METRICS}


def _alarms() -> dict[str, Any]:
    return resources(_FILES["main.tf"])[_ALARM]


def test_each_level_of_each_alert_is_an_alarm_with_its_threshold() -> None:
    expected = {f"{spec.id}_{level.severity}" for spec in specs() if spec.id in MEASURES for level in spec.levels}
    assert set(_alarms()) == expected
    for spec in specs():
        for level in spec.levels if spec.id in MEASURES else ():
            alarm = _alarms()[f"{spec.id}_{level.severity}"]
            assert (alarm["threshold"], alarm["comparison_operator"]) == (level.fire, "GreaterThanThreshold")
            assert f'"{level.severity}"' in alarm["alarm_actions"]
            assert alarm["alarm_description"].endswith(f"${{var.runbooks_url}}/{spec.runbook}")
            assert len(alarm["alarm_description"]) <= 1024
            (first, *_) = alarm["metric_query"]
            assert first["return_data"] is True
            if level.min_samples:
                assert f"samples >= {level.min_samples}" in first["expression"]


def test_an_alarm_reads_exact_series_of_metrics_that_are_exported() -> None:
    for name, alarm in _alarms().items():
        metrics = [metric for query in alarm["metric_query"] for metric in query.get("metric", ())]
        assert metrics, name
        for metric in metrics:
            spec = _KNOWN[metric["metric_name"].removesuffix("_count")]
            dimensions = metric.get("dimensions", {})
            assert set(dimensions) == set(spec.labels), "an alarm reads one series, by all of its dimensions"
            values = {label.name: label.values for label in LABELS}
            for label, value in dimensions.items():
                assert "each." in value or not values[label] or value in values[label]
            assert (metric["stat"] == "Sum") == (spec.kind is not MetricKind.GAUGE)
            assert metric["period"] % 60 == 0
            assert metric["period"] * alarm["evaluation_periods"] <= 86_400


def test_an_expression_names_only_what_the_alarm_has() -> None:
    for alarm in _alarms().values():
        ids = [one["id"] for one in alarm["metric_query"]]
        assert len(ids) == len(set(ids))
        assert all(re.fullmatch(r"[a-z]\w*", id) for id in ids)
        for one in alarm["metric_query"]:
            words = set(re.findall(r"[A-Za-z_]\w*", one.get("expression", "")))
            assert words <= {*ids, "IF", "FILL", "ABS", "AND"}


# -- by meaning -----------------------------------------------------------------------------------

_FIRES = {
    "duplicates_show": 0.1,
    "work_done_twice_ticket": 1.0,
    "workers_crashing_ticket": 1.0,
    "dead_letters_show": 1.0,
}


def test_the_alarms_that_fire_are_those_whose_figures_are_above_their_thresholds() -> None:
    fired: dict[str, float] = {}
    for name, alarm in _alarms().items():
        for each in _each(alarm):
            value = _judged(alarm, each, played().tables["customMetrics"])
            if value is not None and value > alarm["threshold"]:
                fired[name] = value
    # Of content-processor: 3 duplicates of 24 that ended; the others of the queue have a task of their own.
    assert fired == pytest.approx(_FIRES | {"duplicates_show": 3 / 25})


@pytest.mark.parametrize(
    ("duplicates", "completed", "levels"),
    [(30, 270, ["page"]), (3, 297, ["ticket"]), (1, 299, ["show"]), (10, 10, ["show"]), (0, 300, []), (0, 0, [])],
)
def test_a_stronger_level_takes_the_place_of_a_milder_one_once_there_are_enough_samples(
    duplicates: int, completed: int, levels: list[str]
) -> None:
    rows = [_point("duplicate", duplicates), _point("completed", completed)] if duplicates + completed else []
    fired = []
    for level in AlertSeverity:
        alarm = _alarms()[f"duplicates_{level}"]
        value = _judged(alarm, {"queue": "articles", "task": "resize"}, rows)
        if value is not None and value > alarm["threshold"]:
            fired.append(level.value)
    assert fired == levels


def test_only_the_absence_of_workers_is_bad_without_data() -> None:
    assert [name for name, one in _alarms().items() if one["treat_missing_data"] == "breaching"] == [
        "workers_absent_page"
    ]  # fmt: skip
    assert _judged(_alarms()["workers_absent_page"], {}, []) == 1.0


def _point(outcome: str, value: float) -> Row:
    return {
        "name": "tenure.messages",
        "valueSum": value,
        "customDimensions": {
            "messaging.destination.name": "articles", "tenure.task": "resize", "tenure.outcome": outcome
        },
    }  # fmt: skip


def _each(alarm: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    tasks = ("content-processor", "markdown-generator", "site-publisher", "transcode")
    match alarm.get("for_each"):
        case None:
            yield {}
        case "${local.tasks}":
            for task in tasks:
                yield {"queue": "articles", "task": task}
        case _:
            yield {"queue": "articles"}


def _judged(alarm: Mapping[str, Any], each: Mapping[str, str], rows: list[Row]) -> Value:
    """The value that is compared, from rows of the same metrics by OpenTelemetry's names."""
    known: dict[str, Value] = {}
    for query in reversed(alarm["metric_query"]):
        for metric in query.get("metric", ()):
            known[query["id"]] = _series(metric, each, rows)
    for query in reversed(alarm["metric_query"]):
        if "expression" in query and query["id"] == "samples":
            known["samples"] = evaluate(query["expression"], known)
    for query in reversed(alarm["metric_query"]):
        if "expression" in query and query["id"] != "samples":
            known[query["id"]] = evaluate(query["expression"], known)
    return known["alarm"]


def _series(metric: Mapping[str, Any], each: Mapping[str, str], rows: list[Row]) -> Value:
    spec = _KNOWN[metric["metric_name"].removesuffix("_count")]
    name = f"{spec.otel}.count" if spec.kind is MetricKind.HISTOGRAM else spec.otel
    asked = {name: _put(value, each) for name, value in metric.get("dimensions", {}).items()}
    wanted = {attribute_of(name): value for name, value in asked.items()}
    points = [
        row["valueSum"] for row in rows if row["name"] == name and wanted.items() <= row["customDimensions"].items()
    ]
    if not points:
        return None
    combined: Mapping[str, Callable[[list[float]], float]] = {"Sum": sum, "Maximum": max, "Minimum": min}
    return combined[metric["stat"]](points)


def _put(value: str, each: Mapping[str, str]) -> str:
    return each[value.rsplit(".", 1)[1].rstrip("}").replace("key", "queue")] if "each." in value else value


# -- findings, queries, variables -----------------------------------------------------------------


def test_what_only_tenure_judges_reaches_an_alarm_by_its_log_lines() -> None:
    found = resources(_FILES["findings.tf"])
    for severity in AlertSeverity:
        alarm, filtering = found[_ALARM][f"findings_{severity}"], found["aws_cloudwatch_log_metric_filter"]
        named = set(re.findall(r'"(\w+)"', alarm["for_each"]))
        assert named == {
            one.id
            for one in specs()
            if one.id not in MEASURES
            and one.id not in LEFT_OUT
            and severity in {level.severity for level in one.levels}
        }
        (made,) = filtering[f"findings_{severity}"]["metric_transformation"]
        assert made["name"] == alarm["metric_name"]
        assert made["dimensions"] == {"alert": "$.alert"}


def test_the_filter_takes_the_line_of_a_finding_that_fired_and_no_other() -> None:
    pattern = resources(_FILES["findings.tf"])["aws_cloudwatch_log_metric_filter"]["findings_page"]["pattern"]
    taken = [line for line in played().lines if _matches(pattern, line)]
    assert [(line["alert"], line["change"]) for line in taken] == [("oldest_age", "fired")]


def _matches(pattern: str, line: Row) -> bool:
    """As CloudWatch's filters of JSON lines: `$.field = "text"`, `&&`, `||`, parentheses."""
    written = re.sub(r'\$\.(\w+) = ("[^"]*")', r"(line.get('\1') == \2)", pattern.strip("{} "))
    assert not re.search(r"\$", written)
    return bool(eval(written.replace("&&", "and").replace("||", "or"), {"line": line}))  # noqa: S307 - our own pattern


def test_the_saved_queries_are_those_of_the_files() -> None:
    saved = resources(_FILES["queries.tf"])["aws_cloudwatch_query_definition"]
    assert {name: one["query_string"].rstrip() for name, one in saved.items()} == {
        one.id.replace("-", "_"): one.text.rstrip() for one in QUERIES
    }
    for one in saved.values():
        assert read(one["query_string"]).commands


def test_each_variable_is_described_and_used_and_each_that_is_used_is_there() -> None:
    there = variables(_FILES["variables.tf"])
    rest = "".join(text for name, text in _FILES.items() if name != "variables.tf")
    assert set(there) == set(re.findall(r"\bvar\.(\w+)", rest))
    assert all(one["description"].endswith(".") for one in there.values())


def test_the_module_says_which_provider_it_needs() -> None:
    (needed,) = hcl2.loads(_FILES["versions.tf"])["terraform"]
    assert '"hashicorp/aws"' in str(needed)


def test_what_is_no_hcl_is_refused_by_the_parser() -> None:
    with pytest.raises(Exception, match="Unexpected"):
        hcl2.loads(_FILES["main.tf"].replace("metric_query {", "metric_query", 1))
