"""CloudWatch: the request on the wire, as the service's own description reads it, and a stand-in that keeps it."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.servers.aws import start_aws
from tests.servers.recorder import Reply, recording

from tenure import assembly
from tenure.errors import BadURL, PermissionMissing
from tenure.monitoring.cloudwatch.signal import QueueSignal, figures

pytestmark = pytest.mark.real_time

SIGNAL = QueueSignal(queue="videos", ready=0, leased=3, workers_now=2, desired=3, oldest_age_seconds=None)
AT = 1_896_080_520.0


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


async def _publish(url: str) -> None:
    publisher = assembly.figure_publisher(url)
    await publisher.open()
    try:
        await publisher.publish(figures(SIGNAL), AT)
    finally:
        await publisher.close()


async def test_the_request_has_what_is_in_flight_and_the_backlog_of_one_worker() -> None:
    with recording(lambda _: Reply(200, b"{}")) as server:
        await _publish(f"cloudwatch://eu-west-1/Shop?endpoint={server.url}")
        (request,) = server.requests
    assert (request.method, request.headers["x-amz-target"].rpartition(".")[2]) == ("POST", "PutMetricData")
    assert "/eu-west-1/monitoring/aws4_request" in request.headers["authorization"]
    sent = json.loads(request.body)
    assert sent["Namespace"] == "Shop"
    told = {one["MetricName"]: (one["Value"], one["Unit"]) for one in sent["MetricData"]}
    assert told == {
        "Workers": (2.0, "Count"),
        "DesiredWorkers": (3.0, "Count"),
        "VisibleAndInFlight": (3.0, "Count"),
        "BacklogPerWorker": (1.5, "Count"),
        "OldestMessageAge": (0.0, "Seconds"),
    }
    for one in sent["MetricData"]:
        assert (one["Timestamp"], one["Dimensions"]) == (AT, [{"Name": "Queue", "Value": "videos"}])


@pytest.mark.cloud
async def test_a_stand_in_of_the_service_keeps_the_figures() -> None:
    from aiobotocore.session import get_session  # type: ignore[import-untyped]

    server = start_aws("ministack")
    try:
        await _publish(f"cloudwatch://eu-west-1?endpoint={server.url}")
        async with get_session().create_client(
            "cloudwatch", region_name="eu-west-1", endpoint_url=server.url
        ) as client:
            at = datetime.fromtimestamp(AT, UTC)
            answer = await client.get_metric_statistics(
                Namespace="Tenure", MetricName="BacklogPerWorker", Dimensions=[{"Name": "Queue", "Value": "videos"}],
                StartTime=at - timedelta(minutes=5), EndTime=at + timedelta(minutes=5), Period=60,
                Statistics=["Average"],
            )  # fmt: skip
    finally:
        server.kill()
    assert [point["Average"] for point in answer["Datapoints"]] == [1.5]


async def test_a_refusal_is_said_in_our_words_and_the_sdk_tries_nothing_again() -> None:
    denied = b'{"__type": "AccessDenied", "message": "no"}'
    with recording(lambda _: Reply(403, denied)) as server:
        with pytest.raises(PermissionMissing, match="nothing was done"):
            await _publish(f"cloudwatch://eu-west-1?endpoint={server.url}")
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "url", ["cloudwatch://", "cloudwatch://eu-west-1/AWS/SQS", "graphite://eu-west-1", "cloudwatch://eu-west-1?x=1"]
)
def test_what_names_no_place_for_figures_is_refused(url: str) -> None:
    with pytest.raises(BadURL, match=r"Nothing was sent|cloudwatch"):
        assembly.figure_publisher(url)
