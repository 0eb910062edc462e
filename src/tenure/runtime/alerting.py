"""Alerting: judges every alert and detector, beside a worker or a server; of many processes the one that has the turn.

    read        one reading for all of them (`client/alert_reading.py`)
    judge       what fires, rises and clears (`monitoring/alerting/evaluation.py`)
    keep        each finding in the store, so that the next who has the turn goes on from there
    tell        an event for each change, and a webhook for what is more than worth seeing

While the store is away nothing can be kept: it is logged, and kept as a finding that has cleared once the store is
back. Made by `app.worker` and by the server.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping, Sequence

import msgspec

from tenure.client.alert_reading import AlertReader
from tenure.client.finding_store import FindingStore, Kept
from tenure.client.operations.access import Access
from tenure.errors import BrokerError, BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.monitoring.alerting.detector import Detector
from tenure.monitoring.alerting.evaluation import Change, ChangeKind, evaluate
from tenure.monitoring.alerting.finding import AlertState, Evaluator, rank
from tenure.monitoring.alerting.reading import Reading
from tenure.monitoring.catalogue import AlertSeverity
from tenure.monitoring.metrics.sample import Sample
from tenure.runtime.background.bus import Bus
from tenure.runtime.background.side_thread import cancel
from tenure.sink import Sink
from tenure.webhooks.finding_notice import notice_of

logger = logging.getLogger("tenure.alerting")

#: What the turn is called; with a namespace, `findings:NAMESPACE`.
TURN = "findings"
#: How often is judged: where a look costs money, more rarely.
EVERY_SECONDS, CLOUD_SECONDS = 15.0, 60.0
#: The turn, and a gap after which an outage is assumed, in such intervals.
_TURN_TIMES, _GAP_TIMES = 2.5, 4.0
_AWAY = "store_away"
_LEVELS = {AlertSeverity.PAGE: logging.ERROR, AlertSeverity.TICKET: logging.WARNING, AlertSeverity.SHOW: logging.INFO}


class Alerting:
    """The evaluator of one process."""

    def __init__(self, access: Access, detectors: Sequence[Detector], sinks: Sequence[Sink] = ()) -> None:
        """Judge these for the store of `access`, when started. `sinks`: where its events go besides the journal."""
        self._access = access
        self._detectors = tuple(detectors)
        self._reader: AlertReader | None = None
        self._store = FindingStore(access.state, namespace=access.namespace)
        self._bus = Bus(access.state.journal, sinks)
        self._token = os.urandom(8).hex()
        cheap = access.broker.traits.snapshot_seconds <= 1.0
        self.every_seconds = EVERY_SECONDS if cheap else CLOUD_SECONDS
        self._turn = TURN if access.namespace is None else f"{TURN}:{access.namespace}"
        #: Since when the store does not answer here.
        self._away_since: float | None = None
        self._jobs: list[asyncio.Task[None]] = []
        self._telling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin; returns at once."""
        create = asyncio.get_running_loop().create_task
        self._jobs = [create(self._run(), name="tenure-alerting")]
        self._telling = create(self._bus.run())

    async def stop(self) -> None:
        """End, and give the turn up."""
        await cancel(self._jobs)
        self._jobs = []
        with contextlib.suppress(BrokerError):  # it lapses by itself
            await self._access.state.board.take_turn(self._turn, self._token, 0.0)
        self._bus.close()
        if self._telling is not None:
            await asyncio.gather(self._telling, return_exceptions=True)

    async def abandon(self) -> None:
        """End as after `kill -9`, for tests: the turn is kept."""
        await cancel([*self._jobs, *([] if self._telling is None else [self._telling])])

    def metrics(self) -> list[Sample]:
        """Nothing: what it judges is in the metrics already."""
        return []

    async def _run(self) -> None:
        await self._check_endpoint()
        while True:
            await asyncio.sleep(self.every_seconds)
            try:
                await self.judge_once()
            except BrokerError as error:
                logger.debug("alerts were not judged; the next try is in %g s: %s", self.every_seconds, error)
            except Exception:
                # What cannot be judged now must not stop the worker beside it.
                logger.exception("alerts were not judged; the next try is in %g s", self.every_seconds)

    async def _check_endpoint(self) -> None:
        """Log it if nothing can be posted: the name of an endpoint is misspelt, or it is still to be added."""
        name = self._access.settings.alert_webhook
        if name is None:
            return
        with contextlib.suppress(BrokerError):  # the store is away: a delivery will tell
            if await self._access.client.webhooks.endpoints.find(name) is None:
                logger.warning(
                    "TENURE_ALERT_WEBHOOK names the endpoint %r, which does not exist: alerts are shown, but not "
                    "posted. Add it with: tenure webhooks endpoints add %s URL",
                    name,
                    name,
                )

    async def judge_once(self) -> list[Change]:
        """Judge all, if it is our turn. Raises `BrokerError` while nothing can be kept."""
        try:
            seconds = _TURN_TIMES * self.every_seconds
            if not await self._access.state.board.take_turn(self._turn, self._token, seconds):
                self._away_since = None
                return []
            reading = await self._read()
            evaluator = await self._store.evaluator()
            kept = await self._store.list()
        except BrokerUnavailable:
            self._note_away()
            raise
        since = self._since(evaluator, reading.now)
        known = {name: one.state for name, one in kept.items()}
        changes = evaluate(self._detectors, reading, known, since=since)
        changes += self._back_again(reading)
        told = [change for change in changes if await self._keep(change, kept.get(change.state.name))]
        await self._tell(told, known, reading)
        by = f"{self._access.identity.by}:{os.getpid()}"
        await self._store.note_evaluator(Evaluator(at=reading.now, since=since, by=by))
        return told

    async def _read(self) -> Reading:
        """The store now; where the broker is away and the state is not, a reading that says so."""
        if self._reader is None:
            self._reader = AlertReader(self._access)
        try:
            return await self._reader.read()
        except BrokerUnavailable as error:
            return Reading(now=self._access.state.wall(), away=str(error))

    def _since(self, evaluator: Evaluator, now: float) -> float:
        """Since when is judged without a gap: after one an outage is assumed, and the grace begins anew."""
        gap = now - evaluator.at
        return now if gap > _GAP_TIMES * self.every_seconds or not evaluator.at else evaluator.since

    # -- an outage ---------------------------------------------------------------------------------

    def _note_away(self) -> None:
        now = self._access.clock.monotonic()
        if self._away_since is None:
            self._away_since = now

    def _back_again(self, reading: Reading) -> list[Change]:
        """The store was away for both, and is back: what could not be kept then."""
        began, self._away_since = self._away_since, None
        spec = next((one.spec for one in self._detectors if one.spec.id == _AWAY), None)
        if began is None or spec is None or reading.away:
            return []
        seconds = self._access.clock.monotonic() - began
        level = next((one for one in spec.levels if seconds >= one.for_seconds), None)
        if level is None:
            return []
        fired = AlertState(
            alert=_AWAY, severity=level.severity, fired_at=reading.now - seconds, value=1.0, seen_at=reading.now,
            evidence=f"the store was away for {seconds:.0f} s",
        )  # fmt: skip
        cleared = msgspec.structs.replace(fired, severity=None, cleared_at=reading.now)
        return [Change(ChangeKind.FIRED, spec, fired), Change(ChangeKind.CLEARED, spec, cleared)]

    # -- keeping and telling -----------------------------------------------------------------------

    async def _keep(self, change: Change, kept: Kept | None) -> bool:
        """Write one. False: somebody acknowledged or silenced it meanwhile, so it is judged again next time."""
        version = None if kept is None else kept.version
        if change.kind is ChangeKind.GONE:
            await self._store.remove(change.state.name, version)
            return True
        if change.state.alert == _AWAY and change.kind is ChangeKind.CLEARED and kept is None:
            found = await self._store.get(_AWAY)  # it was written a moment ago
            version = None if found is None else found.version
        return await self._store.put(change.state, version)

    async def _tell(self, changes: Sequence[Change], known: Mapping[str, AlertState], reading: Reading) -> None:
        notices = []
        endpoint = self._access.settings.alert_webhook
        for change in changes:
            if change.kind not in (ChangeKind.FIRED, ChangeKind.ROSE, ChangeKind.CLEARED):
                continue
            state = change.state
            old = known.get(state.name)
            severity = state.severity or (None if old is None else old.severity) or change.spec.levels[-1].severity
            self._bus.publish([_event(change, severity, reading.now)])
            silent = state.is_silenced(reading.now) or state.is_acked()
            if not silent:
                _log(change, severity)
            if endpoint is not None and not silent and rank(severity) >= rank(AlertSeverity.TICKET):
                notices.append(
                    notice_of(
                        change, severity, reading.queues, endpoint=endpoint, now=reading.now,
                        namespace=self._access.namespace, public_url=self._access.settings.public_url,
                    )
                )  # fmt: skip
        if notices:
            await self._access.broker.send(notices)


def _event(change: Change, severity: AlertSeverity, now: float) -> Event:
    state = change.state
    kind = EventKind.FINDING_CLEARED if change.kind is ChangeKind.CLEARED else EventKind.FINDING_FIRED
    data = {
        "finding": state.name, "alert": state.alert, "subject": state.subject, "severity": severity.value,
        "value": round(state.value, 6), "evidence": state.evidence,
    }  # fmt: skip
    return Event(kind, now, state.queue, state.task, state.message_id, data=data)


def _log(change: Change, severity: AlertSeverity) -> None:
    state, spec = change.state, change.spec
    about = f" ({state.subject})" if state.subject else ""
    extra = _fields(change, severity)
    if change.kind is ChangeKind.CLEARED:
        logger.info("%s%s: cleared [%s]", spec.title, about, spec.id, extra=extra)
    elif spec.id != "watchdog":
        line = "%s%s: %s. %s [%s]"
        logger.log(_LEVELS[severity], line, spec.title, about, state.evidence, spec.remedy, spec.id, extra=extra)


def _fields(change: Change, severity: AlertSeverity) -> dict[str, object]:
    """What the line says, as fields: rules of log services read these (`monitoring/render`)."""
    state = change.state
    fields = {
        "change": change.kind.value, "alert": state.alert, "subject": state.subject, "severity": severity.value,
        "evidence": state.evidence,
    }  # fmt: skip
    return {**fields, "event_fields": fields}
