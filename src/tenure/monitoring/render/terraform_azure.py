"""Target `terraform-azure`: Azure Monitor's scheduled query rules (v2) for the alerts of the catalogue. Pure.

A rule for each alert and level. What Azure's rules cannot do is left to Tenure's own evaluator: a lower level to clear
at, silence after a start, and alerts that explain others. A stronger level does replace a milder one, by the query. So
long as an alert has to last (`for`) is a window that is not shorter.

The files are a module: `main.tf` has the rules, `queries.tf` the saved queries, `variables.tf` what it asks
for.
"""

import string
from collections.abc import Iterator, Mapping, Sequence

from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec
from tenure.monitoring.prometheus_rules import RUNBOOKS_URL
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
from tenure.monitoring.render.kql_alerts import FINDINGS, LABELS, VALUES
from tenure.monitoring.render.kql_queries import QUERIES
from tenure.monitoring.render.kql_tables import Tables, in_form

#: Azure: 0 is the worst, 4 the mildest.
_SEVERITIES: Mapping[AlertSeverity, int] = {AlertSeverity.PAGE: 1, AlertSeverity.TICKET: 2, AlertSeverity.SHOW: 3}
_RULE = "azurerm_monitor_scheduled_query_rules_alert_v2"
#: The windows that a rule may have, in minutes.
_WINDOWS = (5, 10, 15, 30, 45, 60)
#: Rows reach the tables minutes late: their absence says nothing before that.
_LONGER = {"workers_absent": 10}
_MINUTE = 60
#: Has query packs.
_PROVIDER = "3.40"
_PREFIX, _RUNBOOKS = Expression("var.name_prefix"), Expression("var.runbooks_url")
#: Fires always, so that its silence is noticed: Azure can send it nowhere that notices.
LEFT_OUT = ("watchdog",)


def azure_files(
    specs: Sequence[AlertSpec], tables: Tables = Tables.APPLICATION_INSIGHTS, *, public_url: str | None = None
) -> list[RenderedFile]:
    """The module for these alerts."""
    rules = [_rule(one, level, tables) for one in specs if one.id in VALUES for level in one.levels]
    rules += _finding_rules(specs, tables)
    return [
        RenderedFile("main.tf", HEADER + written(rules)),
        RenderedFile("queries.tf", HEADER + written(_saved_queries(tables))),
        RenderedFile("versions.tf", HEADER + written([provider("azurerm", _PROVIDER)])),
        RenderedFile("variables.tf", HEADER + written(_variables((public_url or RUNBOOKS_URL).rstrip("/")))),
    ]


def window_minutes(spec: AlertSpec, level: AlertLevel) -> int:
    """The window that Azure knows and that is not shorter than the alert's, nor than it has to last."""
    seconds = max(spec.window_seconds, level.for_seconds)
    minutes = max(seconds / _MINUTE, _LONGER.get(spec.id, 0))
    return next((one for one in _WINDOWS if one >= minutes), _WINDOWS[-1])


def alert_query(spec: AlertSpec, level: AlertLevel, tables: Tables) -> str:
    """The query of one level: without rows that are of too few samples, or that a stronger level has."""
    text = VALUES[spec.id]
    if level.min_samples:
        text += f"| where samples >= {level.min_samples}\n"
    for other in spec.levels[spec.levels.index(level) + 1 :]:
        if other.fire > level.fire:
            enough = f" and samples >= {other.min_samples}" if other.min_samples else ""
            text += f"| where not(value > {other.fire:g}{enough})\n"
    return in_form(text, tables)


def _rule(spec: AlertSpec, level: AlertLevel, tables: Tables) -> Block:
    return _query_rule(
        f"{spec.id}_{level.severity}",
        f"{spec.title} ({level.severity})",
        f"{spec.about} Measured: {spec.measures}. {spec.remedy}. Runbook: {spec.runbook}.",
        level.severity,
        query=alert_query(spec, level, tables),
        labels=LABELS.get(spec.id, ()),
        threshold=level.fire,
        window=window_minutes(spec, level),
        runbook=spec.runbook,
    )


def _finding_rules(specs: Sequence[AlertSpec], tables: Tables) -> Iterator[Block]:
    """One rule a severity for all that only Tenure judges."""
    for severity in AlertSeverity:
        ids = [
            one.id
            for one in specs
            if one.id not in VALUES
            and one.id not in LEFT_OUT
            and any(level.severity is severity for level in one.levels)
        ]
        if not ids:
            continue
        template = in_form(FINDINGS, tables)
        query = string.Template(template).substitute(
            severity=severity.value, alerts=", ".join(f'"{one}"' for one in ids)
        )
        yield _query_rule(
            f"findings_{severity}",
            f"Tenure judged that something is wrong ({severity})",
            "Alerts that only Tenure can judge, by its events or its log lines. Each has the runbook of its name.",
            severity,
            query=query,
            labels=("alert", "subject"),
            threshold=0.0,
            window=_WINDOWS[0],
            runbook="",
            # The line tells of a change, and is not repeated: the absence of another one resolves nothing.
            resolves=False,
        )


def _query_rule(  # noqa: PLR0913 - one parameter an argument of the resource
    id: str, title: str, about: str, severity: AlertSeverity, *, query: str, labels: tuple[str, ...],
    threshold: float, window: int, runbook: str, resolves: bool = True,
) -> Block:  # fmt: skip
    arguments: dict[str, Value] = {
        "name": interpolated(_PREFIX, id.replace("_", "-")),
        "display_name": f"Tenure: {title}",
        "description": about,
        "resource_group_name": Expression("var.resource_group_name"),
        "location": Expression("var.location"),
        "scopes": Expression("[var.scope]"),
        "severity": _SEVERITIES[severity],
        "evaluation_frequency": Expression("var.evaluation_frequency"),
        "window_duration": f"PT{window}M" if window < _MINUTE else "PT1H",
        "auto_mitigation_enabled": resolves,
        "tags": Expression("var.tags"),
    }
    criteria = Block(
        "criteria",
        (),
        {
            "query": Heredoc(query),
            "time_aggregation_method": "Maximum",
            "metric_measure_column": "value",
            "operator": "GreaterThan",
            "threshold": threshold,
        },
        (
            *(Block("dimension", (), {"name": one, "operator": "Include", "values": ["*"]}) for one in labels),
            Block(
                "failing_periods",
                (),
                {"minimum_failing_periods_to_trigger_alert": 1, "number_of_evaluation_periods": 1},
            ),
        ),
    )
    properties: dict[str, Value] = {"tenure_severity": severity.value}
    if runbook:
        properties["runbook_url"] = interpolated(_RUNBOOKS, f"/{runbook}")
    action = Block(
        "action",
        (),
        {
            "action_groups": Expression(f'lookup(var.action_group_ids, "{severity}", [])'),
            "custom_properties": properties,
        },
    )
    return Block("resource", (_RULE, id), arguments, (criteria, action))


def _saved_queries(tables: Tables) -> Iterator[Block]:
    yield Block(
        "resource",
        ("azurerm_log_analytics_query_pack", "tenure"),
        {
            "name": interpolated(_PREFIX, "queries"),
            "resource_group_name": Expression("var.resource_group_name"),
            "location": Expression("var.location"),
            "tags": Expression("var.tags"),
        },
    )
    for query in QUERIES:
        yield Block(
            "resource",
            ("azurerm_log_analytics_query_pack_query", query.id.replace("-", "_")),
            {
                "query_pack_id": Expression("azurerm_log_analytics_query_pack.tenure.id"),
                "display_name": f"Tenure: {query.title}",
                "description": query.about,
                "resource_types": ["microsoft.insights/components", "microsoft.operationalinsights/workspaces"],
                "body": Heredoc(in_form(query.text, tables)),
            },
        )


def _variables(url: str) -> Iterator[Block]:
    text, texts = Expression("string"), Expression("map(string)")
    yield variable("resource_group_name", text, "The resource group of the rules.")
    yield variable("location", text, "The region of the rules: that of what they read.")
    yield variable(
        "scope", text, "The id of the Application Insights resource, or of its workspace where that is queried."
    )
    yield variable(
        "action_group_ids", Expression("map(list(string))"),
        "By severity (page, ticket, show), the action groups that are called. A severity without an entry has none.",
        Expression("{}"),
    )  # fmt: skip
    yield variable(
        "evaluation_frequency", text, "How often each rule is judged. Every minute (PT1M) costs more.", "PT5M"
    )
    yield variable("name_prefix", text, "What the names of all resources begin with.", "tenure-")
    yield variable(
        "runbooks_url", text, "Where the runbooks are read: /runbooks of a tenure server.", f"{url}/runbooks"
    )
    yield variable("tags", texts, "Tags of all resources.", Expression("{}"))
