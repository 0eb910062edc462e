"""What a log service has after real workers ran known work: rows of Application Insights, and lines of CloudWatch.

Workers in virtual time, on a store in memory. Their events go through `LogEvents`, their metrics through an
OpenTelemetry SDK that collects once a minute, as Azure's exporter sets it up; both become rows as that exporter writes
them: every property is text. CloudWatch has the lines of `--log json`.
"""

import asyncio
import functools
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import msgspec
from opentelemetry.sdk.metrics import MeterProvider, ObservableCounter
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from tests.runtime.conftest import MemoryHarness

from tenure.cli.logs import _Json
from tenure.monitoring.alerting.evaluation import Change, ChangeKind
from tenure.monitoring.alerting.finding import AlertState
from tenure.monitoring.catalogue import ALERTS, AlertSeverity, AlertSpec
from tenure.monitoring.otel.instruments import Instruments
from tenure.runtime.alerting import _event, _log
from tenure.runtime.worker import Worker
from tenure.sinks import LogEvents
from tenure.tasks.context import Context
from tenure.tasks.task import Task
from tenure.testing.virtual import run_virtual
from tenure.testing.workers import Actor, Stage

Row = dict[str, Any]
#: What every log record has, and what an exporter does not take as a property.
_OWN = frozenset({*logging.LogRecord("", 0, "", 0, "", None, None).__dict__, "message", "asctime", "event_fields"})
_EVENT = "microsoft.custom_event.name"
_SEVERITIES = {logging.DEBUG: 0, logging.INFO: 1, logging.WARNING: 2, logging.ERROR: 3, logging.CRITICAL: 4}


class Played(msgspec.Struct):
    """What the work left."""

    #: By the names of an Application Insights resource.
    tables: dict[str, list[Row]]
    #: Of `--log json --log-events cloudwatch`.
    lines: list[Row]


class Reporting(Worker):
    """A worker whose events go to both log services."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, sinks=[LogEvents("app_insights"), LogEvents("cloudwatch")], **options)


class Recorder(logging.Handler):
    """Keeps what the loggers of Tenure say, as both services would."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.played = Played({"customEvents": [], "customMetrics": [], "traces": [], "exceptions": []}, [])
        self._json = _Json()

    def emit(self, record: logging.LogRecord) -> None:
        fields = record.__dict__
        if _EVENT not in fields:
            self.played.lines.append(json.loads(self._json.format(record)))
        if "event_type" in fields:
            return
        properties = {name: fields[name] for name in fields.keys() - _OWN - {_EVENT}} | {"logger_name": record.name}
        row = _row(record.created, properties)
        severity = {"severityLevel": _SEVERITIES[record.levelno]}
        if _EVENT in fields:
            self.played.tables["customEvents"].append(row | {"name": fields[_EVENT]})
        elif record.exc_info:
            self.played.tables["exceptions"].append(row | severity | {"outerMessage": record.getMessage()})
        else:
            self.played.tables["traces"].append(row | severity | {"message": record.getMessage()})


class Collector:
    """An SDK as Azure's exporter sets it up: a counter is exported as what was added since the last time."""

    def __init__(self, played: Played) -> None:
        self._played = played
        self._reader = InMemoryMetricReader(preferred_temporality={ObservableCounter: AggregationTemporality.DELTA})
        self._meters = MeterProvider([self._reader])
        self._instruments = Instruments(self._meters)

    def watch(self, actor: Actor) -> None:
        self._instruments.watch(actor.worker.metrics)

    def collect(self, at: float) -> None:
        data = self._reader.get_metrics_data()
        points = [
            (metric.name, point)
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
        ]
        for name, point in points:
            value: float = point.value  # type: ignore[union-attr]
            row = _row(at, point.attributes or {})
            self._played.tables["customMetrics"].append(
                row | {"name": name, "value": value, "valueSum": value, "valueCount": 1}
            )

    def close(self) -> None:
        self._meters.shutdown()


def _row(at: float, properties: Mapping[str, Any]) -> Row:
    return {
        "timestamp": datetime.fromtimestamp(at, UTC),
        "itemCount": 1,
        "cloud_RoleInstance": "worker-0",
        "customDimensions": {name: str(value) for name, value in properties.items() if value is not None},
    }


@functools.cache
def played() -> Played:
    """Play the work, once for all tests of a process."""
    return _recorded(_play)


@functools.cache
def played_in_part() -> Played:
    """Play work of which a quarter is followed in detail."""
    return _recorded(_play_in_part)


def in_workspace(tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """The same rows as the workspace of the resource has them."""
    return {
        _WORKSPACE[name]: [
            {_COLUMNS[column]: value for column, value in row.items() if column in _COLUMNS} for row in rows
        ]
        for name, rows in tables.items()
        if name in _WORKSPACE
    }


_WORKSPACE = {"customEvents": "AppEvents", "customMetrics": "AppMetrics", "traces": "AppTraces"}
_COLUMNS = {
    "timestamp": "TimeGenerated", "itemCount": "ItemCount", "cloud_RoleInstance": "AppRoleInstance", "name": "Name",
    "customDimensions": "Properties", "valueSum": "Sum", "message": "Message", "severityLevel": "SeverityLevel",
}  # fmt: skip


def _recorded(play: Callable[[MemoryHarness, Played], Coroutine[Any, Any, None]]) -> Played:
    recorder = Recorder()
    logger = logging.getLogger("tenure")
    level = logger.level
    logger.addHandler(recorder)
    logger.propagate = False  # a failed test shows what it logged: not this
    logger.setLevel(logging.INFO)
    harness = MemoryHarness(exact=False)
    try:
        with patch("tenure.monitoring.otel.instruments._FRESH_SECONDS", 0.0):
            run_virtual(play(harness, recorder.played), harness.clock)
    finally:
        logger.removeHandler(recorder)
        logger.setLevel(level)
        logger.propagate = True
    return recorder.played


class _Stage(Stage):
    worker_type = Reporting


async def _play(harness: MemoryHarness, played: Played) -> None:
    async with harness, _Stage(harness, "articles") as stage:
        collector = Collector(played)

        @stage.task(name="content-processor", detail=1.0)
        async def process(ctx: Context, seconds: float) -> None:
            await asyncio.sleep(seconds)

        @stage.task(name="markdown-generator", detail=1.0, heartbeat=False, lease=30)
        async def generate(ctx: Context, seconds: float) -> None:
            await asyncio.sleep(seconds)

        @stage.task(name="site-publisher", detail=1.0, max_attempts=2, retry_delay=1.0)
        async def publish(ctx: Context) -> None:
            raise LookupError("no site")

        @stage.task(name="transcode", detail=1.0, lease=30)
        async def transcode(ctx: Context, size: int) -> None:
            await ctx.set_size(size)
            await asyncio.sleep(100.0)

        first = await stage.start(concurrency=30)
        collector.watch(first)
        collector.collect(harness.clock.wall())
        runs = [process.bind(float(seconds)) for seconds in range(1, 21)]
        runs += [
            generate.bind(27.0),
            generate.bind(15.0),
            publish.bind(),
            transcode.bind(2 << 20),
            transcode.bind(4 << 20),
        ]
        ids = [await stage.submit(one) for one in runs]
        ids += [await stage.submit(process.bind(5.0), key="again") for _ in range(2)]
        for id in ids:
            await stage.ended(id)
        collector.collect(harness.clock.wall())
        await _come_again(stage, process, first)
        await _lose_touch(stage, transcode, first)
        collector.collect(harness.clock.wall())
        await _die(stage, process, first, collector)
        collector.collect(harness.clock.wall())
        _find()
        collector.close()


async def _come_again(stage: Stage, process: Task[..., Any], worker: Actor) -> None:
    """Three more of what is done already. The answer to the first one's delete is lost."""
    worker.wire.lose_replies("broker.ack")
    for _ in range(3):
        await stage.ended(await stage.submit(process.bind(5.0), key="again"))


async def _lose_touch(stage: Stage, transcode: Task[..., Any], worker: Actor) -> None:
    """A lease cannot be renewed for a while; the run ends well."""
    id = await stage.submit(transcode.bind(6 << 20))
    await stage.until(lambda: id in worker.worker._path.handling.running_ids)
    worker.wire.away("broker.touch")
    await stage.until(lambda: bool(worker.counts.get("heartbeat_failed")))
    worker.wire.back()
    await stage.ended(id)


async def _die(stage: Stage, process: Task[..., Any], worker: Actor, collector: Collector) -> None:
    """A worker dies while it runs a message, and another one finishes it."""
    id = await stage.submit(process.bind(25.0))
    await stage.until(lambda: id in worker.worker._path.handling.running_ids)
    await stage.kill(worker)
    other = await stage.start()
    collector.watch(other)
    await stage.ended(id)


def _find() -> None:
    """Two alerts that only Tenure judges: one by its log lines, one by its event."""
    page = AlertState(
        alert="oldest_age",
        subject="articles",
        queue="articles",
        severity=AlertSeverity.PAGE,
        evidence="4 times as long",
    )
    for kind in (ChangeKind.FIRED, ChangeKind.CLEARED):
        _log(Change(kind, _spec("oldest_age"), page), AlertSeverity.PAGE)
    ticket = AlertState(alert="queue_unserved", subject="other", severity=AlertSeverity.TICKET, evidence="3 wait")
    event = _event(Change(ChangeKind.FIRED, _spec("queue_unserved"), ticket), AlertSeverity.TICKET, 1_800_000_000.0)
    LogEvents("app_insights").publish([event])


def _spec(id: str) -> AlertSpec:
    return next(one for one in ALERTS if one.id == id)


async def _play_in_part(harness: MemoryHarness, _played: Played) -> None:
    async with harness, _Stage(harness, "articles") as stage:

        @stage.task(name="resize", detail=0.25, heartbeat=False, lease=10)
        async def resize(ctx: Context, seconds: float) -> None:
            await asyncio.sleep(seconds)

        await stage.start(concurrency=50)
        for seconds in (9.0, *[1.0] * 400):
            await stage.submit(resize.bind(seconds))
        await stage.settled()
