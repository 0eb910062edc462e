"""The dashboard for Grafana, made from the panels below: overview, leases, and one queue. Pure.

Every metric and label in it is one of the catalogue, which a test checks. The result is the file in
deploy/monitoring/grafana, for `Dashboards → Import`; it asks which Prometheus to read.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

_RATE = "$__rate_interval"
#: Panels stand in rows of 24 columns.
_COLUMNS, _HEIGHT = 24, 7
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
#: The tag by which the panel that Grafana offers for it is found.
_UID = "tenure-overview"


class Panel(msgspec.Struct, frozen=True):
    """One panel: a legend and an expression for each line of it."""

    title: str
    about: str
    lines: Sequence[tuple[str, str]]
    #: As Grafana calls it.
    unit: str = "short"
    width: int = 8
    #: One number instead of a course.
    is_number: bool = False
    #: From here on amber, from here on red.
    warns_at: float | None = None
    bad_at: float | None = None


def _rate(metric: str, by: str, selector: str = "") -> str:
    return f"sum by ({by}) (rate({metric}{{{selector}}}[{_RATE}]))"


def _quantile(q: float, metric: str, by: str, selector: str) -> str:
    return f"histogram_quantile({q}, sum by ({by}) (rate({metric}_bucket{{{selector}}}[{_RATE}])))"


_Q = 'queue=~"$queue"'
_OUT = 'outcome=~"completed|dead|duplicate"'

_FAILED = _rate("tenure_messages_total", "queue", 'outcome=~"retried|dead"')
_ENDED = _rate("tenure_messages_total", "queue", 'outcome=~"completed|retried|dead"')

OVERVIEW: tuple[Panel, ...] = (
    Panel("Store", "1: it answers every process.", [("", "min(tenure_store_up)")], width=3, is_number=True),
    Panel("Workers", "Alive, as the store sees them.", [("", "max(tenure_workers)")], width=3, is_number=True),
    Panel("Waiting", "Ready to be leased.", [("", 'sum(max by (queue) (tenure_queue_depth{state="ready"}))')],
          width=4, is_number=True),
    Panel("Oldest", "How long the oldest ready message has been ready.",
          [("", "max(tenure_oldest_message_age_seconds)")], "s", width=4, is_number=True, warns_at=300, bad_at=900),
    Panel("Dead letters", "In all queues.", [("", 'sum(max by (queue) (tenure_queue_depth{state="dead"}))')],
          width=4, is_number=True, warns_at=1),
    Panel("Last sweep", "A sweep is late after two intervals.", [("", "min(tenure_sweep_age_seconds)")], "s",
          width=3, is_number=True, warns_at=10, bad_at=60),
    Panel("Clock skew", "The largest, of any process.", [("", "max(abs(tenure_clock_skew_seconds))")], "s", width=3,
          is_number=True, warns_at=1, bad_at=5),
    Panel("Messages a second, by outcome", "What left the workers.",
          [("{{outcome}}", _rate("tenure_messages_total", "outcome"))], "ops", width=12),
    Panel("Messages by queue and second", "Completed, dead and duplicates.",
          [("{{queue}}", _rate("tenure_messages_total", "queue", _OUT))], "ops", width=12),
    Panel("Waiting by queue", "Ready to be leased.",
          [("{{queue}}", 'max by (queue) (tenure_queue_depth{state="ready"})')]),
    Panel("Oldest by queue", "A paused queue grows old too.",
          [("{{queue}}", "max by (queue) (tenure_oldest_message_age_seconds)")], "s"),
    Panel("Errors", "Of the runs that a handler ended, the part that failed.",
          [("{{queue}}", f"{_FAILED} / {_ENDED}")],
          "percentunit"),
    Panel("Slots", "Taken, and those that there are.",
          [("used", "sum(tenure_worker_slots_used)"), ("slots", "sum(tenure_worker_slots)"),
           ("wait for a limit", "sum(tenure_worker_limit_waiting_messages)")]),
    Panel("Calls to the store", "99 of 100 calls for a batch were shorter.",
          [("{{operation}}", _quantile(0.99, "tenure_batch_duration_seconds", "operation, le", ""))], "s"),
    Panel("CPU", "Cores that workers and servers use.", [("cores", f"sum(rate(process_cpu_seconds_total[{_RATE}]))")],
          width=4),
    Panel("Memory", "Of workers and servers.", [("memory", "sum(process_resident_memory_bytes)")], "bytes", width=4),
    Panel("Webhooks", "Attempts to deliver, by what came of them.",
          [("{{result}}", _rate("tenure_webhook_deliveries_total", "result"))], "ops"),
    Panel("HTTP", "Requests of the server, by status.",
          [("{{status}}", _rate("tenure_http_requests_total", "status"))], "reqps"),
    Panel("HTTP p95", "95 of 100 requests were shorter. Streams and long polls are not in it.",
          [("{{route}}", _quantile(0.95, "tenure_http_request_duration_seconds", "route, le", ""))], "s"),
)  # fmt: skip

LEASES: tuple[Panel, ...] = (
    Panel("Leases", "Held, and those whose deadline has passed.",
          [("{{state}}", "max by (state) (tenure_leases)")]),
    Panel("Use of the lease", "p95 of the duration over the lease. Over 1, runs live by their heartbeats.",
          [("{{task}}", "max by (task) (tenure_lease_use_ratio)")], "percentunit", warns_at=0.8, bad_at=0.9),
    Panel("Renewed", "Leases that heartbeats renewed, and those that they could not renew for now.",
          [("renewed", f"sum(rate(tenure_lease_extensions_total[{_RATE}]))"),
           ("failed", f"sum(rate(tenure_heartbeat_failures_total[{_RATE}]))")], "ops"),
    Panel("Lost", "Runs whose lease was lost.",
          [("{{queue}}", "sum by (queue) (increase(tenure_leases_lost_total[5m]))")]),
    Panel("Taken back", "Leases that were taken back from workers, and why.",
          [("{{cause}} → {{to}}", "sum by (cause, to) (increase(tenure_leases_returned_total[5m]))")]),
    Panel("Workers that died", "Found dead with proof, and processes of `--processes`.",
          [("workers", "sum(increase(tenure_workers_crashed_total[5m]))"),
           ("processes", "sum(increase(tenure_process_deaths_total[5m]))")]),
    Panel("Deliveries", "By the number of the delivery. From the second on, it was delivered before.",
          [("{{delivery}}", _rate("tenure_deliveries_total", "delivery"))], "ops"),
    Panel("Duplicates", "Suppressed, by what showed that they were some.",
          [("{{tier}}", "sum by (tier) (increase(tenure_duplicates_suppressed_total[5m]))")]),
    Panel("Settles", "How they ended. already_gone is no failure; unknown is one.",
          [("{{result}}", _rate("tenure_settlements_total", "result"))], "ops"),
)  # fmt: skip

QUEUE: tuple[Panel, ...] = (
    Panel("In the queue", "By state.",
          [("{{state}}", f"sum by (state) (max by (queue, state) (tenure_queue_depth{{{_Q}}}))")]),
    Panel("Out a second", "By task and outcome.",
          [("{{task}} {{outcome}}", _rate("tenure_messages_total", "task, outcome", _Q))], "ops"),
    Panel("Duration", "Of runs, right within 4 %, over five minutes.",
          [("{{task}} p{{percentile}}",
            f"max by (task, percentile) (tenure_process_duration_percentile_seconds{{{_Q}}})")], "s"),
    Panel("Wait", "From the send to the start, with delays that were asked for.",
          [(f"p{round(q * 100)}", _quantile(q, "tenure_wait_seconds", "le", _Q)) for q in (0.5, 0.95, 0.99)], "s"),
    Panel("Oldest", "How long the oldest ready message has been ready.",
          [("{{queue}}", f"max by (queue) (tenure_oldest_message_age_seconds{{{_Q}}})")], "s"),
    Panel("Held back", "Messages that wait for the queue's limit; 1 where it is paused.",
          [("wait for the limit", f"sum(max by (queue) (tenure_queue_limit_waiting_messages{{{_Q}}}))"),
           ("paused", f"max(tenure_queue_paused{{{_Q}}})")]),
    Panel("Workers", "That serve it and are alive.",
          [("{{queue}}", f"max by (queue) (tenure_queue_workers{{{_Q}}})")]),
    Panel("Use of the lease", "p95 of the duration over the lease.",
          [("{{task}}", f"max by (task) (tenure_lease_use_ratio{{{_Q}}})")], "percentunit", warns_at=0.8, bad_at=0.9),
    Panel("Bytes", "Of messages that left it.",
          [("{{task}}", _rate("tenure_message_bytes_total", "task", _Q))], "Bps"),
)  # fmt: skip

#: The rows of the dashboard.
ROWS: Mapping[str, Sequence[Panel]] = {"Overview": OVERVIEW, "Leases": LEASES, "One queue: $queue": QUEUE}


def dashboard() -> str:
    """The file, as JSON."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in ROWS.items():
        panels.append(
            _place({"type": "row", "title": title, "collapsed": False, "panels": []}, panels, 0, y, _COLUMNS, 1)
        )
        y += 1
        x = 0
        for panel in row:
            if x + panel.width > _COLUMNS:
                x, y = 0, y + _HEIGHT
            panels.append(_place(_made(panel), panels, x, y, panel.width, _HEIGHT))
            x += panel.width
        y += _HEIGHT
    made = {
        "uid": _UID,
        "title": "Tenure",
        "tags": ["tenure"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_source_choice(), _queue_choice()]},
        "panels": panels,
    }
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _place(panel: dict[str, Any], others: Sequence[object], x: int, y: int, width: int, height: int) -> dict[str, Any]:
    return {"id": len(others) + 1, **panel, "gridPos": {"x": x, "y": y, "w": width, "h": height}}


def _made(panel: Panel) -> dict[str, Any]:
    return {
        "type": "stat" if panel.is_number else "timeseries",
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "thresholds": _thresholds(panel)}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
            for place, (legend, expression) in enumerate(panel.lines)
        ],
    }


def _thresholds(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    steps += [] if panel.warns_at is None else [{"color": "orange", "value": panel.warns_at}]
    steps += [] if panel.bad_at is None else [{"color": "red", "value": panel.bad_at}]
    return {"mode": "absolute", "steps": steps}


def _source_choice() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _queue_choice() -> dict[str, Any]:
    return {
        "name": "queue",
        "label": "Queue",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": "label_values(tenure_queue_depth, queue)", "refId": "queue"},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }
