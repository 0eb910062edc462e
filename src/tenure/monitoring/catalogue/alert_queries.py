"""What alerts measure, in PromQL: a value for each alert, and for some the number of samples behind it.

`$window` is the alert's `window_seconds`. Several processes export the same figure of a store, so those are joined by
`max`; what processes count themselves is added up.
"""

from collections.abc import Mapping


def _grown(selector: str) -> str:
    """How much a counter grew in the window. A series that is new in it counts from zero."""
    return f"(({selector} unless {selector} offset $window) or increase({selector}[$window]))"


def _by_queue(expression: str) -> str:
    return f"sum by (queue) ({expression})"


def _outcome(words: str) -> str:
    return f'tenure_messages_total{{outcome=~"{words}"}}'


def _settled(words: str) -> str:
    return f'tenure_settlements_total{{result=~"{words}"}}'


def _posted(words: str) -> str:
    return f'tenure_webhook_deliveries_total{{result=~"{words}"}}'


_PAUSED = "(max by (queue) (tenure_queue_paused) > 0)"
_LIMITED = "(max by (queue) (tenure_queue_limit_waiting_messages) > 0)"
_READY = 'max by (queue) (tenure_queue_depth{state="ready"})'
_SOME_WORKER = "(max(tenure_workers) > 0)"
_UNSERVED = "(max by (queue) (tenure_queue_workers) == 0)"
_OLDEST = "max by (queue) (tenure_oldest_message_age_seconds)"
_USUAL_WAIT = "histogram_quantile(0.99, sum by (queue, le) (rate(tenure_wait_seconds_bucket[1d])))"
_SAID = "max by (queue) (tenure_queue_expected_wait_seconds)"
_EXPECTED_WAIT = f"({_SAID} or clamp_min(10 * ({_USUAL_WAIT} > 0), 300) or {_OLDEST} * 0 + 300)"
_AGE = f"({_OLDEST} / on (queue) {_EXPECTED_WAIT}) unless on (queue) {_PAUSED}"
_PUT_ASIDE = 'tenure_leases_returned_total{to="dead"}'
_DISABLED = 'tenure_events_total{kind="webhook_disabled"}'
_RETURNED = 'tenure_leases_returned_total{cause!="operator"}'
_DELIVERED = _by_queue(_grown("tenure_deliveries_total"))
_FINISHED = _by_queue(_grown(_outcome("completed|duplicate")))
_DELETES = _by_queue(_grown(_settled("deleted|already_gone|unknown")))
_BY_TASK = "sum by (queue, task)"

#: By alert.
VALUES: Mapping[str, str] = {
    "watchdog": "vector(1)",
    "store_away": "1 - max(tenure_store_up)",
    "store_slow": "max(tenure_store_read_seconds)",
    "workers_absent": "absent(tenure_worker_info) unless on () (max(tenure_workers) > 0)",
    "workers_crashing": f"sum({_grown('tenure_workers_crashed_total')})",
    "queue_unserved": f"({_READY} unless on (queue) {_PAUSED}) and on (queue) {_UNSERVED} and on () {_SOME_WORKER}",
    "queue_paused": "max by (queue) (tenure_queue_paused_seconds)",
    "oldest_age": f"({_AGE}) unless on (queue) {_LIMITED}",
    "limit_starves": f"({_AGE}) and on (queue) {_LIMITED}",
    "sweep_late": "min(tenure_sweep_age_seconds) / min(tenure_sweep_interval_seconds)",
    "heartbeats_failing": f"sum({_grown('tenure_heartbeat_failures_total')})",
    "leases_lost": _by_queue(_grown("tenure_leases_lost_total")),
    "lease_use": (
        "max by (queue, task) (tenure_lease_use_ratio) unless on (queue, task)"
        f" ({_BY_TASK} ({_grown('tenure_lease_extensions_total')}) > 0)"
    ),
    "redelivered": f"sum by (queue, cause) ({_grown(_RETURNED)}) / on (queue) group_left () {_DELIVERED}",
    "duplicates": f"{_by_queue(_grown(_outcome('duplicate')))} / {_FINISHED}",
    "work_done_twice": _by_queue(_grown(_outcome("late_settle"))),
    "deletion_failures": f"{_by_queue(_grown(_settled('unknown')))} / {_DELETES}",
    "dead_letters": _by_queue(f"{_grown(_outcome('dead'))} or {_grown(_PUT_ASIDE)}"),
    "webhooks_failing": (
        f"sum({_grown(_posted('failed|given_up'))}) / sum({_grown(_posted('delivered|failed|given_up'))})"
    ),
    "webhook_disabled": f"sum({_grown(_DISABLED)})",
    "endings_untold": "max(tenure_announcement_oldest_seconds)",
    "clock_skew": "max by (instance) (abs(tenure_clock_skew_seconds))",
    "journal_behind": "max by (instance) (tenure_journal_waiting_events)",
}

#: By alert, of those that need a number of samples.
SAMPLES: Mapping[str, str] = {
    "lease_use": f"{_BY_TASK} ({_grown('tenure_process_duration_seconds_count')})",
    "redelivered": _DELIVERED,
    "duplicates": _FINISHED,
    "deletion_failures": _DELETES,
}
