"""Application Insights on the wire: a collector on this machine gets what Azure's SDK really sends.

The SDK posts lines of JSON, gzipped, to `{IngestionEndpoint}/v2.1/track`, and reads how many were taken.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.servers.recorder import Recorder, Reply, Request, recording

from tenure import Tenure
from tenure.errors import ConfigurationError
from tenure.monitoring.app_insights import events, export
from tenure.monitoring.catalogue.aliases import EVENT_ALIASES
from tenure.monitoring.catalogue.spec import Vocabulary
from tenure.monitoring.metrics.sample import Sample

pytestmark = pytest.mark.real_time

_KEY = "00000000-0000-0000-0000-000000000001"


def _take(request: Request) -> Reply:
    if not request.path.startswith("/v2"):
        return Reply(404)
    number = len(_envelopes_of(request))
    return Reply(body=json.dumps({"itemsReceived": number, "itemsAccepted": number, "errors": []}).encode())


def _envelopes_of(request: Request) -> list[dict[str, Any]]:
    text = request.body.decode()
    if text.startswith("["):
        found: list[dict[str, Any]] = json.loads(text)
        return found
    return [json.loads(line) for line in text.splitlines() if line]


def _sent(collector: Recorder, kind: str) -> list[dict[str, Any]]:
    """What was sent as rows of one table, by its base type."""
    envelopes = [
        one for request in collector.requests if request.path.startswith("/v2") for one in _envelopes_of(request)
    ]
    return [
        {**one["data"]["baseData"], "_tags": one.get("tags", {}), "_key": one["iKey"]}
        for one in envelopes
        if one["data"]["baseType"] == kind
    ]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    # The SDK reports on itself, also after the test, and asks the machine's metadata: neither is there.
    monkeypatch.setenv("APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL", "true")
    monkeypatch.setenv("APPLICATIONINSIGHTS_SDKSTATS_DISABLED", "true")
    monkeypatch.setenv("OTEL_EXPERIMENTAL_RESOURCE_DETECTORS", "otel")
    with recording(_take) as server:
        yield server


def _settled(samples: Sequence[Sample]) -> float:
    return sum(
        one.value for one in samples if one.metric == "tenure_messages_total" and isinstance(one.value, float | int)
    )


def _app() -> Tenure:
    app = Tenure("memory://app-insights")

    @app.task(queue="mail-tasks", max_attempts=1)
    async def mail(address: str) -> None:
        if address == "nobody":
            raise ValueError("no such address")

    return app


async def test_events_metrics_and_traces_arrive(collector: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "APPLICATIONINSIGHTS_CONNECTION_STRING", f"InstrumentationKey={_KEY};IngestionEndpoint={collector.url}/"
    )
    app = _app()
    exported = export(app, traced=1.0, role="mailer")
    async with app, app.worker(detail=1.0) as worker:
        done, _dead = [await app.submit("mail", {"address": one}) for one in ("a@example.com", "nobody")]
        await done.result(timeout=60)
        while _settled(worker.metrics()) < 2:  # noqa: ASYNC110 - counted after the result is there
            await asyncio.sleep(0.01)
        exported.flush()
    exported.shutdown()

    rows = _sent(collector, "EventData")
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        assert (row["_key"], row["_tags"]["ai.cloud.role"]) == (_KEY, "mailer")
        by_name.setdefault(row["name"], []).append(row["properties"])
    known = {alias.name for alias in EVENT_ALIASES if alias.vocabulary is Vocabulary.APP_INSIGHTS}
    assert set(by_name) <= known
    assert {"message_received", "message_processed", "message_deletion"} <= set(by_name)
    (processed,) = [one for one in by_name["message_processed"] if one["message_id"] == done.id]
    assert (processed["container"], processed["queue"]) == ("mail", "mail-tasks")
    assert float(processed["duration_ms"]) >= 0.0
    assert not any(name.startswith("microsoft.") for one in by_name["message_processed"] for name in one)

    metrics = {one["metrics"][0]["name"]: one for one in _sent(collector, "MetricData")}
    assert {"tenure.messages", "tenure.process.duration.percentile", "tenure.worker.slots"} <= set(metrics)
    assert metrics["tenure.worker.slots"]["metrics"][0]["value"] == 10
    assert metrics["tenure.messages"]["properties"]["messaging.destination.name"] == "mail-tasks"

    runs = [one for one in _sent(collector, "RequestData") if one["name"] == "process mail-tasks"]
    assert sorted(one["success"] for one in runs) == [False, True]


async def test_a_program_with_the_distribution_of_its_own_takes_the_sink_alone() -> None:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

    provider, kept = LoggerProvider(), InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    app = _app()
    async with app, app.worker(sinks=[events("tenure", logger_provider=provider)]):
        await (await app.submit("mail", {"address": "a@example.com"})).result(timeout=60)
    names = [dict(one.log_record.attributes or {})["microsoft.custom_event.name"] for one in kept.get_finished_logs()]
    assert "completed" in names


def test_without_a_connection_string_nothing_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("APPLICATIONINSIGHTS_CONNECTION_STRING", raising=False)
    app = _app()
    with pytest.raises(ConfigurationError, match="APPLICATIONINSIGHTS_CONNECTION_STRING"):
        export(app)
    assert (app.telemetry, app.sinks) == (None, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("InstrumentatioKey=x", {}),
        ("no connection string", {}),
        ("InstrumentationKey=a-secret", {}),
        (f"InstrumentationKey={_KEY}", {"traced": 2.0}),
        (f"InstrumentationKey={_KEY}", {"names": "log_analytics"}),
    ],
)
def test_a_mistake_is_told_as_one_and_leaves_the_app_as_it_was(
    collector: Recorder, text: str, words: dict[str, Any]
) -> None:
    app = _app()
    with pytest.raises(ConfigurationError) as refused:
        export(app, f"{text};IngestionEndpoint={collector.url}/", **words)
    assert "a-secret" not in str(refused.value)
    assert (app.telemetry, app.sinks, list(app.middleware)) == (None, [], list(_app().middleware))
