"""Every alert, with its thresholds: what it measures, from where on it fires, and where it clears.

Each is judged twice, from one entry: by Prometheus, whose rules (`monitoring/prometheus_rules.py`) are rendered from
it and from `alert_queries.py`, and by Tenure itself, whose reader of the same name stands in
`monitoring/alerting/signals`. Detectors, which only Tenure judges, stand in `monitoring/detectors`.

Thresholds are changed by the setting `TENURE_ALERTS` (`monitoring/alerting/thresholds.py`).
"""

import msgspec

from tenure.monitoring.catalogue.alert_queries import SAMPLES, VALUES
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec

_SHOW, _TICKET, _PAGE = AlertSeverity.SHOW, AlertSeverity.TICKET, AlertSeverity.PAGE
_TEN_MINUTES, _QUARTER, _AN_HOUR = 600.0, 900.0, 3_600.0
#: While the store is away or slow, other figures say nothing.
_EVERYTHING_ELSE = ("*",)

_DUPLICATES = AlertSpec(
    id="duplicates",
    title="Finished messages come again",
    about="Messages that were done already came again. They were recognised and deleted, so nothing was done twice.",
    measures="suppressed duplicates, as a part of the completed messages and duplicates of a queue",
    levels=(
        AlertLevel(_SHOW, fire=0.0, clear=0.0),
        AlertLevel(_TICKET, fire=0.005, clear=0.0025, min_samples=200),
        AlertLevel(_PAGE, fire=0.05, clear=0.025, min_samples=200),
    ),
    unit="1",
    labels=("queue",),
    window_seconds=_TEN_MINUTES,
    remedy="Look at the verdict on each duplicate, then lengthen the lease, repair the deletes or give sends an id",
    runbook="duplicates",
)

_WORK_DONE_TWICE = AlertSpec(
    id="work_done_twice",
    title="Work may have been done twice",
    about="A handler ran to its end although its lease was over. Another worker may have run the message meanwhile.",
    measures="runs that ended after their lease was gone",
    levels=(AlertLevel(_TICKET, fire=0.0, clear=0.0),),
    unit="{run}",
    labels=("queue",),
    window_seconds=_QUARTER,
    remedy="Find out what froze the worker, and make the effect single with ctx.once",
    runbook="work_done_twice",
)

_DELETION_FAILURES = AlertSpec(
    id="deletion_failures",
    title="Deletes of finished messages fail",
    about="A finished message whose delete fails comes again. A message that was already gone is no failure.",
    measures="deletes with an unknown or refused end, as a part of all deletes of a queue",
    levels=(
        AlertLevel(_TICKET, fire=0.01, clear=0.005, for_seconds=60.0, min_samples=100),
        AlertLevel(_PAGE, fire=0.02, clear=0.01, for_seconds=60.0, min_samples=100),
    ),
    unit="1",
    labels=("queue",),
    window_seconds=_TEN_MINUTES,
    remedy="Check the rights of the worker and the connection to the broker",
    runbook="deletion_failures",
)

_LEASE_USE = AlertSpec(
    id="lease_use",
    title="Runs use up their lease",
    about="Runs whose lease is not renewed take nearly as long as it. One that takes longer is run again by another.",
    measures="p95 of the run times over the lease, of a task whose leases are not renewed",
    levels=(
        AlertLevel(_TICKET, fire=0.8, clear=0.7, for_seconds=300.0, min_samples=20),
        AlertLevel(_PAGE, fire=0.9, clear=0.8, for_seconds=300.0, min_samples=20),
    ),
    unit="1",
    labels=("queue", "task"),
    window_seconds=_TEN_MINUTES,
    remedy="Switch the heartbeat on, or lengthen the lease by half",
    runbook="lease_use",
)

_REDELIVERED = AlertSpec(
    id="redelivered",
    title="Messages are delivered again",
    about="Messages came back because their lease had ended or their worker had died, not because a handler failed.",
    measures="messages that a sweep or a retirement returned, as a part of the deliveries of a queue",
    levels=(
        AlertLevel(_TICKET, fire=0.02, clear=0.01, for_seconds=300.0, min_samples=100),
        AlertLevel(_PAGE, fire=0.1, clear=0.05, for_seconds=300.0, min_samples=100),
    ),
    unit="1",
    labels=("queue",),
    window_seconds=_TEN_MINUTES,
    remedy="Look whether workers die, freeze, or are killed before they have finished",
    runbook="redelivered",
)

_LEASES_LOST = AlertSpec(
    id="leases_lost",
    title="Leases are lost",
    about="A worker lost the lease of a message that it was running: it was silent for longer than the lease.",
    measures="leases that were lost while the handler ran",
    levels=(
        AlertLevel(_TICKET, fire=0.0, clear=0.0),
        AlertLevel(_PAGE, fire=10.0, clear=5.0),
    ),
    unit="{lease}",
    labels=("queue",),
    window_seconds=_QUARTER,
    remedy="Look at the worker that lost it: a blocked process, a suspended machine or a slow store",
    runbook="leases_lost",
)

_DEAD_LETTERS = AlertSpec(
    id="dead_letters",
    title="Dead letters grow",
    about="Messages used up their attempts, were rejected, or were put aside.",
    measures="messages that became dead letters",
    levels=(
        AlertLevel(_SHOW, fire=0.0, clear=0.0),
        AlertLevel(_TICKET, fire=10.0, clear=5.0),
        AlertLevel(_PAGE, fire=100.0, clear=50.0),
    ),
    unit="{message}",
    labels=("queue",),
    window_seconds=_QUARTER,
    remedy="Look at the groups of dead letters, repair the cause, then redrive them",
    runbook="dead_letters",
)

_OLDEST_AGE = AlertSpec(
    id="oldest_age",
    title="Messages wait too long",
    about=(
        "The oldest ready message waits longer than it should: its task's expected_wait, else ten times the usual "
        "p99 of the queue, and 5 minutes at least. A paused queue does not count."
    ),
    measures="age of the oldest ready message over the expected wait",
    levels=(
        AlertLevel(_TICKET, fire=1.0, clear=0.8, for_seconds=120.0),
        AlertLevel(_PAGE, fire=3.0, clear=2.0, for_seconds=120.0),
    ),
    unit="1",
    labels=("queue",),
    remedy="Start more workers, or find out what slows those that there are",
    runbook="oldest_age",
)

_WORKERS_ABSENT = AlertSpec(
    id="workers_absent",
    title="No worker is alive",
    about="Messages wait, and no worker is there to run them.",
    measures="messages that wait while no worker is alive",
    levels=(AlertLevel(_PAGE, fire=0.0, clear=0.0, for_seconds=120.0),),
    unit="{message}",
    inhibits=("oldest_age", "queue_unserved", "sweep_late"),
    remedy="Start a worker",
    runbook="workers_absent",
)

_QUEUE_UNSERVED = AlertSpec(
    id="queue_unserved",
    title="No worker serves a queue",
    about="Messages wait in a queue that none of the live workers serves.",
    measures="messages that wait in a queue without a worker",
    levels=(AlertLevel(_TICKET, fire=0.0, clear=0.0, for_seconds=300.0),),
    unit="{message}",
    labels=("queue",),
    inhibits=("oldest_age",),
    remedy="Start a worker for the queue, or delete what is left in it",
    runbook="queue_unserved",
)

_SWEEP_LATE = AlertSpec(
    id="sweep_late",
    title="No sweep runs",
    about="Overdue leases are not returned: the messages of a worker that is gone stay where they are.",
    measures="time since the last sweep, in intervals",
    levels=(
        AlertLevel(_TICKET, fire=6.0, clear=3.0),
        AlertLevel(_PAGE, fire=24.0, clear=3.0),
    ),
    unit="{interval}",
    remedy="Start a worker or a server: each of them sweeps",
    runbook="sweep_late",
)

_HEARTBEATS_FAILING = AlertSpec(
    id="heartbeats_failing",
    title="Leases cannot be renewed",
    about="Heartbeats of workers failed. A lease that is not renewed in time is lost, and its message runs again.",
    measures="leases whose renewal failed",
    levels=(
        AlertLevel(_TICKET, fire=2.0, clear=0.0),
        AlertLevel(_PAGE, fire=50.0, clear=10.0),
    ),
    unit="{lease}",
    window_seconds=_TEN_MINUTES,
    remedy="Look at the connection between the workers and the store",
    runbook="heartbeats_failing",
)

_WORKERS_CRASHING = AlertSpec(
    id="workers_crashing",
    title="Workers die",
    about="Workers ended without saying so: killed, out of memory, or crashed by a message.",
    measures="workers that died",
    levels=(
        AlertLevel(_TICKET, fire=0.0, clear=0.0),
        AlertLevel(_PAGE, fire=3.0, clear=1.0),
    ),
    unit="{worker}",
    window_seconds=_QUARTER,
    remedy="Look at the memory and the exit codes of the workers",
    runbook="workers_crashing",
)

_LIMIT_STARVES = AlertSpec(
    id="limit_starves",
    title="A limit starves a queue",
    about="The messages of a queue wait for its limit, for longer than they should wait.",
    measures="age of the oldest ready message of a limited queue over the expected wait",
    levels=(AlertLevel(_TICKET, fire=3.0, clear=1.0, for_seconds=600.0),),
    unit="1",
    labels=("queue",),
    inhibits=("oldest_age",),
    remedy="Raise the limit, or send less",
    runbook="limit_starves",
)

_WEBHOOKS_FAILING = AlertSpec(
    id="webhooks_failing",
    title="A webhook endpoint fails",
    about="A receiver of webhooks takes nothing. After five days it is disabled.",
    measures="attempts that failed, as a part of all; Tenure itself judges each endpoint: 1 from its first failure on",
    levels=(
        AlertLevel(_SHOW, fire=0.5, clear=0.25, for_seconds=600.0),
        AlertLevel(_TICKET, fire=0.5, clear=0.25, for_seconds=3_600.0),
    ),
    unit="1",
    labels=("endpoint",),
    window_seconds=_QUARTER,
    remedy="Repair the receiver; what it missed is delivered then",
    runbook="webhooks_failing",
)

_WEBHOOK_DISABLED = AlertSpec(
    id="webhook_disabled",
    title="A webhook endpoint was disabled",
    about="A receiver was gone or failed for five days. Its endings wait until it is enabled.",
    measures="1 while it is disabled",
    levels=(AlertLevel(_TICKET, fire=0.0, clear=0.0),),
    unit="1",
    labels=("endpoint",),
    window_seconds=_AN_HOUR,
    grace_seconds=0.0,
    inhibits=("webhooks_failing",),
    remedy="Repair the receiver, then run: tenure webhooks endpoints enable NAME",
    runbook="webhook_disabled",
)

_ENDINGS_UNTOLD = AlertSpec(
    id="endings_untold",
    title="Endings are not announced",
    about="Messages ended, and the webhooks that they asked for were not made.",
    measures="age of the oldest ending that is not announced",
    levels=(AlertLevel(_TICKET, fire=3_600.0, clear=600.0),),
    unit="s",
    remedy="Look whether an endpoint of them is disabled, and whether a worker or a server announces",
    runbook="endings_untold",
)

_STORE_SLOW = AlertSpec(
    id="store_slow",
    title="The store is slow",
    about="Calls to the store take so long that leases are in danger.",
    measures="time that a read of the store took",
    levels=(
        AlertLevel(_TICKET, fire=1.0, clear=0.5, for_seconds=60.0),
        AlertLevel(_PAGE, fire=5.0, clear=2.5, for_seconds=60.0),
    ),
    unit="s",
    inhibits=_EVERYTHING_ELSE,
    remedy="Look at the load of the store",
    runbook="store_slow",
)

_STORE_AWAY = AlertSpec(
    id="store_away",
    title="The store is away",
    about="Workers cannot reach the store. Work goes on as far as leases reach; nothing new is leased.",
    measures="1 while it does not answer",
    levels=(AlertLevel(_PAGE, fire=0.0, clear=0.0, for_seconds=30.0),),
    unit="1",
    grace_seconds=0.0,
    inhibits=_EVERYTHING_ELSE,
    remedy="Bring the store back; workers go on by themselves",
    runbook="store_away",
)

_CLOCK_SKEW = AlertSpec(
    id="clock_skew",
    title="A machine's clock is wrong",
    about="The wall clock of a worker's machine differs from the store's. Leases do not use it; people and logs do.",
    measures="difference between a worker's wall clock and the store's",
    levels=(
        AlertLevel(_SHOW, fire=2.0, clear=1.0, for_seconds=60.0),
        AlertLevel(_TICKET, fire=30.0, clear=15.0, for_seconds=60.0),
    ),
    unit="s",
    labels=("worker",),
    remedy="Synchronise the machine's clock (NTP)",
    runbook="clock_skew",
)

_JOURNAL_BEHIND = AlertSpec(
    id="journal_behind",
    title="The journal is behind",
    about="Events wait in a worker because the journal does not take them. Beyond 20,000 the oldest are dropped.",
    measures="events that a process could not write yet",
    levels=(
        AlertLevel(_TICKET, fire=2_000.0, clear=500.0, for_seconds=60.0),
        AlertLevel(_PAGE, fire=10_000.0, clear=2_000.0, for_seconds=60.0),
    ),
    unit="{event}",
    labels=("worker",),
    remedy="Look at the load of the store that keeps the journal",
    runbook="journal_behind",
)

_QUEUE_PAUSED = AlertSpec(
    id="queue_paused",
    title="A queue is paused for a day",
    about="A queue is paused, and it may have been forgotten. A pause alone is no alert.",
    measures="time since it was paused",
    levels=(AlertLevel(_TICKET, fire=86_400.0, clear=0.0),),
    unit="s",
    labels=("queue",),
    grace_seconds=0.0,
    remedy="Resume it: tenure resume QUEUE",
    runbook="queue_paused",
)

_WATCHDOG = AlertSpec(
    id="watchdog",
    title="Alerting works",
    about="It always fires. Where it stops, nothing judges the others any more.",
    measures="always 1",
    levels=(AlertLevel(_SHOW, fire=0.0, clear=0.0),),
    unit="1",
    grace_seconds=0.0,
    remedy="Nothing: it is well while this fires",
    runbook="watchdog",
)

_ALERTS = (
    _STORE_AWAY, _STORE_SLOW, _WORKERS_ABSENT, _WORKERS_CRASHING, _QUEUE_UNSERVED, _OLDEST_AGE, _LIMIT_STARVES,
    _QUEUE_PAUSED, _SWEEP_LATE, _HEARTBEATS_FAILING, _LEASES_LOST, _LEASE_USE, _REDELIVERED, _DUPLICATES,
    _WORK_DONE_TWICE, _DELETION_FAILURES, _DEAD_LETTERS, _WEBHOOKS_FAILING, _WEBHOOK_DISABLED, _ENDINGS_UNTOLD,
    _JOURNAL_BEHIND, _CLOCK_SKEW, _WATCHDOG,
)  # fmt: skip

ALERTS: tuple[AlertSpec, ...] = tuple(
    msgspec.structs.replace(alert, expr=VALUES.get(alert.id, ""), samples=SAMPLES.get(alert.id, ""))
    for alert in _ALERTS
)
