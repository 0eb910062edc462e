"""Queries for Application Insights, in KQL: templates, written by hand over the catalogue.

They read three things, and a test compares each name with what a worker sends:

    events     what `--log-events app_insights` writes: `message_received`, `message_processed`, `message_deletion` …
    metrics    what OpenTelemetry exports: each point of a counter is what was added since the last one
    traces     the log lines of workers and servers

Rates are made of metrics, because metrics are never sampled. A count of events adds up `$items`, which says how many
each row represents after ingestion sampling. Percentiles are made of gauges or of events: Application Insights keeps no
histogram, only minimum, maximum, sum and count.

Most steps of a message are emitted where `--detail` asks for them; an event then carries `sample_weight`. What is
abnormal is always emitted. So it counts as one, also where it was chosen for the sample.
"""

from tenure.monitoring.render.file import SavedQuery

_DETAIL = "--detail 1 has every message; with less, only those that were chosen."

PROCESSING_DURATION = SavedQuery(
    "processing-duration",
    "Processing duration by container",
    "How long runs take, in milliseconds, for each five minutes. The mean is exact, over all runs. Percentiles are"
    " those of the slowest worker, right within 4 %. A container is a task.",
    """\
$metrics
| where $name in ("tenure.process.duration.count", "tenure.process.duration.sum", "tenure.process.duration.percentile")
| extend container = $task, percentile = tostring($properties["tenure.percentile"])
| summarize
    runs = sumif($value, $name == "tenure.process.duration.count"),
    seconds = sumif($value, $name == "tenure.process.duration.sum"),
    P50_ms = 1000 * maxif($value, percentile == "50"),
    P95_ms = 1000 * maxif($value, percentile == "95"),
    P99_ms = 1000 * maxif($value, percentile == "99")
    by container, bin($time, 5m)
| extend Avg_ms = iff(runs > 0, 1000 * seconds / runs, real(null))
| project $time, container, runs, Avg_ms, P50_ms, P95_ms, P99_ms
| order by $time desc, container asc
""",
)

PROCESSING_DURATION_EXACT = SavedQuery(
    "processing-duration-of-messages",
    "Processing duration by container, from messages",
    "The same over the whole time range, with the longest run, from the events of messages. Where --detail is below 1,"
    " each event counts for as many runs as it represents; a run that nearly used up its lease is always there and"
    " counts once.",
    """\
$events
| where $name == "message_processed"
| extend
    container = tostring($properties.container),
    duration_ms = todouble($properties.duration_ms),
    sampled = coalesce(todouble($properties.sample_weight), 1.0)
| extend weight = $items * iff(tostring($properties.timeout_risk) == "HIGH", 1.0, sampled)
| summarize
    runs = sum(weight),
    Avg = sum(duration_ms * weight) / sum(weight),
    P50 = percentilew(duration_ms, tolong(round(weight)), 50),
    P95 = percentilew(duration_ms, tolong(round(weight)), 95),
    P99 = percentilew(duration_ms, tolong(round(weight)), 99),
    Max = max(duration_ms)
    by container
| order by container asc
""",
)

TIMEOUT_RISK = SavedQuery(
    "timeout-risk",
    "Runs at risk, by container",
    "Runs that ended with less than a fifth of their lease left. They are emitted for every message, without --detail.",
    """\
$events
| where $name == "message_processed" and tostring($properties.timeout_risk) == "HIGH"
| summarize
    risk_count = sum($items),
    affected_messages = dcount(tostring($properties.message_id))
    by container = tostring($properties.container)
| order by risk_count desc, container asc
""",
)

DELETION_SUCCESS = SavedQuery(
    "deletion-success",
    "Deletion success rate by queue",
    "How deletes of finished messages ended, and the part that worked, in percent. A message that was already gone is"
    " no failure. Empty where nothing was deleted.",
    """\
$metrics
| where $name == "tenure.settlements"
| extend queue = $queue, result = tostring($properties["tenure.result"])
| where result in ("deleted", "already_gone", "unknown")
| summarize
    total_deletions = sum($value),
    successful = sumif($value, result != "unknown"),
    failed = sumif($value, result == "unknown")
    by queue
| extend success_rate = iff(total_deletions > 0, 100.0 * successful / total_deletions, real(null))
| order by queue asc
""",
)

TIMELINE = SavedQuery(
    "message-timeline",
    "Message processing timeline",
    "When each message was received first, when its run and its delete ended, and how long that took, in milliseconds. "
    + _DETAIL,
    """\
$events
| where $name in ("message_received", "message_processed", "message_deleted")
| extend message_id = tostring($properties.message_id), container = tostring($properties.container)
| summarize
    received = minif($time, $name == "message_received"),
    processed = maxif($time, $name == "message_processed"),
    deleted = maxif($time, $name == "message_deleted"),
    runs = countif($name == "message_processed"),
    duration_ms = sumif(todouble($properties.duration_ms), $name == "message_processed")
    by message_id, container
| extend total_time_ms = (deleted - received) / 1ms
| order by received asc
""",
)

DUPLICATES = SavedQuery(
    "duplicates",
    "Duplicates by container and hour",
    "Messages that came again after they were done. They were recognised and deleted. Emitted for every one.",
    """\
$events
| where $name == "duplicate_detected"
| summarize
    duplicates_count = sum($items),
    unique_messages = dcount(tostring($properties.message_id))
    by container = tostring($properties.container), bin($time, 1h)
| order by $time desc, container asc
""",
)

DUPLICATE_RATE = SavedQuery(
    "duplicate-rate",
    "Duplicate detection rate by queue and hour",
    "Duplicates as a part of completed messages and duplicates, in percent. The goal is 0; the alert pages above 5.",
    """\
$metrics
| where $name == "tenure.messages"
| extend queue = $queue, outcome = tostring($properties["tenure.outcome"])
| summarize
    duplicates = sumif($value, outcome == "duplicate"),
    finished = sumif($value, outcome in ("completed", "duplicate"))
    by queue, bin($time, 1h)
| extend duplicate_rate = iff(finished > 0, 100.0 * duplicates / finished, real(null))
| order by $time desc, queue asc
""",
)

LEASE_UTILISATION = SavedQuery(
    "timeout-utilization",
    "Visibility timeout utilization above 80 %",
    "How much of its latest lease each run had used when it ended, in percent, of those above 80. A run whose heartbeat"
    " renews its lease is measured by the latest renewal. Emitted for every such run, without --detail.",
    """\
$events
| where $name == "message_processed"
| extend
    visibility_timeout = todouble($properties.visibility_timeout),
    left_seconds = todouble($properties.lease_left_seconds)
| extend utilization_percent = 100.0 * (1.0 - left_seconds / visibility_timeout)
| where utilization_percent > 80
| summarize
    at_risk_count = sum($items),
    max_utilization = max(utilization_percent),
    avg_utilization = avg(utilization_percent)
    by container = tostring($properties.container)
| order by max_utilization desc, container asc
""",
)

DELETION_SUCCESS_HOURLY = SavedQuery(
    "deletion-success-by-hour",
    "Deletion success rate by queue and hour",
    "The same as deletion-success, for each hour.",
    DELETION_SUCCESS.text.replace("    by queue\n", "    by queue, bin($time, 1h)\n").replace(
        "| order by queue asc", "| order by $time desc, queue asc"
    ),
)

REQUEUES = SavedQuery(
    "requeues",
    "Messages delivered again, by hour",
    "Deliveries after the first one. max_dequeues 5 means five or more.",
    """\
$metrics
| where $name == "messaging.client.consumed.messages" and $value > 0
| extend queue = $queue, delivery = tostring($properties["tenure.delivery"])
| where delivery != "1"
| summarize
    requeue_count = sum($value),
    max_dequeues = max(toint(substring(delivery, 0, 1))),
    queues_affected = dcount(queue)
    by bin($time, 1h)
| order by $time desc
""",
)

DELIVERIES = SavedQuery(
    "deliveries",
    "Deliveries by their number and hour",
    "How many messages were delivered for the first time, the second time, and so on. 5+ is five or more.",
    """\
$metrics
| where $name == "messaging.client.consumed.messages" and $value > 0
| summarize messages = sum($value) by dequeue_count = tostring($properties["tenure.delivery"]), bin($time, 1h)
| order by $time desc, dequeue_count asc
""",
)

REDELIVERED = SavedQuery(
    "redelivered-messages",
    "Which messages were delivered again",
    "Emitted for every message whose earlier worker crashed or lost its lease. Retries of a failed handler: " + _DETAIL,
    """\
$events
| where $name == "message_received" and toint($properties.dequeue_count) > 1
| summarize last_received = max($time), dequeue_count = max(toint($properties.dequeue_count))
    by message_id = tostring($properties.message_id), container = tostring($properties.container)
| order by dequeue_count desc, last_received desc
""",
)

DELETION_FAILURES = SavedQuery(
    "deletion-failures",
    "Which deletes failed",
    "Each delete that failed, with how often it was tried. Emitted for every one.",
    """\
$events
| where $name == "message_deletion" and tostring($properties.result) == "failed"
| project
    $time,
    message_id = tostring($properties.message_id),
    container = tostring($properties.container),
    retry_attempts = toint($properties.retry_attempts),
    duration_ms = todouble($properties.duration_ms)
| order by $time desc
""",
)

FAILED_ATTEMPTS = SavedQuery(
    "failed-attempts",
    "Attempts that failed, by task and reason",
    "Log lines of attempts that failed: the reason, whether the message comes back, and the newest line. Works without"
    " --log-events.",
    """\
$traces
| where $severity >= 2 and isnotempty(tostring($properties.code)) and isnotempty(tostring($properties.next))
| extend then = iff($severity >= 3, "dead letter", "comes back")
| summarize
    failures = sum($items),
    messages = dcount(tostring($properties.message_id)),
    arg_max($time, $message)
    by task = tostring($properties.task), code = tostring($properties.code), then
| order by failures desc, task asc
""",
)

FINDINGS = SavedQuery(
    "findings",
    "What Tenure found wrong",
    "Alerts and detectors that Tenure judges itself, by its events or by its log lines, whichever are sent. Where both"
    " are, a finding is there twice.",
    """\
union
    ($traces | extend change = tostring($properties.change)),
    ($events
    | where $name in ("finding_fired", "finding_cleared")
    | extend change = iff($name == "finding_fired", "fired", "cleared"))
| where change in ("fired", "rose", "cleared")
| project
    $time,
    change,
    severity = tostring($properties.severity),
    alert = tostring($properties.alert),
    subject = tostring($properties.subject),
    evidence = tostring($properties.evidence)
| order by $time desc
""",
)

QUERIES: tuple[SavedQuery, ...] = (
    PROCESSING_DURATION, PROCESSING_DURATION_EXACT, TIMEOUT_RISK, DELETION_SUCCESS, TIMELINE, DUPLICATES,
    DUPLICATE_RATE, LEASE_UTILISATION, DELETION_SUCCESS_HOURLY, REQUEUES, DELIVERIES, REDELIVERED, DELETION_FAILURES,
    FAILED_ATTEMPTS, FINDINGS,
)  # fmt: skip
