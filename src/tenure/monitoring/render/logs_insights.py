"""Target `logs-insights`: queries for CloudWatch Logs Insights, one file each. Pure.

They read the lines of `tenure worker --log json --log-events cloudwatch`, whose fields Logs Insights finds by itself.
Steps of a message are there where `--detail` asks for them; each says by `sample_weight` for how many it stands, and
means are weighted by it.
"""

from tenure.monitoring.render.file import RenderedFile, SavedQuery
from tenure.monitoring.render.kql import comment

FAILED_HEARTBEATS = SavedQuery(
    "failed-heartbeats",
    "Failed heartbeats",
    "Leases that could not be renewed for now, one line for each job. Emitted for every one.",
    """\
fields @timestamp, job_id, owner, error_message
| filter event_type = "heartbeat_extension_failed"
| sort @timestamp desc
| limit 100
""",
)

HEARTBEAT_STATISTICS = SavedQuery(
    "heartbeat-statistics",
    "Heartbeat statistics by task",
    "How often leases were renewed, and for how long in all, by the time their jobs ended. With --detail below 1, jobs"
    " and means are estimates and the maximum is of the jobs that were chosen.",
    """\
filter event_type = "heartbeat_stats"
| fields coalesce(sample_weight, 1) as weight
| fields extension_count * weight as counted, total_extended_seconds * weight as extended
| stats sum(weight) as jobs,
    sum(counted) / sum(weight) as avg_extensions,
    max(extension_count) as max_extensions,
    sum(extended) / sum(weight) as avg_extended_seconds
    by task
| sort jobs desc
""",
)

DUPLICATE_PROCESSING = SavedQuery(
    "duplicate-processing",
    "Duplicate processing",
    "Jobs that came again while they ran or after they were done. None of them ran twice. Emitted for every one.",
    """\
filter event_type in ["job_already_running", "job_already_finished"]
| stats count(*) as times, max(@timestamp) as newest by job_id, event_type
| sort times desc
| limit 100
""",
)

UNFINISHED_JOBS = SavedQuery(
    "unfinished-jobs",
    "Jobs that began more often than they ended",
    "Jobs whose heartbeat started and left no statistics: they run now, or a worker died with them. --detail 1 has"
    " every job.",
    """\
filter event_type in ["heartbeat_started", "heartbeat_stats"]
| fields strcontains(event_type, "heartbeat_started") as is_start, strcontains(event_type, "heartbeat_stats") as is_end
| stats sum(is_start) as starts, sum(is_end) as ends, max(@timestamp) as newest by job_id, task
| filter starts > ends
| sort newest asc
| limit 100
""",
)

LEASE_RENEWALS = SavedQuery(
    "lease-renewals",
    "Lease renewals by task and hour",
    "How many leases were renewed. On SQS one call renews ten, so a tenth of it is what is paid for at least.",
    """\
filter event_type = "heartbeat_extended"
| fields coalesce(sample_weight, 1) as weight
| stats sum(weight) as renewals by bin(1h), task
""",
)

FILE_SIZES = SavedQuery(
    "file-sizes",
    "Sizes and estimates by task",
    "How large the work is that handlers tell with ctx.set_size, and how long such runs usually take.",
    """\
filter event_type = "file_size_detected"
| stats count(*) as jobs,
    avg(file_size_mb) as avg_mb,
    max(file_size_mb) as max_mb,
    avg(estimated_processing_seconds) as avg_estimate_seconds
    by task
| sort jobs desc
""",
)

JOB_TIMELINE = SavedQuery(
    "job-timeline",
    "Everything about one job",
    "Each line that names the job: events, failures, and what its handler said. Put its id in place of JOB_ID.",
    """\
fields @timestamp, event_type, level, message
| filter job_id = "JOB_ID" or message_id = "JOB_ID"
| sort @timestamp asc
| limit 1000
""",
)

FAILED_ATTEMPTS = SavedQuery(
    "failed-attempts",
    "Attempts that failed, by task and reason",
    "A line of level error is a dead letter; the message of a warning comes back. Works without --log-events.",
    """\
filter logger = "tenure.worker" and ispresent(code) and level in ["warning", "error"]
| stats count(*) as failures, count_distinct(message_id) as messages, max(@timestamp) as newest by task, code, level
| sort failures desc
""",
)

FINDINGS = SavedQuery(
    "findings",
    "What Tenure found wrong",
    "Alerts and detectors that Tenure judges itself. Works without --log-events.",
    """\
fields @timestamp, change, severity, alert, subject, evidence
| filter logger = "tenure.alerting" and change in ["fired", "rose", "cleared"]
| sort @timestamp desc
| limit 100
""",
)

QUERIES: tuple[SavedQuery, ...] = (
    FAILED_HEARTBEATS, HEARTBEAT_STATISTICS, DUPLICATE_PROCESSING, UNFINISHED_JOBS, LEASE_RENEWALS, FILE_SIZES,
    JOB_TIMELINE, FAILED_ATTEMPTS, FINDINGS,
)  # fmt: skip


def logs_insights_files() -> list[RenderedFile]:
    """A file for each query."""
    return [RenderedFile(f"{query.id}.txt", f"{comment(query, '#')}\n{query.text}") for query in QUERIES]
