"""Who works at a place, judged as every worker judges it. Used by the commands that count or name workers."""

from tenure.app import Tenure
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE
from tenure.rules.presence import Judgement, judge


async def judged(app: Tenure) -> Judgement:
    """Everybody on the roster: the proven dead, and the others."""
    return judge(await app.state.roster.members(), SYSTEM_PROBE)


async def living(app: Tenure) -> list[Owner]:
    """The workers whose death is not proven."""
    return (await judged(app)).owners
