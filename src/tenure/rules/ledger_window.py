"""Whether it is remembered for long enough that a message is done. Pure.

A message that was completed may be delivered once more: its queue kept a copy, or a sender repeats it. Within the
window it is recognised and deleted; after it, it runs again. The window must outlast what the queue retains, up to a
week, which is the default. Used by the adapters' examinations.
"""

from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.text.plural import plural

#: The default of `keep_seconds`, and as long as any longer retention needs.
LEAST_SECONDS = 7 * 86_400.0
_UNITS = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"))


def examine_window(subject: str, keep_seconds: float, retention_seconds: float | None = None) -> Examination:
    """Examine `keep_seconds`. `retention_seconds`: how long a queue keeps a message; None: for ever."""
    needed = LEAST_SECONDS if retention_seconds is None else min(LEAST_SECONDS, retention_seconds)
    findings: tuple[Finding, ...] = ()
    if keep_seconds < needed:
        retained = "for ever" if retention_seconds is None else f"for {_spoken(retention_seconds)}"
        evidence = (
            f"a completed message is remembered for {_spoken(keep_seconds)}, and a queue keeps messages {retained}: a "
            "copy or a repeated send that comes later runs again"
        )
        remedy = f"Set keep_seconds in the URL to {needed:.0f} at least"
        findings = (Finding("ledger_window_short", Severity.WARNING, subject, evidence, remedy),)
    return Examination(
        id="ledger_window",
        area=Area.STORE,
        title="ledger window",
        seen=f"completed messages are remembered for {_spoken(keep_seconds)}",
        findings=findings,
    )


def _spoken(seconds: float) -> str:
    for length, unit in _UNITS:
        if seconds >= length and seconds % length == 0:
            return plural(round(seconds / length), unit)
    return f"{seconds:g} s"
