"""Advice: what the figures of a queue and task say about its lease, as findings.

Two kinds of lease are judged by different signs. One that no heartbeat renews must be longer than the work: its use
counts. One that the heartbeat renews is the crash window, whatever the work takes: there the limit on a run counts,
`max_hold`, and a lease that ended anyway shows a holder that was frozen or cut off. What came back is counted
by cause: the handler asked for it (retry), the lease ended (expiry), the worker died (crash). They need different
remedies.

The thresholds are the goals: no duplicates (0 %), deletes that work (99 %), at most 80 % of a lease used. Ids are
promises. Pure. The figures come from `client/statistics.py`; shown by `tenure timing`.
"""

import math
from collections.abc import Iterator

from tenure.finding import Finding, Severity
from tenure.timing.figures import Durations, Standing, TaskFigures, rate
from tenure.timing.learned import ENOUGH_RUNS, HOLD_FACTOR
from tenure.timing.margin import lease_seconds_for
from tenure.timing.why import duration
from tenure.timing.wording import counted, percent

#: Every id there is. They are promises: alerts and filters are built on them.
IDS = frozenset({
    "lease_use_high", "lease_use_critical", "lease_too_long", "max_hold_use_high", "max_hold_use_critical",
    "max_hold_reached", "max_hold_advised", "duplicates", "deletion_failures", "redelivered_expiry",
    "redelivered_crash", "redelivered_retry", "healthy",
})  # fmt: skip
#: Of a lease that no heartbeat renews, or of `max_hold`: the part that q99 uses.
USE_HIGH, USE_CRITICAL = 0.8, 0.9
#: How much longer a lease should be that is used so far.
_LONGER = 1.5
#: Of a lease that is not renewed, the part that a typical run uses: below, a crashed worker's message waits in vain.
USE_LOW = 0.1
#: With a heartbeat, from this many seconds on a frozen worker keeps a message for long.
LONG_WINDOW_SECONDS = 300.0
#: Any duplicate is one too many, but of fewer messages than these one duplicate would always be 5 % and critical.
LEAST_MESSAGES = 20
DUPLICATES_CRITICAL = 0.05
DELETIONS_WARNING, DELETIONS_CRITICAL = 0.01, 0.02
#: The part of deliveries that came back because a lease ended or a worker died: any, and this many.
RETURNS_CRITICAL = 0.05
RETRIES_INFO, RETRIES_WARNING = 0.01, 0.1
_DUST = 1e-9


def advise(figures: TaskFigures) -> list[Finding]:
    """Return the findings, the worst first. If all is well, one good sign; if nothing is known, none."""
    found = [
        *_lease(figures), *_hold(figures), *_duplicates(figures), *_deletions(figures), *_expiry(figures),
        *_crash(figures), *_retry(figures),
    ]  # fmt: skip
    if figures.completed and all(one.severity is Severity.INFO for one in found):
        found.append(_good(figures))
    return sorted(found, key=lambda one: _ORDER.index(one.severity))


_ORDER = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


def subject(figures: TaskFigures) -> str:
    """Name the subject of a finding."""
    return f"{figures.task} on {figures.queue}"


# -- the lease --------------------------------------------------------------------------------------


def _lease(figures: TaskFigures) -> Iterator[Finding]:
    standing, durations, use = figures.standing, figures.durations, figures.lease_use
    if standing is None or durations is None:
        return
    about, lease = subject(figures), standing.lease_seconds
    if use is None:
        if standing.is_renewed and lease >= LONG_WINDOW_SECONDS:
            evidence = (
                f"the lease is renewed, and {duration(lease)} long: a frozen worker keeps a message for that time"
            )
            remedy = "Lower the lease to 30 s: the heartbeat keeps it up, however long the work takes."
            yield Finding("lease_too_long", Severity.INFO, about, evidence, remedy)
        return
    if use >= USE_HIGH - _DUST:
        is_critical = use >= USE_CRITICAL - _DUST
        id, severity = (
            ("lease_use_critical", Severity.CRITICAL) if is_critical else ("lease_use_high", Severity.WARNING)
        )
        evidence = (
            f"q99 {duration(durations.q99)} of {_runs(durations)} is {percent(use)} of a lease of {duration(lease)}"
        )
        yield Finding(id, severity, about, evidence, _raise(figures, standing, durations))
    shorter = _formula(figures, durations)
    if durations.q50 / lease < USE_LOW and shorter <= lease / 2 and durations.samples >= ENOUGH_RUNS:
        evidence = (
            f"a typical run takes {duration(durations.q50)}, {percent(durations.q50 / lease)} of a lease of "
            f"{duration(lease)} that is not renewed: a crashed worker's message waits for all of it"
        )
        yield Finding(
            "lease_too_long",
            Severity.WARNING,
            about,
            evidence,
            f"Lower the lease to {duration(shorter)}, or switch the heartbeat on.",
        )


def _raise(figures: TaskFigures, standing: Standing, durations: Durations | None) -> str:
    """Advise on a lease that is too short: half as much again, or more where more was learned."""
    if standing.is_learned:
        return "Switch the heartbeat on, or set the task's size=: the lease is then learned from the runs."
    if durations is None:
        return "Raise the lease, or switch the heartbeat on."
    longer, learned = _LONGER * standing.lease_seconds, figures.advised_lease_seconds
    enough = longer if durations.q99 < USE_HIGH * longer else _formula(figures, durations)
    enough = max(enough, learned or 0.0)  # never less than what stands in the table beside it
    advised = min(enough, standing.ceiling_seconds)
    if advised > standing.lease_seconds:
        return f"Raise the lease to {duration(advised)}, or switch the heartbeat on."
    return f"Switch the heartbeat on: {duration(standing.lease_seconds)} is the longest lease that this broker gives."


def _formula(figures: TaskFigures, durations: Durations) -> float:
    """The lease that was learned; where there is none, q99 × 1.75 in steps of 30 s."""
    learned = figures.advised_lease_seconds
    return lease_seconds_for(durations.q99) if learned is None else learned


def _hold(figures: TaskFigures) -> Iterator[Finding]:
    """Advise on `max_hold`, the limit that a run may meet where its lease is renewed."""
    standing, durations = figures.standing, figures.durations
    if standing is None or durations is None or not standing.is_renewed:
        return
    about, advised = subject(figures), figures.advised_hold_seconds
    if advised is None:
        advised = float(math.ceil(HOLD_FACTOR * durations.longest))
    seen = f"q99 {duration(durations.q99)}, longest {duration(durations.longest)} of {_runs(durations)}"
    if standing.max_hold_seconds is None:
        if durations.samples >= ENOUGH_RUNS:
            evidence = f"a hung handler is never ended: there is no max_hold; {seen}"
            remedy = f"Set max_hold={advised:g} if a run of that length can only be a hung one."
            yield Finding("max_hold_advised", Severity.INFO, about, evidence, remedy)
        return
    if figures.held:
        evidence = f"max_hold {duration(standing.max_hold_seconds)} ended {counted(figures.held, 'run')}; {seen}"
        remedy = f"Raise max_hold to {duration(advised)} if they did not hang; else look where they do."
        yield Finding("max_hold_reached", Severity.WARNING, about, evidence, remedy)
        return
    use = durations.q99 / standing.max_hold_seconds
    if use >= USE_HIGH - _DUST:
        is_critical = use >= USE_CRITICAL - _DUST
        evidence = f"{seen}; runs are ended at max_hold {duration(standing.max_hold_seconds)} ({percent(use)} at q99)"
        longer = max(advised, _LONGER * standing.max_hold_seconds)
        remedy = f"Raise max_hold to {duration(longer)}, or make the work shorter."
        yield Finding(
            "max_hold_use_critical" if is_critical else "max_hold_use_high",
            Severity.CRITICAL if is_critical else Severity.WARNING,
            about,
            evidence,
            remedy,
        )


# -- what came again --------------------------------------------------------------------------------


def _duplicates(figures: TaskFigures) -> Iterator[Finding]:
    part, whole = figures.duplicate_rate, figures.completed + figures.duplicates
    if not part or whole < LEAST_MESSAGES:
        return
    severity = Severity.CRITICAL if part >= DUPLICATES_CRITICAL - _DUST else Severity.WARNING
    evidence = (
        f"{figures.duplicates:,} of {whole:,} were delivered again after they were completed, and were only deleted "
        f"({percent(part)})"
    )
    if figures.standing is not None and not figures.standing.is_renewed:
        remedy = "Raise the lease or switch the heartbeat on, and look whether deletes fail."
    else:
        remedy = "Look whether deletes fail, and whether senders send the same work twice."
    yield Finding("duplicates", severity, subject(figures), evidence, remedy)


def _deletions(figures: TaskFigures) -> Iterator[Finding]:
    part = figures.deletion_failure_rate
    if part is None or part < DELETIONS_WARNING - _DUST:
        return
    severity = Severity.CRITICAL if part >= DELETIONS_CRITICAL - _DUST else Severity.WARNING
    evidence = (
        f"of {figures.deletes_failed:,} of {figures.deletes:,} deletes it is not known that they worked "
        f"({percent(part)}); what comes back is recognised as completed and deleted"
    )
    remedy = "Check the permissions on the queue, the connection to it, and whether leases end before the work does."
    yield Finding("deletion_failures", severity, subject(figures), evidence, remedy)


def _expiry(figures: TaskFigures) -> Iterator[Finding]:
    ended = max(figures.expired or 0, figures.overran)
    if not ended:
        return
    told = [
        *([f"{figures.expired:,} came back because the lease had ended"] if figures.expired else []),
        *([f"{counted(figures.overran, 'run')} outlived the lease"] if figures.overran else []),
    ]
    standing, durations = figures.standing, figures.durations
    if standing is None:
        remedy = "Look whether the lease is renewed: if it is not, raise it; if it is, look for frozen workers."
    elif not standing.is_renewed:
        remedy = _raise(figures, standing, durations)
    else:
        remedy = (
            "Look for loop_blocked and heartbeat_failed events of that time; "
            'give handlers that hold the GIL runs_in="process".'
        )
    yield _returned("redelivered_expiry", figures, ended, "; ".join(told), remedy)


def _crash(figures: TaskFigures) -> Iterator[Finding]:
    if not figures.crashed:
        return
    remedy = "Look how they ended (memory, signals; owner_retired events), and give what crashes a process of its own."
    evidence = f"{figures.crashed:,} came back because a worker or a process died"
    yield _returned("redelivered_crash", figures, figures.crashed, evidence, remedy)


def _returned(id: str, figures: TaskFigures, number: int, evidence: str, remedy: str) -> Finding:
    part = rate(number, figures.deliveries) or 0.0
    severity = Severity.CRITICAL if part >= RETURNS_CRITICAL - _DUST else Severity.WARNING
    whole = f"{percent(part)} of {_deliveries(figures)}"
    return Finding(id, severity, subject(figures), f"{evidence} ({whole})", remedy)


def _retry(figures: TaskFigures) -> Iterator[Finding]:
    part = rate(figures.retried, figures.deliveries)
    if part is None or part < RETRIES_INFO - _DUST:
        return
    severity = Severity.WARNING if part >= RETRIES_WARNING - _DUST else Severity.INFO
    evidence = f"{counted(figures.retried, 'attempt')} failed and came back ({percent(part)} of {_deliveries(figures)})"
    remedy = "Look at the errors (tenure show ID); raise Reject for what no retry can fix."
    yield Finding("redelivered_retry", severity, subject(figures), evidence, remedy)


def _good(figures: TaskFigures) -> Finding:
    again = "no duplicate"
    if figures.duplicates:
        again = f"{counted(figures.duplicates, 'duplicate')} (too few messages to judge)"
    signs = [f"{figures.completed:,} completed, {again}"]
    if figures.expired == 0 and figures.crashed == 0:
        signs.append("nothing came back by itself")
    if figures.lease_use is not None:
        signs.append(f"{percent(figures.lease_use)} of the lease used at q99")
    return Finding("healthy", Severity.INFO, subject(figures), ", ".join(signs), "Leave it as it is.")


def _deliveries(figures: TaskFigures) -> str:
    return "1 delivery" if figures.deliveries == 1 else f"{figures.deliveries:,} deliveries"


def _runs(durations: Durations) -> str:
    killed = f" ({durations.killed:,} of them ended from outside)" if durations.killed else ""
    return f"{counted(durations.samples, 'run')}{killed}"
