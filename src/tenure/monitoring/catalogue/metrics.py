"""Every metric that Tenure exports.

Three groups. Of what a worker did: read from its one aggregate (`runtime/background/statistics`). Of the process:
gauges that are looked at when a scrape asks. Of the store and of HTTP: exported by the server alone, so that a store
is read once, however many workers there are.
"""

from tenure.monitoring.catalogue.spec import MetricKind, MetricSpec

_COUNTER, _GAUGE, _HISTOGRAM = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM
_QUEUE, _TASK = ("queue",), ("queue", "task")

#: Counted by a worker.
WORK: tuple[MetricSpec, ...] = (
    MetricSpec(
        "tenure_messages_total", _COUNTER, "Messages that left the worker.", "{message}", (*_TASK, "outcome"),
        otel="tenure.messages",
    ),
    MetricSpec(
        "tenure_process_duration_seconds", _HISTOGRAM, "How long handlers ran.", "s", _TASK,
        otel="tenure.process.duration",
    ),
    MetricSpec(
        "tenure_process_duration_percentile_seconds", _GAUGE,
        "How long handlers ran in the last five minutes, by percentile, each right within 4 %: for backends that keep"
        " no histograms.", "s", (*_TASK, "percentile"), otel="tenure.process.duration.percentile",
    ),
    MetricSpec(
        "tenure_wait_seconds", _HISTOGRAM,
        "From the send to the start of the first delivery, with any delay that was asked for.", "s", _TASK,
        otel="tenure.wait",
    ),
    MetricSpec(
        "tenure_lease_use_ratio", _GAUGE,
        "The 95th percentile of the duration over the lease that runs were given, in the last five minutes. Over 1,"
        " runs live by their heartbeats.", "1", _TASK, otel="tenure.lease.use",
    ),
    MetricSpec(
        "tenure_lease_seconds_total", _COUNTER, "The leases that runs were given, added up.", "s", _TASK,
        otel="tenure.lease.lent",
    ),
    MetricSpec(
        "tenure_lease_extensions_total", _COUNTER, "Leases that heartbeats renewed.", "{lease}", _TASK,
        otel="tenure.lease.extensions",
    ),
    MetricSpec(
        "tenure_leases_lost_total", _COUNTER, "Runs whose lease was lost.", "{lease}", _TASK, otel="tenure.lease.lost"
    ),
    MetricSpec(
        "tenure_heartbeat_failures_total", _COUNTER, "Leases that a heartbeat could not renew for now.", "{lease}",
        otel="tenure.heartbeat.failures",
    ),
    MetricSpec(
        "tenure_deliveries_total", _COUNTER, "Messages by the number of their delivery.", "{message}",
        (*_QUEUE, "delivery"), otel="messaging.client.consumed.messages",
    ),
    MetricSpec(
        "tenure_duplicates_suppressed_total", _COUNTER, "Messages that were not run because their work was done, or"
        " runs here.", "{message}", (*_TASK, "tier"), otel="tenure.duplicates.suppressed",
    ),
    MetricSpec(
        "tenure_settlements_total", _COUNTER, "Settles by how they ended. `already_gone` is no failure.",
        "{settlement}", (*_QUEUE, "result"), otel="tenure.settlements",
    ),
    MetricSpec(
        "tenure_message_bytes_total", _COUNTER, "Bytes of the messages that left the worker.", "By", _TASK,
        otel="tenure.message.bytes",
    ),
    MetricSpec(
        "tenure_batch_duration_seconds", _HISTOGRAM, "How long one call to the store took for a batch of messages.",
        "s", ("operation",), otel="tenure.batch.duration",
    ),
    MetricSpec(
        "tenure_leases_returned_total", _COUNTER, "Messages whose lease this process took back from another holder.",
        "{message}", (*_QUEUE, "cause", "to"), otel="tenure.lease.returned",
    ),
    MetricSpec(
        "tenure_workers_crashed_total", _COUNTER, "Workers that this process found dead, with proof, and that had not"
        " left by themselves.", "{worker}", otel="tenure.workers.crashed",
    ),
    MetricSpec(
        "tenure_events_total", _COUNTER, "Events that were published, and messages given back, by kind.", "{event}",
        ("kind",), otel="tenure.events",
    ),
    MetricSpec(
        "tenure_announcements_total", _COUNTER, "Endings that all that asked for them have been made aware of.",
        "{announcement}", otel="tenure.announcements",
    ),
    MetricSpec(
        "tenure_announcement_lanes_waiting", _GAUGE, "Receivers whose endings wait, because they rest or are disabled.",
        "{receiver}", otel="tenure.announcements.lanes.waiting",
    ),
    MetricSpec(
        "tenure_announcement_oldest_seconds", _GAUGE, "Seconds since the end of the oldest message that asked for a"
        " webhook and is not announced. 0: none waits.", "s", otel="tenure.announcements.oldest",
    ),
    MetricSpec(
        "tenure_webhook_deliveries_total", _COUNTER, "Attempts to deliver a webhook.", "{delivery}", ("result",),
        otel="tenure.webhook.deliveries",
    ),
    MetricSpec(
        "tenure_webhook_duration_seconds", _HISTOGRAM, "How long attempts to deliver a webhook took.", "s",
        otel="tenure.webhook.duration",
    ),
)  # fmt: skip

#: Looked at when a process is scraped.
PROCESS: tuple[MetricSpec, ...] = (
    MetricSpec("tenure_worker_info", _GAUGE, "1 a worker process.", "1", ("version",), otel="tenure.worker.info"),
    MetricSpec(
        "tenure_worker_slots", _GAUGE, "How many messages may be in work at once.", "{slot}",
        otel="tenure.worker.slots",
    ),
    MetricSpec(
        "tenure_worker_slots_used", _GAUGE, "Slots that are taken: by handlers, and by messages that wait for their"
        " task's limit.", "{slot}", otel="tenure.worker.slots.used",
    ),
    MetricSpec(
        "tenure_worker_limit_waiting_messages", _GAUGE, "Of them, messages that wait in the worker for their task's"
        " limit.", "{message}", otel="tenure.worker.limit.waiting",
    ),
    MetricSpec(
        "tenure_worker_responds", _GAUGE, "1: the worker's loop answered the scrape. 0: a handler blocks it, and its"
        " other figures are those of the last scrape.", "1", otel="tenure.worker.responds",
    ),
    MetricSpec(
        "tenure_process_deaths_total", _COUNTER, "Worker processes that died under `--processes`.", "{process}",
        otel="tenure.process.deaths",
    ),
    MetricSpec(
        "tenure_store_up", _GAUGE, "1: the store answers this process. 0: it does not.", "1", otel="tenure.store.up"
    ),
    MetricSpec(
        "tenure_clock_skew_seconds", _GAUGE, "This machine's wall clock minus the store's.", "s",
        otel="tenure.clock.skew",
    ),
    MetricSpec(
        "tenure_sweep_age_seconds", _GAUGE, "Seconds since this process last saw that leases are swept.", "s",
        otel="tenure.sweep.age",
    ),
    MetricSpec(
        "tenure_sweep_interval_seconds", _GAUGE, "How often leases are to be swept.", "s", otel="tenure.sweep.interval"
    ),
    MetricSpec(
        "tenure_journal_waiting_events", _GAUGE, "Events that are not in the journal yet.", "{event}",
        otel="tenure.journal.waiting",
    ),
    MetricSpec(
        "tenure_journal_dropped_events_total", _COUNTER, "Events that never reached the journal because it was away"
        " for too long.", "{event}", otel="tenure.journal.dropped",
    ),
    MetricSpec("process_cpu_seconds_total", _COUNTER, "CPU time of the process.", "s", otel="process.cpu.time"),
    MetricSpec(
        "process_resident_memory_bytes", _GAUGE, "Memory of the process.", "By", otel="process.memory.usage"
    ),
)  # fmt: skip

#: Of the store; by the server alone.
STORE: tuple[MetricSpec, ...] = (
    MetricSpec("tenure_queue_depth", _GAUGE, "Messages in a queue.", "{message}", (*_QUEUE, "state")),
    MetricSpec(
        "tenure_oldest_message_age_seconds", _GAUGE, "How long the oldest ready message of a queue has been ready.",
        "s", _QUEUE,
    ),
    MetricSpec(
        "tenure_queue_expected_wait_seconds", _GAUGE, "How long a ready message of the queue may wait, where a task"
        " says so (`expected_wait`).", "s", _QUEUE,
    ),
    MetricSpec("tenure_queue_paused", _GAUGE, "1: the queue is paused.", "1", _QUEUE),
    MetricSpec("tenure_queue_paused_seconds", _GAUGE, "For how long the queue has been paused.", "s", _QUEUE),
    MetricSpec(
        "tenure_queue_limit_waiting_messages", _GAUGE, "Messages of a queue that wait for its limit.", "{message}",
        _QUEUE,
    ),
    MetricSpec("tenure_queue_workers", _GAUGE, "Workers that serve a queue and are alive.", "{worker}", _QUEUE),
    MetricSpec("tenure_leases", _GAUGE, "Leases that are held.", "{lease}", ("state",)),
    MetricSpec("tenure_workers", _GAUGE, "Workers that are alive.", "{worker}"),
    MetricSpec(
        "tenure_store_read_seconds", _GAUGE, "How long the last reading of the store for these figures took.", "s"
    ),
    MetricSpec("tenure_server_info", _GAUGE, "1 for each server.", "1", ("version",)),
)  # fmt: skip

#: Of HTTP; by the server alone.
HTTP: tuple[MetricSpec, ...] = (
    MetricSpec(
        "tenure_http_requests_total", _COUNTER, "Requests that were answered.", "{request}",
        ("method", "route", "status"),
    ),
    MetricSpec(
        "tenure_http_request_duration_seconds", _HISTOGRAM, "How long requests took that are no stream and no long"
        " poll.", "s", ("route",),
    ),
    MetricSpec("tenure_http_requests_running", _GAUGE, "Requests that are worked on.", "{request}"),
    MetricSpec("tenure_http_streams_open", _GAUGE, "Streams that are open.", "{stream}"),
    MetricSpec("tenure_http_polls_waiting", _GAUGE, "Long polls that wait.", "{request}"),
    MetricSpec("tenure_http_refusals_total", _COUNTER, "Requests that were refused.", "{request}", ("code",)),
)  # fmt: skip

METRICS: tuple[MetricSpec, ...] = (*WORK, *PROCESS, *STORE, *HTTP)
