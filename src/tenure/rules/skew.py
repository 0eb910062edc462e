"""Whether a machine's wall clock is too far from the store's.

Machines never use their own wall clocks for what they must agree on, so skew breaks no promise. But what people see
does: times in logs, in events and on screen, and every moment that a sender works out by itself
(`at=datetime.now(UTC) + …`). So it is a finding.

Used by `Broker.check` and `Examinable.examine` of every store, and once a second by
`runtime/background/clock_skew.py`.
"""

from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity

#: Up to here clocks agree. Answers of cloud services tell the time to the second.
MOST_SKEW_SECONDS = 2.0


def find_skew(subject: str, *, own: float, store: float) -> list[Finding]:
    """The finding about this machine's wall time `own`, read when the store's was `store`; none if they agree."""
    skew = own - store
    if abs(skew) <= MOST_SKEW_SECONDS:
        return []
    side = "ahead of" if skew > 0 else "behind"
    evidence = f"this machine's wall clock is {abs(skew):.1f} s {side} the store's, by which schedules and expires go"
    return [Finding("clock_skew", Severity.WARNING, subject, evidence, "Synchronise this machine's clock (NTP)")]


def examine_clock(subject: str, *, own: float, store: float) -> Examination:
    """The same, with what was seen."""
    return Examination(
        id="clock",
        area=Area.STORE,
        title="clock",
        seen=f"this machine is {abs(own - store):.1f} s {'ahead of' if own > store else 'behind'} the store",
        findings=tuple(find_skew(subject, own=own, store=store)),
    )
