"""What alerts measure, in KQL: templates over the catalogue, one for each alert that Application Insights can judge.

Each answers rows with `value`, what is compared with the thresholds, by the labels of the alert, and `samples` where
the alert needs a number of them. The rule's window bounds what is read. A counter's points are what was added, so a sum
of them is the growth; a gauge is the latest of each minute.

What only a server reads from the store (how many wait, how old they are) is no metric of OpenTelemetry. Tenure judges
those alerts itself, and the rules `findings` fire on its events or its log lines.
"""

from collections.abc import Mapping


def _grown(metric: str, label: str = "", words: str = "") -> str:
    """How much a counter grew, by queue; of those labels alone."""
    chosen = f' and tostring($properties["tenure.{label}"]) in ({words})' if label else ""
    return f"""\
$metrics
| where $name == "{metric}"{chosen}
| summarize value = sum($value) by queue = $queue
"""


def _total(metric: str) -> str:
    return f"""\
$metrics
| where $name == "{metric}"
| summarize value = sum($value)
"""


def _part(metric: str, label: str, of: str, among: str) -> str:
    """One outcome as a part of several, by queue."""
    return f"""\
$metrics
| where $name == "{metric}"
| extend queue = $queue, {label} = tostring($properties["tenure.{label}"])
| summarize part = sumif($value, {label} == "{of}"), samples = sumif($value, {label} in ({among})) by queue
| where samples > 0
| project queue, value = part / samples, samples
"""


#: By alert.
VALUES: Mapping[str, str] = {
    "store_away": """\
$metrics
| where $name == "tenure.store.up"
| summarize value = 1 - max($value)
""",
    "workers_absent": """\
$metrics
| where $name == "tenure.worker.info"
| summarize points = count()
| project value = iff(points == 0, 1, 0)
""",
    "workers_crashing": _total("tenure.workers.crashed"),
    "sweep_late": """\
$metrics
| where $name in ("tenure.sweep.age", "tenure.sweep.interval")
| summarize age = minif($value, $name == "tenure.sweep.age"), interval = minif($value, $name == "tenure.sweep.interval")
| project value = age / interval
""",
    "heartbeats_failing": _total("tenure.heartbeat.failures"),
    "leases_lost": _grown("tenure.lease.lost"),
    "lease_use": """\
$metrics
| where $name in ("tenure.lease.use", "tenure.lease.extensions", "tenure.process.duration.count")
| summarize
    value = maxif($value, $name == "tenure.lease.use"),
    samples = sumif($value, $name == "tenure.process.duration.count"),
    renewed = sumif($value, $name == "tenure.lease.extensions")
    by queue = $queue, task = $task
| where renewed == 0
| project queue, task, value, samples
""",
    "redelivered": """\
let delivered = $metrics
| where $name == "messaging.client.consumed.messages"
| summarize samples = sum($value) by queue = $queue;
$metrics
| where $name == "tenure.lease.returned"
| summarize returned = sum($value) by queue = $queue, cause = tostring($properties["tenure.cause"])
| where cause != "operator"
| join kind=inner (delivered) on queue
| where samples > 0
| project queue, cause, value = returned / samples, samples
""",
    "duplicates": _part("tenure.messages", "outcome", "duplicate", '"completed", "duplicate"'),
    "work_done_twice": _grown("tenure.messages", "outcome", '"late_settle"'),
    "deletion_failures": _part("tenure.settlements", "result", "unknown", '"deleted", "already_gone", "unknown"'),
    "dead_letters": """\
$metrics
| where ($name == "tenure.messages" and tostring($properties["tenure.outcome"]) == "dead")
    or ($name == "tenure.lease.returned" and tostring($properties["tenure.to"]) == "dead")
| summarize value = sum($value) by queue = $queue
""",
    "webhooks_failing": """\
$metrics
| where $name == "tenure.webhook.deliveries"
| extend result = tostring($properties["tenure.result"])
| summarize
    failed = sumif($value, result in ("failed", "given_up")),
    attempts = sumif($value, result in ("delivered", "failed", "given_up"))
| where attempts > 0
| project value = failed / attempts
""",
    "webhook_disabled": """\
$metrics
| where $name == "tenure.events" and tostring($properties["tenure.kind"]) == "webhook_disabled"
| summarize value = sum($value)
""",
    "endings_untold": """\
$metrics
| where $name == "tenure.announcements.oldest"
| summarize value = max($value)
""",
    "journal_behind": """\
$metrics
| where $name == "tenure.journal.waiting"
| summarize value = max($value) by instance = $instance
""",
    "clock_skew": """\
$metrics
| where $name == "tenure.clock.skew"
| summarize value = max(abs($value)) by instance = $instance
""",
}

#: By alert, the columns that tell two of its findings apart.
LABELS: Mapping[str, tuple[str, ...]] = {
    "leases_lost": ("queue",),
    "lease_use": ("queue", "task"),
    "redelivered": ("queue", "cause"),
    "duplicates": ("queue",),
    "work_done_twice": ("queue",),
    "deletion_failures": ("queue",),
    "dead_letters": ("queue",),
    "journal_behind": ("instance",),
    "clock_skew": ("instance",),
}

#: Alerts of Tenure's own evaluator, by its events or by its log lines: one of the two is sent, or both.
FINDINGS = """\
union
    ($traces | where tostring($properties.change) in ("fired", "rose")),
    ($events | where $name == "finding_fired")
| where tostring($properties.severity) == "$$severity"
| extend alert = tostring($properties.alert)
| where alert in ($$alerts)
| summarize value = count() by alert, subject = tostring($properties.subject)
"""
