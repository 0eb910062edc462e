"""The two forms of Application Insights' tables: as the resource shows them, and as its workspace does.

The data are the same; names of tables and columns differ. A template writes `$events` and `$time`, and each form puts
its own name there. Names in double quotes, such as `$name == "message_deleted"`, are the same in both.
"""

import string
from collections.abc import Mapping
from enum import StrEnum

#: How the attributes of our metrics are called (`monitoring/otel/attributes.py`).
_QUEUE, _TASK = "messaging.destination.name", "tenure.task"


class Tables(StrEnum):
    """Where a query is run."""

    #: Logs of an Application Insights resource: `customEvents`, `customMetrics`, `traces`.
    APPLICATION_INSIGHTS = "application-insights"
    #: Logs of its Log Analytics workspace: `AppEvents`, `AppMetrics`, `AppTraces`.
    WORKSPACE = "workspace"


_NAMES: Mapping[Tables, Mapping[str, str]] = {
    Tables.APPLICATION_INSIGHTS: {
        "events": "customEvents", "metrics": "customMetrics", "traces": "traces", "time": "timestamp", "name": "name",
        "properties": "customDimensions", "items": "itemCount", "value": "valueSum", "instance": "cloud_RoleInstance",
        "message": "message", "severity": "severityLevel",
    },
    Tables.WORKSPACE: {
        "events": "AppEvents", "metrics": "AppMetrics", "traces": "AppTraces", "time": "TimeGenerated", "name": "Name",
        "properties": "Properties", "items": "ItemCount", "value": "Sum", "instance": "AppRoleInstance",
        "message": "Message", "severity": "SeverityLevel",
    },
}  # fmt: skip


def in_form(template: str, tables: Tables) -> str:
    """The query as it is written for these tables. Raises `KeyError` for a name that they do not have."""
    names = _NAMES[tables]
    bag = names["properties"]
    labels = {"queue": f'tostring({bag}["{_QUEUE}"])', "task": f'tostring({bag}["{_TASK}"])'}
    return string.Template(template).substitute({**names, **labels})
