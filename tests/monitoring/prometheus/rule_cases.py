"""For each alert: series that make it fire, and that let it clear again, as promtool takes them.

Every case begins with twenty minutes of a healthy deployment: two workers and a server, one queue. What a case names
replaces the healthy series of the same name and labels. Samples come once a minute.
"""

from collections.abc import Mapping, Sequence

import msgspec

_W1, _W2, _S = 'instance="w1"', 'instance="w2"', 'instance="server"'
Q = 'queue="mail"'
T = f'{Q},task="send"'

#: 60 messages a minute by each worker; nothing fails, nothing waits long.
HEALTHY: Mapping[str, str] = {
    **{f"tenure_store_up{{{one}}}": "1x120" for one in (_W1, _W2, _S)},
    **{f"tenure_clock_skew_seconds{{{one}}}": "0.1x120" for one in (_W1, _W2)},
    **{f"tenure_journal_waiting_events{{{one}}}": "3x120" for one in (_W1, _W2)},
    **{f"tenure_sweep_age_seconds{{{one}}}": "3x120" for one in (_W1, _W2, _S)},
    **{f"tenure_sweep_interval_seconds{{{one}}}": "5x120" for one in (_W1, _W2, _S)},
    **{f"tenure_announcement_oldest_seconds{{{one}}}": "0x120" for one in (_W1, _W2, _S)},
    **{f'tenure_worker_info{{{one},version="1"}}': "1x120" for one in (_W1, _W2)},
    **{f'tenure_messages_total{{{one},{T},outcome="completed"}}': "0+60x120" for one in (_W1, _W2)},
    **{f'tenure_deliveries_total{{{one},{Q},delivery="1"}}': "0+60x120" for one in (_W1, _W2)},
    **{f'tenure_settlements_total{{{one},{Q},result="deleted"}}': "0+60x120" for one in (_W1, _W2)},
    **{f"tenure_process_duration_seconds_count{{{one},{T}}}": "0+60x120" for one in (_W1, _W2)},
    **{f"tenure_lease_use_ratio{{{one},{T}}}": "0.1x120" for one in (_W1, _W2)},
    f'tenure_queue_depth{{{_S},{Q},state="ready"}}': "5x120",
    f"tenure_oldest_message_age_seconds{{{_S},{Q}}}": "2x120",
    f"tenure_queue_paused{{{_S},{Q}}}": "0x120",
    f"tenure_queue_workers{{{_S},{Q}}}": "2x120",
    f"tenure_queue_limit_waiting_messages{{{_S},{Q}}}": "0x120",
    f"tenure_workers{{{_S}}}": "2x120",
    f"tenure_store_read_seconds{{{_S}}}": "0.02x120",
}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One fault."""

    alert: str
    #: Levels that fire at `fires_at`, in minutes.
    levels: Sequence[str]
    fires_at: int
    clears_at: int
    series: Mapping[str, str]
    #: Series of the healthy time that are not there.
    without: str = ""
    #: Another one that must fire with it.
    also: Mapping[str, Sequence[str]] = {}


def _counter(name: str, labels: str, rate: str, minutes: int = 20) -> dict[str, str]:
    """A counter that stands still for twenty minutes, rises by `rate` a minute, and stands still again."""
    return {f"{name}{{{_W1},{labels}}}": f"0x20 0+{rate}x{minutes} {int(float(rate) * minutes)}x100"}


def _gauge(key: str, usual: str, bad: str, minutes: int = 20) -> dict[str, str]:
    return {key: f"{usual}x20 {bad}x{minutes} {usual}x100"}


CASES = (
    Case(
        alert="duplicates", levels=("show", "ticket", "page"), fires_at=35, clears_at=70,
        series=_counter("tenure_messages_total", f'{T},outcome="duplicate"', "20"),
    ),
    Case(
        alert="duplicates", levels=("show", "ticket"), fires_at=35, clears_at=70,
        series=_counter("tenure_messages_total", f'{T},outcome="duplicate"', "2"),
    ),
    Case(
        alert="work_done_twice", levels=("ticket",), fires_at=25, clears_at=70,
        series={f'tenure_messages_total{{{_W1},{T},outcome="late_settle"}}': "_x20 1x100"},
    ),
    Case(
        alert="deletion_failures", levels=("ticket", "page"), fires_at=35, clears_at=70,
        series=_counter("tenure_settlements_total", f'{Q},result="unknown"', "10"),
    ),
    Case(
        alert="lease_use", levels=("ticket", "page"), fires_at=35, clears_at=70,
        series=_gauge(f"tenure_lease_use_ratio{{{_W1},{T}}}", "0.1", "0.95"),
    ),
    Case(
        alert="redelivered", levels=("ticket",), fires_at=38, clears_at=70,
        series=_counter("tenure_leases_returned_total", f'{Q},cause="overdue",to="ready"', "6"),
    ),
    Case(
        alert="leases_lost", levels=("ticket", "page"), fires_at=35, clears_at=70,
        series=_counter("tenure_leases_lost_total", T, "2"),
    ),
    Case(
        alert="dead_letters", levels=("show", "ticket"), fires_at=35, clears_at=70,
        series=_counter("tenure_messages_total", f'{T},outcome="dead"', "3"),
    ),
    Case(
        alert="oldest_age", levels=("ticket", "page"), fires_at=35, clears_at=50,
        series=_gauge(f"tenure_oldest_message_age_seconds{{{_S},{Q}}}", "2", "1200"),
    ),
    Case(
        alert="limit_starves", levels=("ticket",), fires_at=38, clears_at=50,
        series={
            **_gauge(f"tenure_oldest_message_age_seconds{{{_S},{Q}}}", "2", "1200"),
            **_gauge(f"tenure_queue_limit_waiting_messages{{{_S},{Q}}}", "0", "40"),
        },
    ),
    Case(
        alert="workers_absent", levels=("page",), fires_at=30, clears_at=55,
        series={
            f'tenure_worker_info{{{_W1},version="1"}}': "1x20 _x20 1x100",
            f'tenure_worker_info{{{_W2},version="1"}}': "1x20 _x20 1x100",
            **_gauge(f"tenure_workers{{{_S}}}", "2", "0"),
            **_gauge(f"tenure_queue_workers{{{_S},{Q}}}", "2", "0"),
            **_gauge(f"tenure_oldest_message_age_seconds{{{_S},{Q}}}", "2", "1200"),
        },
    ),
    Case(
        alert="queue_unserved", levels=("ticket",), fires_at=30, clears_at=50,
        series=_gauge(f"tenure_queue_workers{{{_S},{Q}}}", "2", "0"),
    ),
    Case(
        alert="sweep_late", levels=("ticket", "page"), fires_at=30, clears_at=50,
        series={
            key: value
            for one in (_W1, _W2, _S)
            for key, value in _gauge(f"tenure_sweep_age_seconds{{{one}}}", "3", "200").items()
        },
    ),
    Case(
        alert="heartbeats_failing", levels=("ticket",), fires_at=30, clears_at=70,
        series={f"tenure_heartbeat_failures_total{{{_W1}}}": "0x20 0+2x20 40x100"},
    ),
    Case(
        alert="workers_crashing", levels=("ticket", "page"), fires_at=35, clears_at=70,
        series={f"tenure_workers_crashed_total{{{_S}}}": "_x20 1+1x20 20x100"},
    ),
    Case(
        alert="webhooks_failing", levels=("show",), fires_at=45, clears_at=90,
        series={
            f'tenure_webhook_deliveries_total{{{_W1},result="failed"}}': "0x20 0+6x30 180x100",
            f'tenure_webhook_deliveries_total{{{_W1},result="delivered"}}': "0x50 0+6x100",
        },
    ),
    Case(
        alert="webhook_disabled", levels=("ticket",), fires_at=30, clears_at=90,
        series={f'tenure_events_total{{{_W1},kind="webhook_disabled"}}': "_x20 1x100"},
    ),
    Case(
        alert="endings_untold", levels=("ticket",), fires_at=30, clears_at=50,
        series=_gauge(f"tenure_announcement_oldest_seconds{{{_S}}}", "0", "4000"),
    ),
    Case(
        alert="store_slow", levels=("ticket", "page"), fires_at=30, clears_at=50,
        series=_gauge(f"tenure_store_read_seconds{{{_S}}}", "0.02", "8"),
    ),
    Case(
        alert="store_away", levels=("page",), fires_at=30, clears_at=50,
        series={
            key: value
            for one in (_W1, _W2, _S)
            for key, value in {
                **_gauge(f"tenure_store_up{{{one}}}", "1", "0"),
                **_gauge(f"tenure_sweep_age_seconds{{{one}}}", "3", "900"),
            }.items()
        },
    ),
    Case(
        alert="clock_skew", levels=("show", "ticket"), fires_at=35, clears_at=50,
        series=_gauge(f"tenure_clock_skew_seconds{{{_W1}}}", "0.1", "-45"),
    ),
    Case(
        alert="journal_behind", levels=("ticket", "page"), fires_at=35, clears_at=50,
        series=_gauge(f"tenure_journal_waiting_events{{{_W1}}}", "3", "15000"),
    ),
    Case(
        alert="queue_paused", levels=("ticket",), fires_at=35, clears_at=50,
        series={
            **_gauge(f"tenure_queue_paused_seconds{{{_S},{Q}}}", "0", "90000"),
            **_gauge(f"tenure_queue_paused{{{_S},{Q}}}", "0", "1"),
            **_gauge(f"tenure_oldest_message_age_seconds{{{_S},{Q}}}", "2", "90000"),
        },
    ),
)  # fmt: skip

#: A wait that its task expects is no alert.
EXPECTED = Case(
    alert="", levels=(), fires_at=35, clears_at=50,
    series={
        **_gauge(f"tenure_oldest_message_age_seconds{{{_S},{Q}}}", "2", "1200"),
        f"tenure_queue_expected_wait_seconds{{{_S},{Q}}}": "1800x120",
    },
)  # fmt: skip
#: Paused for three hours: that is no alert, whatever waits there.
PAUSED = Case(
    alert="", levels=(), fires_at=35, clears_at=50,
    series={
        **_gauge(f"tenure_queue_paused_seconds{{{_S},{Q}}}", "0", "10800"),
        **_gauge(f"tenure_queue_paused{{{_S},{Q}}}", "0", "1"),
        **_gauge(f"tenure_oldest_message_age_seconds{{{_S},{Q}}}", "2", "10800"),
    },
)  # fmt: skip
#: A fault within two minutes of the first sample, and one within two minutes of an outage's end.
JUST_STARTED = Case(
    alert="", levels=(), fires_at=1, clears_at=1,
    series={f'tenure_messages_total{{{_W1},{T},outcome="dead"}}': "0+500x1 500x100"},
)  # fmt: skip
