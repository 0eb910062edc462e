"""The doctor: runs every check side by side, each within its time, and puts the answers together.

A check that is refused for want of rights is unknown; one that breaks off has failed. Neither hides what others found.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.doctor import (
    bodies,
    clocks,
    endings,
    endpoints,
    firing,
    serving,
    settings,
    storing,
    sweeping,
    timing,
    tokens,
    versions,
)
from tenure.client.operations.doctor.diagnosis import ORDER, Check, Diagnosis, Outcome
from tenure.client.operations.doctor.facts import Facts, read_facts
from tenure.client.operations.operations import Operations
from tenure.errors import BadArgument, BrokerError, LoginRefused, PermissionMissing, StoreUnwritable, TenureError
from tenure.examination import Area, Examination
from tenure.finding import Severity
from tenure.url_options import safe_url

logger = logging.getLogger("tenure.doctor")

#: How long one check may take: longer than a call to a cloud that is slow, and two sweep intervals.
CHECK_SECONDS = 30.0
_REFUSED = (LoginRefused, PermissionMissing, StoreUnwritable)
_AREAS = tuple(Area)


class _Look(msgspec.Struct, frozen=True):
    """One file of checks, and what to call it if it breaks off."""

    id: str
    area: Area
    title: str
    act: Callable[[Facts], Awaitable[Sequence[Examination]]]


_LOOKS = (
    _Look("store", Area.STORE, "set-up of the store", storing.examine),
    _Look("writing", Area.STORE, "writing", storing.write),
    _Look("bodies", Area.STORE, "large bodies", bodies.examine),
    _Look("queues_served", Area.WORKERS, "queues served", serving.examine),
    _Look("sweep", Area.WORKERS, "sweep", sweeping.examine),
    _Look("versions", Area.WORKERS, "versions", versions.examine),
    _Look("worker_clocks", Area.WORKERS, "clocks of workers", clocks.examine),
    _Look("timing", Area.TIMING, "leases and durations", timing.examine),
    _Look("alerts", Area.WORKERS, "alerts", firing.examine),
    _Look("tokens", Area.ACCESS, "access tokens", tokens.examine),
    _Look("endpoints", Area.WEBHOOKS, "endpoints", endpoints.examine),
    _Look("endings", Area.WEBHOOKS, "endings to tell", endings.examine),
    _Look("settings", Area.SETTINGS, "settings", settings.examine),
)


class DoctorOperations(Operations):
    """Operations on the set-up as a whole."""

    async def doctor(self, *, timeout_seconds: float = CHECK_SECONDS) -> Diagnosis:
        """Compare the configuration with reality, and say what is wrong and what to do about it.

        Changes nothing but a note of its own, which it removes. May take two sweep intervals, if no sweep runs. A
        caller who sees some queues only gets their findings, and none of tokens, webhooks and settings. Raises
        `BrokerError` while the store is away.

        - `timeout_seconds`: How long one check may take. One that takes longer has failed.
        """
        if not timeout_seconds > 0:
            msg = f"timeout_seconds={timeout_seconds:g} is not above 0; nothing was looked at"
            raise BadArgument(msg)
        access = await self._opened()
        facts = await read_facts(access)
        found = await asyncio.gather(*(_looked(one, facts, timeout_seconds) for one in _LOOKS))
        return _diagnosis(access, access.state.wall(), [pair for pairs in found for pair in pairs])


def away(access: Access, error: BrokerError) -> Diagnosis:
    """The diagnosis of a store that cannot be opened: one check, which failed."""
    one = Examination(id="store", area=Area.STORE, title="store", unknown=str(error))
    return _diagnosis(access, access.clock.wall(), [(one, True)])


async def _looked(look: _Look, facts: Facts, seconds: float) -> list[tuple[Examination, bool]]:
    """Every examination of one file, and whether it broke off."""

    def unknown(why: str) -> Examination:
        return Examination(id=look.id, area=look.area, title=look.title, unknown=why)

    try:
        async with asyncio.timeout(seconds):
            return [(one, False) for one in await look.act(facts)]
    except _REFUSED as error:
        return [(unknown(str(error)), False)]
    except TimeoutError:
        return [(unknown(f"no answer within {seconds:g} s"), True)]
    except TenureError as error:
        return [(unknown(str(error)), True)]
    except Exception as error:  # such as of a broker of others
        logger.debug("the check %s broke off", look.id, exc_info=True)
        return [(unknown(f"{type(error).__name__}: {error}"), True)]


def _diagnosis(access: Access, at: float, looked: Sequence[tuple[Examination, bool]]) -> Diagnosis:
    checks = [_check(one, is_broken=is_broken) for one, is_broken in looked]
    findings = sorted(
        (finding for one, _ in looked for finding in one.findings),
        key=lambda one: (ORDER.index(one.severity), one.id, one.subject),
    )
    return Diagnosis(
        healthy=all(one.severity is Severity.INFO for one in findings)
        and all(one.outcome is not Outcome.FAILED for one in checks),
        store=safe_url(access.registry.in_force.url or ""),
        at=at,
        checks=tuple(sorted(checks, key=lambda one: _AREAS.index(one.area))),
        findings=tuple(findings),
    )


def _check(one: Examination, *, is_broken: bool) -> Check:
    if one.unknown:
        outcome = Outcome.FAILED if is_broken else Outcome.UNKNOWN
    else:
        outcome = Outcome(min((found.severity for found in one.findings), key=ORDER.index, default=Outcome.WELL))
    return Check(
        id=one.id, area=one.area, title=one.title, outcome=outcome, seen=one.unknown or one.seen,
        findings=tuple(dict.fromkeys(found.id for found in one.findings)),
    )  # fmt: skip
