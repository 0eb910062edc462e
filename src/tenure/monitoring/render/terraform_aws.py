"""Target `terraform-aws`: CloudWatch alarms for the alerts of the catalogue, and saved queries. Pure.

An alarm for each alert and level, and for each queue, or queue and task, of the module's variables. What alarms cannot
do is left to Tenure's own evaluator: a lower level to clear at, silence after a start, and alerts that explain others.
What only that evaluator judges reaches an alarm by its log lines (`findings.tf`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec
from tenure.monitoring.prometheus_rules import RUNBOOKS_URL
from tenure.monitoring.render.cloudwatch_alarms import MEASURES, Measure, Series
from tenure.monitoring.render.file import RenderedFile
from tenure.monitoring.render.hcl import (
    HEADER,
    Block,
    Expression,
    Heredoc,
    Value,
    interpolated,
    provider,
    variable,
    written,
)
from tenure.monitoring.render.logs_insights import QUERIES
from tenure.monitoring.render.terraform_azure import LEFT_OUT

_ALARM = "aws_cloudwatch_metric_alarm"
_MINUTE = 60
#: Has dimensions of metric filters.
_PROVIDER = "4.0"
_PREFIX, _RUNBOOKS = Expression("var.name_prefix"), Expression("var.runbooks_url")
_KEY = Expression("each.key")
#: Where points come once a minute: shorter says nothing.
_SHORTEST = 60
#: By what an alarm is about, what it is made for each of.
_EACH: Mapping[tuple[str, ...], str] = {
    (): "",
    ("queue",): "toset(keys(var.queues))",
    ("queue", "task"): "local.tasks",
}
_DIMENSIONS: Mapping[tuple[str, ...], Mapping[str, Value]] = {
    (): {},
    ("queue",): {"queue": Expression("each.key")},
    ("queue", "task"): {"queue": Expression("each.value.queue"), "task": Expression("each.value.task")},
}


def aws_files(specs: Sequence[AlertSpec], *, public_url: str | None = None) -> list[RenderedFile]:
    """The module for these alerts."""
    alarms = [_alarm(one, level) for one in specs if one.id in MEASURES for level in one.levels]
    return [
        RenderedFile("main.tf", HEADER + written([_locals(), *alarms])),
        RenderedFile("findings.tf", HEADER + written(_findings(specs))),
        RenderedFile("queries.tf", HEADER + written(_saved_queries())),
        RenderedFile("versions.tf", HEADER + written([provider("aws", _PROVIDER)])),
        RenderedFile("variables.tf", HEADER + written(_variables((public_url or RUNBOOKS_URL).rstrip("/")))),
    ]


def period_seconds(spec: AlertSpec) -> int:
    """How long the points are that are compared: the alert's window, in whole minutes."""
    return max(_SHORTEST, math.ceil(spec.window_seconds / _MINUTE) * _MINUTE)


def periods(spec: AlertSpec, level: AlertLevel) -> int:
    """How many points in a row have to be above the threshold."""
    return max(1, math.ceil(level.for_seconds / period_seconds(spec)))


def _alarm(spec: AlertSpec, level: AlertLevel) -> Block:
    measure, period = MEASURES[spec.id], period_seconds(spec)
    each = _EACH[measure.labels]
    name = f"{spec.id.replace('_', '-')}-{level.severity}"
    arguments: dict[str, Value] = {"for_each": Expression(each)} if each else {}
    about = f"{spec.title} ({level.severity}). {spec.about} {spec.remedy}."
    arguments |= {
        "alarm_name": interpolated(_PREFIX, f"{name}-", _KEY) if each else interpolated(_PREFIX, name),
        "alarm_description": interpolated(f"{about} Runbook: ", _RUNBOOKS, f"/{spec.runbook}"),
        "comparison_operator": "GreaterThanThreshold",
        "threshold": level.fire,
        "evaluation_periods": periods(spec, level),
        "treat_missing_data": "breaching" if measure.absence_is_bad else "notBreaching",
        "alarm_actions": Expression(f'lookup(var.alarm_actions, "{level.severity}", [])'),
        "ok_actions": Expression(f'lookup(var.alarm_actions, "{level.severity}", [])'),
        "tags": Expression("var.tags"),
    }
    queries = [_math("alarm", alarm_expression(spec, level, measure), spec.measures)]
    if measure.samples:
        queries.append(_math("samples", measure.samples))
    queries.append(_math("value", measure.value))
    queries += [_metric(id, one, measure.labels, period) for id, one in measure.series.items()]
    return Block("resource", (_ALARM, f"{spec.id}_{level.severity}"), arguments, tuple(queries))


def alarm_expression(spec: AlertSpec, level: AlertLevel, measure: Measure) -> str:
    """What is compared with the threshold: `value`, or 0 where samples are too few or a stronger level has it."""
    expression = "value"
    for other in spec.levels[spec.levels.index(level) + 1 :]:
        if other.fire > level.fire and periods(spec, other) == periods(spec, level):
            enough = f" AND samples >= {other.min_samples}" if other.min_samples else ""
            expression = f"IF(value > {other.fire:g}{enough}, 0, {expression})"
    if measure.samples:
        # Without any sample the value is no number.
        expression = f"IF(samples >= {max(1, level.min_samples)}, {expression}, 0)"
    return expression


def _math(id: str, expression: str, label: str = "") -> Block:
    arguments: dict[str, Value] = {"id": id, "expression": expression}
    if label:
        arguments |= {"label": label, "return_data": True}
    return Block("metric_query", (), arguments)


def _metric(id: str, series: Series, labels: tuple[str, ...], period: int) -> Block:
    own: dict[str, Value] = {**_DIMENSIONS[labels], **series.labels}
    arguments: dict[str, Value] = {
        "namespace": Expression("var.namespace"),
        "metric_name": series.metric,
        "period": period,
        "stat": series.stat,
    }
    if own:
        arguments["dimensions"] = own
    return Block("metric_query", (), {"id": id}, (Block("metric", (), arguments),))


def _locals() -> Block:
    of_task = '{ for task in tasks : "${queue}/${task}" => { queue = queue, task = task } }'
    return Block("locals", (), {"tasks": Expression(f"merge([for queue, tasks in var.queues : {of_task}]...)")})


def _findings(specs: Sequence[AlertSpec]) -> Iterator[Block]:
    """What only Tenure judges: a metric of its log lines, and an alarm for each alert and severity."""
    for severity in AlertSeverity:
        ids = [
            one.id
            for one in specs
            if one.id not in MEASURES
            and one.id not in LEFT_OUT
            and any(level.severity is severity for level in one.levels)
        ]
        if not ids:
            continue
        metric = f"tenure_findings_{severity}"
        yield Block(
            "resource",
            ("aws_cloudwatch_log_metric_filter", f"findings_{severity}"),
            {
                "name": interpolated(_PREFIX, f"findings-{severity}"),
                "log_group_name": Expression("var.log_group_name"),
                "pattern": finding_pattern(severity),
            },
            (
                Block(
                    "metric_transformation",
                    (),
                    {
                        "namespace": Expression("var.namespace"),
                        "name": metric,
                        "value": "1",
                        "dimensions": {"alert": "$.alert"},
                    },
                ),
            ),
        )
        yield Block(
            "resource",
            (_ALARM, f"findings_{severity}"),
            {
                "for_each": Expression(f"toset({_list(ids)})"),
                "alarm_name": interpolated(_PREFIX, Expression('replace(each.key, "_", "-")'), f"-{severity}"),
                "alarm_description": interpolated(
                    f"Tenure judged that something is wrong ({severity}). Runbook: ", _RUNBOOKS, "/", _KEY
                ),
                "namespace": Expression("var.namespace"),
                "metric_name": metric,
                "dimensions": {"alert": _KEY},
                "statistic": "Sum",
                "period": 300,
                "comparison_operator": "GreaterThanThreshold",
                "threshold": 0,
                "evaluation_periods": 1,
                "treat_missing_data": "notBreaching",
                "alarm_actions": Expression(f'lookup(var.alarm_actions, "{severity}", [])'),
                "tags": Expression("var.tags"),
            },
        )


def finding_pattern(severity: AlertSeverity) -> str:
    """Lines of Tenure's evaluator that tell of a finding of this severity."""
    return (
        f'{{ $.logger = "tenure.alerting" && $.severity = "{severity}" && ($.change = "fired" || $.change = "rose") }}'
    )


def _list(ids: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{one}"' for one in ids) + "]"


def _saved_queries() -> Iterator[Block]:
    for query in QUERIES:
        yield Block(
            "resource",
            ("aws_cloudwatch_query_definition", query.id.replace("-", "_")),
            {
                "name": interpolated(_PREFIX, query.id),
                "log_group_names": Expression("[var.log_group_name]"),
                "query_string": Heredoc(query.text),
            },
        )


def _variables(url: str) -> Iterator[Block]:
    text, texts = Expression("string"), Expression("map(string)")
    yield variable(
        "queues", Expression("map(list(string))"), "The queues that are watched, each with the names of its tasks."
    )
    yield variable("log_group_name", text, "Where the JSON lines of workers and servers are.")
    yield variable(
        "alarm_actions", Expression("map(list(string))"),
        "By severity (page, ticket, show), the ARNs that are called, such as an SNS topic's. A severity without"
        " an entry has none.", Expression("{}"),
    )  # fmt: skip
    yield variable("namespace", text, "Where the metrics are.", "Tenure")
    yield variable("name_prefix", text, "What the names of all resources begin with.", "tenure-")
    yield variable(
        "runbooks_url", text, "Where the runbooks are read: /runbooks of a tenure server.", f"{url}/runbooks"
    )
    yield variable("tags", texts, "Tags of all resources.", Expression("{}"))
