"""What alerts measure, as series and metric math of CloudWatch: one entry for each alert that its metrics can judge.

Metrics are those of the embedded metric format: named as in the catalogue, with its labels as dimensions. A counter's
points are what was added, so their sum over a period is the growth. An alarm reads exact series: what the catalogue
counts by queue and task is judged by queue and task.
"""

from collections.abc import Mapping

import msgspec

#: How points of one period become one value.
SUM, LARGEST, SMALLEST = "Sum", "Maximum", "Minimum"


class Series(msgspec.Struct, frozen=True):
    """One metric with fixed labels, besides those of what the alarm is about."""

    metric: str
    stat: str = SUM
    labels: Mapping[str, str] = {}


class Measure(msgspec.Struct, frozen=True):
    """How an alert is measured."""

    #: By their ids in the expressions.
    series: Mapping[str, Series]
    #: Metric math: what is compared with the threshold.
    value: str
    #: Metric math: of how many samples.
    samples: str = ""
    #: What an alarm is about: nothing, each `queue`, or each `queue` and `task`.
    labels: tuple[str, ...] = ()
    #: Without data it is bad.
    absence_is_bad: bool = False


def _messages(outcome: str) -> Series:
    return Series("tenure_messages_total", SUM, {"outcome": outcome})


def _settled(result: str) -> Series:
    return Series("tenure_settlements_total", SUM, {"result": result})


def _returned(cause: str, to: str) -> Series:
    return Series("tenure_leases_returned_total", SUM, {"cause": cause, "to": to})


def _delivered() -> dict[str, Series]:
    numbers = {"first": "1", "second": "2", "third": "3", "fourth": "4", "later": "5+"}
    return {id: Series("tenure_deliveries_total", SUM, {"delivery": number}) for id, number in numbers.items()}


def _posted(result: str) -> Series:
    return Series("tenure_webhook_deliveries_total", SUM, {"result": result})


def _added(*ids: str) -> str:
    """A sum in which a series without points is 0."""
    return " + ".join(f"FILL({id}, 0)" for id in ids)


_QUEUE, _TASK = ("queue",), ("queue", "task")
_OVERDUE, _OF_DEAD = ("overdue_ready", "overdue_dead"), ("crashed_ready", "crashed_dead")

#: By alert.
MEASURES: Mapping[str, Measure] = {
    "store_away": Measure({"up": Series("tenure_store_up", LARGEST)}, "1 - up"),
    "workers_absent": Measure(
        {"slots": Series("tenure_worker_slots", LARGEST)}, "IF(FILL(slots, 0) > 0, 0, 1)", absence_is_bad=True
    ),
    "workers_crashing": Measure({"crashed": Series("tenure_workers_crashed_total")}, "crashed"),
    "sweep_late": Measure(
        {
            "age": Series("tenure_sweep_age_seconds", SMALLEST),
            "interval": Series("tenure_sweep_interval_seconds", SMALLEST),
        },
        "age / interval",
    ),
    "heartbeats_failing": Measure({"failures": Series("tenure_heartbeat_failures_total")}, "failures"),
    "leases_lost": Measure({"lost": Series("tenure_leases_lost_total")}, "lost", labels=_TASK),
    "lease_use": Measure(
        {
            "use": Series("tenure_lease_use_ratio", LARGEST),
            "renewed": Series("tenure_lease_extensions_total"),
            "runs": Series("tenure_process_duration_seconds_count"),
        },
        "IF(FILL(renewed, 0) > 0, 0, use)",
        _added("runs"),
        labels=_TASK,
    ),
    "redelivered": Measure(
        {
            "overdue_ready": _returned("overdue", "ready"),
            "overdue_dead": _returned("overdue", "dead"),
            "crashed_ready": _returned("dead_worker", "ready"),
            "crashed_dead": _returned("dead_worker", "dead"),
            **_delivered(),
        },
        f"({_added(*_OVERDUE, *_OF_DEAD)}) / samples",
        _added(*_delivered()),
        labels=_QUEUE,
    ),
    "duplicates": Measure(
        {"duplicate": _messages("duplicate"), "completed": _messages("completed")},
        "FILL(duplicate, 0) / samples",
        _added("duplicate", "completed"),
        labels=_TASK,
    ),
    "work_done_twice": Measure({"late": _messages("late_settle")}, "late", labels=_TASK),
    "deletion_failures": Measure(
        {"unknown": _settled("unknown"), "deleted": _settled("deleted"), "gone": _settled("already_gone")},
        "FILL(unknown, 0) / samples",
        _added("unknown", "deleted", "gone"),
        labels=_QUEUE,
    ),
    "dead_letters": Measure({"dead": _messages("dead")}, "dead", labels=_TASK),
    "webhooks_failing": Measure(
        {"failed": _posted("failed"), "given_up": _posted("given_up"), "delivered": _posted("delivered")},
        f"({_added('failed', 'given_up')}) / samples",
        _added("failed", "given_up", "delivered"),
    ),
    "webhook_disabled": Measure(
        {"disabled": Series("tenure_events_total", SUM, {"kind": "webhook_disabled"})}, "disabled"
    ),
    "endings_untold": Measure({"oldest": Series("tenure_announcement_oldest_seconds", LARGEST)}, "oldest"),
    "journal_behind": Measure({"waiting": Series("tenure_journal_waiting_events", LARGEST)}, "waiting"),
    "clock_skew": Measure(
        {
            "ahead": Series("tenure_clock_skew_seconds", LARGEST),
            "behind": Series("tenure_clock_skew_seconds", SMALLEST),
        },
        "IF(ABS(ahead) > ABS(behind), ABS(ahead), ABS(behind))",
    ),
}
