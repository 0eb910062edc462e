"""The names that existing queries and dashboards use for our events and metrics.

A sink applies those of events (`monitoring/flat.py`): one fact is one event of ours, written under their name. Two of
their names may mean one event of ours: `message_deletion` is every delete, `message_deleted` one after which the
message is gone.

Those of metrics are formulas, and nothing exports them: each of theirs is computed of ours, in percent or milliseconds,
and two are rates over a window, which the system that keeps the figures has to compute.
"""

from tenure.monitoring.catalogue.spec import Alias, AliasField, MetricAlias, Vocabulary

_INSIGHTS, _CLOUDWATCH = Vocabulary.APP_INSIGHTS, Vocabulary.CLOUDWATCH

# -- Application Insights: customEvents, with these fields in customDimensions --------------------------

#: What processes messages is called a container there; our task has the same name (`content-processor`).
_CONTAINER = AliasField("container", "task")
_RECEIVED_TIMES = AliasField("dequeue_count", "deliveries")
_TIMEOUT = AliasField("visibility_timeout", "lease_seconds")
_RESULT = AliasField(
    "result",
    "result",
    # Gone before is no failure: the message is where it should be.
    values={"deleted": "success", "already_gone": "success", "taken_over": "failed", "unknown": "failed"},
)
_DELETION = (
    _CONTAINER,
    _RESULT,
    AliasField("duration_ms", "delete_seconds", scale=1000.0),
    AliasField("retry_attempts", "delete_attempts"),
    AliasField("success", "is_failure", values={True: False, False: True}),
)

_APP_INSIGHTS = (
    Alias(_INSIGHTS, "received", "message_received", (_CONTAINER, _RECEIVED_TIMES, _TIMEOUT)),
    Alias(
        _INSIGHTS,
        "processed",
        "message_processed",
        (
            _CONTAINER,
            AliasField("duration_ms", "seconds", scale=1000.0),
            _TIMEOUT,
            AliasField("timeout_risk", "timeout_risk", values={True: "HIGH", False: "OK"}),
        ),
    ),
    Alias(_INSIGHTS, "deletion", "message_deletion", _DELETION),
    Alias(_INSIGHTS, "deletion", "message_deleted", _DELETION, when={"result": ("deleted", "already_gone")}),
    Alias(_INSIGHTS, "duplicate", "duplicate_detected", (_CONTAINER, _RECEIVED_TIMES)),
    # No query elsewhere knows these; our own alert rules do.
    Alias(_INSIGHTS, "finding_fired", "finding_fired"),
    Alias(_INSIGHTS, "finding_cleared", "finding_cleared"),
)

# -- CloudWatch Logs Insights, and `grep … | jq`: flat JSON -------------------------------------------

_JOB = AliasField("job_id", "message_id")

_LOGS_INSIGHTS = (
    Alias(_CLOUDWATCH, "heartbeat_started", "heartbeat_started", (_JOB,)),
    Alias(_CLOUDWATCH, "heartbeat_extended", "heartbeat_extended", (_JOB,)),
    Alias(_CLOUDWATCH, "heartbeat_stats", "heartbeat_stats", (_JOB,)),
    Alias(
        _CLOUDWATCH,
        "heartbeat_failed",
        "heartbeat_extension_failed",
        (AliasField("error_message", "error"),),
        each=("ids", "job_id"),
    ),
    Alias(_CLOUDWATCH, "file_size_detected", "file_size_detected", (_JOB,)),
    Alias(
        _CLOUDWATCH, "given_back", "job_already_running", (_JOB,), when={"code": ("running_elsewhere", "running_here")}
    ),
    Alias(_CLOUDWATCH, "duplicate", "job_already_finished", (_JOB,)),
)

EVENT_ALIASES: tuple[Alias, ...] = (*_APP_INSIGHTS, *_LOGS_INSIGHTS)

METRIC_ALIASES: tuple[MetricAlias, ...] = (
    MetricAlias(
        _INSIGHTS, "processing_duration_ms", "1000 * tenure_process_duration_percentile_seconds",
        "By percentile. `message_processed` has it for each message, as `duration_ms`.",
    ),
    MetricAlias(
        _INSIGHTS, "duplicate_detection_rate", "100 * tenure:duplicates",
        "In percent: 5 is our 0.05. The alert is `duplicates`.",
    ),
    MetricAlias(
        _INSIGHTS, "deletion_failure_rate", "100 * tenure:deletion_failures",
        "In percent: 2 is our 0.02. The alert is `deletion_failures`.",
    ),
    MetricAlias(
        _INSIGHTS, "deletion_success_rate", "100 - 100 * tenure:deletion_failures",
        "In percent. A message that was already gone is no failure.",
    ),
    MetricAlias(
        _INSIGHTS, "timeout_utilization_high", "count(tenure:lease_use > 0.8)",
        "How many tasks use more than 80 % of their lease. The alert is `lease_use`. The runs are `message_processed`"
        " with `timeout_risk` HIGH.",
    ),
    MetricAlias(
        _CLOUDWATCH, "ApproximateNumberOfMessagesVisible",
        'max by (queue) (tenure_queue_depth{state="ready"})', "What may be leased now.",
    ),
    MetricAlias(
        _CLOUDWATCH, "ApproximateNumberOfMessagesNotVisible",
        'max by (queue) (tenure_queue_depth{state="leased"})', "What is in work. Both together are what to scale by.",
    ),
)  # fmt: skip
