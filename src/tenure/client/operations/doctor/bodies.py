"""Large bodies: whether the blob store answers, and what it says of its own set-up."""

from collections.abc import Sequence

from tenure.broker import Examinable
from tenure.client.operations.doctor.facts import Facts
from tenure.errors import TenureError
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity

_ID, _TITLE = "bodies", "large bodies"


async def examine(facts: Facts) -> Sequence[Examination]:
    """Open the blob store, and ask for a body that is not there. Nothing, where the app has none."""
    check = facts.access.client.claim_check
    if check is None:
        return []
    place = check.blob_store.place
    try:
        await check.open()
        await check.blob_store.fetch(["tenure-doctor"])
    except TenureError as error:
        evidence = f"the place of large bodies cannot be used: {error}"
        remedy = "Make it reachable, or correct TENURE_CLAIM_CHECK: messages with large bodies fail until then"
        findings = (Finding("bodies_unreachable", Severity.CRITICAL, place, evidence, remedy),)
        return [Examination(id=_ID, area=Area.STORE, title=_TITLE, seen=place, findings=findings)]
    found = [Examination(id=_ID, area=Area.STORE, title=_TITLE, seen=f"{place} answers")]
    if isinstance(check.blob_store, Examinable):
        found += await check.blob_store.examine(facts.queues)
    return found
