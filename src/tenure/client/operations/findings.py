"""Findings: what is wrong now, as alerts and detectors judge it; acknowledge one, silence one for a while.

Judged by workers and servers (`runtime/alerting.py`), one at a time; here it is only read. Who sees only some queues
sees the findings about those.
"""

from collections.abc import Callable

import msgspec

from tenure.client.finding_store import FindingStore
from tenure.client.operations.access import Access
from tenure.client.operations.operations import Operations
from tenure.errors import BadArgument, UnknownFinding
from tenure.event import EventKind
from tenure.monitoring.alerting.finding import AlertState, rank
from tenure.monitoring.catalogue import AlertSeverity
from tenure.monitoring.in_force import every_detector
from tenure.rules.arguments import meant

#: A silence lasts so long at most: a longer one is forgotten.
LONGEST_SILENCE_SECONDS = 30 * 86_400.0
#: It is judged every 15 or 60 s. Later than this, nothing judges.
STALE_SECONDS = 300.0
_WATCHDOG = "watchdog"


class FindingStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One finding. Times are Unix seconds by the store's clock."""

    #: Names it, as in `oldest_age@mail-tasks`.
    id: str
    alert: str
    title: str
    about: str
    #: page, ticket or show. Of one that has cleared: the strongest level of its alert.
    severity: AlertSeverity
    #: Whether it fires now.
    firing: bool
    #: A queue, a queue and a task, a worker, an endpoint, a message. Empty: the store as a whole.
    subject: str
    queue: str | None
    task: str | None
    message_id: str | None
    #: Since when it fires.
    since: float
    #: None: it fires.
    cleared_at: float | None
    value: float
    #: Of the value: `s`, `1` (a part of a whole), or what is counted.
    unit: str
    #: The figures, in words.
    evidence: str
    #: What to do, one sentence.
    remedy: str
    #: The id of its runbook, which a server shows at /runbooks/ID.
    runbook: str
    #: Who has seen it as it is now. Null: no person has.
    acked_by: str | None
    acked_at: float | None
    #: Until then no notices of it are sent. Null: it is not silenced.
    silenced_until: float | None
    silenced_by: str | None


class FindingList(msgspec.Struct, frozen=True, kw_only=True):
    """What fires, the worst first; then what cleared within a day."""

    findings: tuple[FindingStatus, ...]
    #: How many fire that are neither acknowledged nor silenced.
    open: int
    #: When all alerts were last judged. Null: never.
    judged_at: float | None
    #: False: nothing judges alerts here; they are switched off, or no worker and no server runs.
    is_judged: bool
    #: Until then some alerts are not judged yet: after a start or an outage the figures settle first. Null: all are.
    settling_until: float | None = None


class FindingOperations(Operations):
    """Operations on findings. Those that name one raise `UnknownFinding`."""

    async def findings(self) -> FindingList:
        """Return what fires now, the worst first, and what cleared within a day."""
        access = await self._opened()
        store = FindingStore(access.state, namespace=access.namespace)
        evaluator = await store.evaluator()
        found = [_status(access, one.state) for one in (await store.list()).values() if _is_shown(access, one.state)]
        found.sort(key=_order)
        judged, now = evaluator.at or None, access.state.wall()
        settled = evaluator.since + max((one.spec.grace_seconds for one in every_detector()), default=0.0)
        is_judged = judged is not None and now - judged <= STALE_SECONDS
        return FindingList(
            findings=tuple(found),
            open=sum(one.firing and one.acked_by is None and one.silenced_until is None for one in found),
            judged_at=judged,
            is_judged=is_judged,
            settling_until=settled if is_judged and settled > now else None,
        )

    async def finding(self, id: str) -> FindingStatus:
        """Return one finding."""
        access = await self._opened()
        kept = await FindingStore(access.state, namespace=access.namespace).get(id)
        if kept is None or not _is_shown(access, kept.state):
            raise await self._unknown(id)
        return _status(access, kept.state)

    async def ack_finding(self, id: str) -> FindingStatus:
        """Say that you have seen a finding: no more notices are sent, until it fires anew or at a stronger level."""
        access = await self._opened()
        now, by = access.state.wall(), access.identity.by
        await self.finding(id)

        def decide(state: AlertState) -> AlertState:
            if not state.is_firing:
                return state
            return msgspec.structs.replace(state, acked_by=by, acked_at=now, acked_severity=state.severity)

        return await self._change(access, id, decide, EventKind.FINDING_ACKED)

    async def silence_finding(self, id: str, seconds: float) -> FindingStatus:
        """Silence a finding for `seconds`, up to 30 days. 0: end its silence.

        It is still judged and shown, and stays silenced if it clears and fires again meanwhile.
        """
        access = await self._opened()
        if not 0 <= seconds <= LONGEST_SILENCE_SECONDS:
            msg = f"silence={seconds:g} is not a duration from 0 seconds to 30 days; nothing was changed"
            raise BadArgument(msg)
        now, by = access.state.wall(), access.identity.by
        await self.finding(id)

        def decide(state: AlertState) -> AlertState:
            until = now + seconds if seconds else None
            return msgspec.structs.replace(state, silenced_until=until, silenced_by=by if seconds else None)

        return await self._change(access, id, decide, EventKind.FINDING_SILENCED, seconds=seconds)

    async def _change(
        self, access: Access, id: str, decide: Callable[[AlertState], AlertState], kind: EventKind, **more: object
    ) -> FindingStatus:
        changed = await FindingStore(access.state, namespace=access.namespace).change(id, decide)
        if changed is None:
            raise await self._unknown(id)
        await access.operator().note_finding(kind, changed.queue, finding=changed.name, alert=changed.alert, **more)
        return _status(access, changed)

    async def _unknown(self, id: str) -> UnknownFinding:
        known = [one.id for one in (await self.findings()).findings]
        hint = meant(id, known) if known else "there is none"
        return UnknownFinding(f"there is no finding {id!r} here; {hint}")


def _is_shown(access: Access, state: AlertState) -> bool:
    """Whether it fired at all, and is about something that this identity sees."""
    if state.fired_at is None or state.alert == _WATCHDOG:
        return False
    return access.sees(state.queue) if state.queue is not None else access.sees_every_queue


def _status(access: Access, state: AlertState) -> FindingStatus:
    spec = next((one.spec for one in every_detector() if one.spec.id == state.alert), None)
    now = access.state.wall()
    acked, silenced = state.is_firing and state.is_acked(), state.is_silenced(now)
    strongest = AlertSeverity.SHOW if spec is None else spec.levels[-1].severity
    return FindingStatus(
        id=state.name,
        alert=state.alert,
        title=state.alert if spec is None else spec.title,
        about="" if spec is None else spec.about,
        severity=state.severity or strongest,
        firing=state.is_firing,
        subject=state.subject,
        queue=state.queue,
        task=state.task,
        message_id=state.message_id,
        since=state.fired_at or 0.0,
        cleared_at=state.cleared_at,
        value=state.value,
        unit="1" if spec is None else spec.unit,
        evidence=state.evidence,
        remedy="" if spec is None else spec.remedy,
        runbook=state.alert if spec is None else spec.runbook,
        acked_by=state.acked_by if acked else None,
        acked_at=state.acked_at if acked else None,
        silenced_until=state.silenced_until if silenced else None,
        silenced_by=state.silenced_by if silenced else None,
    )


def _order(one: FindingStatus) -> tuple[bool, bool, int, float, str]:
    """What fires unseen first, then the worst, then the newest."""
    is_seen = one.acked_by is not None or one.silenced_until is not None
    return (not one.firing, is_seen, -rank(one.severity), -(one.cleared_at or one.since), one.id)
