"""The workers of a store, judged as every worker judges them. Used to count and name workers."""

from tenure.client.operations.access import Access
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE
from tenure.rules.presence import Judgement, judge


async def judged(access: Access) -> Judgement:
    """Judge the owners on the roster: the proven dead, and the others."""
    return judge(await access.state.roster.members(), SYSTEM_PROBE)


async def living(access: Access) -> list[Owner]:
    """The workers whose death is not proven."""
    return (await judged(access)).owners
