"""The triggers that we ship, asked as KEDA asks: KEDA's own operator does not run here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.server.asking import bearer, client_of, new_token, serving
from tests.servers.keda import Trigger, TriggerFailed, replicas, value_at

from tenure import Tenure
from tenure.config import Settings
from tenure.lease import LeaseRequest
from tenure.server.principal import AccessScope
from tenure.settlement import Ack

_DEPLOY = Path(__file__).parents[2] / "deploy"


def _scaled() -> Mapping[str, Any]:
    manifests = yaml.safe_load_all((_DEPLOY / "kubernetes" / "keda.yaml").read_text("utf-8"))
    (found,) = [one for one in manifests if one["kind"] == "ScaledObject"]
    spec: Mapping[str, Any] = found["spec"]
    return spec


def _rule() -> Mapping[str, Any]:
    container = yaml.safe_load((_DEPLOY / "azure" / "container-app.yaml").read_text("utf-8"))
    (rule,) = container["properties"]["template"]["scale"]["rules"]
    custom: Mapping[str, Any] = rule["custom"]
    return custom


def _app(name: str) -> Tenure:
    app = Tenure(f"memory://{abs(hash(name))}", settings=Settings(server_hosts=("tenure-server",)))

    @app.task(queue="videos", profile="transcoding", size="bytes", concurrency=1)
    async def transcode(file: str, bytes: int) -> None: ...  # noqa: A002 - as people call it

    return app


@pytest.mark.real_time
@pytest.mark.parametrize("trigger", [_scaled()["triggers"][0], _rule()], ids=["keda", "container-apps"])
async def test_keda_follows_three_videos_from_nothing_to_three_and_back(trigger: Mapping[str, Any]) -> None:
    """Before any run was measured: the profile says 19 minutes each, and a worker runs one at a time."""
    app = _app(trigger["metadata"]["url"])
    async with app, serving(app) as (application, _):
        asked = Trigger.of(trigger, {"token": await new_token(application, AccessScope.READ)})

        async def scaled(client: httpx.AsyncClient, current: int) -> int:
            value = await asked.value(client)
            return replicas(value, asked, current=current, minimum=0, maximum=20)

        async with client_of(application) as client:
            assert await scaled(client, 0) == 0
            for number in range(3):
                await app.submit("transcode", {"file": str(number), "bytes": 2_147_483_648})
            assert await scaled(client, 0) == 3
            leases = await app.broker.lease(LeaseRequest("w/1", "r", ("videos",), 3, 600.0))
            assert len(leases) == 3
            assert await scaled(client, 3) == 3, "what runs counts: nothing is ready now"
            await app.broker.ack([Ack(lease) for lease in leases])
            assert await scaled(client, 3) == 0


@pytest.mark.real_time
async def test_a_queue_that_nothing_knows_yet_needs_no_worker_and_is_no_error() -> None:
    """KEDA goes on asking long after a queue was emptied, and before the first message."""
    app = Tenure("memory://unknown")
    async with app, serving(app) as (_, client):
        response = await client.get("/api/v1/scaling/videos")
        assert (response.status_code, response.json()["desired"]) == (200, 0)
        assert (await client.get("/api/v1/scaling/videos?minimum=2")).json()["desired"] == 2
        assert (await client.get("/api/v1/scaling/vid*")).status_code == 422
        assert (await client.get("/api/v1/scaling?queue=videos")).status_code == 404


@pytest.mark.real_time
async def test_a_token_of_another_queue_sees_no_worker_for_this_one() -> None:
    app = Tenure("memory://tokens")
    async with app, serving(app) as (application, _):
        token = await new_token(application, AccessScope.READ, queues=("pages",))
        async with client_of(application, headers=bearer(token)) as client:
            assert (await client.get("/api/v1/scaling/videos")).status_code == 404
            assert (await client.get("/api/v1/scaling/pages")).status_code == 200


def test_what_cannot_be_counted_is_no_number_so_keda_keeps_what_there_is() -> None:
    """`desired` is null where a broker does not count: KEDA then uses its fallback, and stops nothing."""
    with pytest.raises(TriggerFailed):
        value_at({"desired": None}, "desired")
    spec = _scaled()
    assert spec["fallback"]["replicas"] >= 1
    assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"
    assert all(trigger["metricType"] == "AverageValue" for trigger in spec["triggers"]), "fallback needs it"


def test_value_at_reads_lists_and_numbers_alone() -> None:
    document = {"queues": [{"desired": 3, "queue": "a", "estimated": True}]}
    assert value_at(document, "queues.0.desired") == 3.0
    for wrong in ("queues.1.desired", "queues.0.queue", "queues.0.estimated", "desired"):
        with pytest.raises(TriggerFailed):
            value_at(document, wrong)
