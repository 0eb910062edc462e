"""Endings: whether webhooks that were asked for go out within the hour."""

from collections.abc import Sequence

from tenure.client.operations.doctor.facts import Facts
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.text.plural import plural

#: An ending that waits for longer is not on its way.
LATE_SECONDS = 3_600.0
_MOST = 1_000


async def examine(facts: Facts) -> Sequence[Examination]:
    """Look at the first announcements that wait."""
    access = facts.access
    waiting = [one for one in await access.broker.announcements(limit=_MOST) if access.sees(one.queue)]
    now = access.state.wall()
    late = [one for one in waiting if now - one.ended_at > LATE_SECONDS]
    findings: tuple[Finding, ...] = ()
    if late:
        oldest = (now - min(one.ended_at for one in late)) / LATE_SECONDS
        evidence = f"{plural(len(late), 'ending')} waited for more than an hour, the oldest for {oldest:,.0f} h"
        remedy = (
            "Start a worker or tenure serve, which tell endings, and look at the endpoints: tenure webhooks endpoints"
        )
        findings = (Finding("endings_untold", Severity.WARNING, "webhooks", evidence, remedy),)
    more = " or more" if len(waiting) == _MOST else ""
    return [
        Examination(
            id="endings", area=Area.WEBHOOKS, title="endings to tell", seen=f"{len(waiting):,}{more} wait",
            findings=findings,
        )
    ]  # fmt: skip
