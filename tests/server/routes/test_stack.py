"""The stack of a running handler over HTTP: asked of a real worker; its refusals; an act."""

import asyncio
from pathlib import Path

import pytest
from tests.cli.places import place_for

from tenure import Tenure
from tenure.server.principal import AccessScope

from ..asking import serving  # noqa: TID252 - the helpers of the folder above
from .conftest import Served
from .described import check_answer

pytestmark = pytest.mark.real_time


@pytest.mark.parametrize("kind", ["sqlite", "valkey9"])
async def test_its_worker_says_where_a_running_handler_is(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, go_on = Tenure(place_for(kind, tmp_path, monkeypatch).url, client="acme"), asyncio.Event()

    @app.task
    async def patient() -> None:
        await go_on.wait()

    async with serving(app) as (application, client), app.worker():
        served = Served(app, application, client)
        handle = await patient.submit()
        while (await handle.status()).state != "leased":  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)
        answer = await served.post(f"/messages/{handle.id}/stack")
        assert answer.status_code == 200, answer.text
        check_answer(answer)
        found = answer.json()
        assert (found["phase"], found["runs_in"]) == ("running", "loop")
        assert "patient" in [frame["function"].rpartition(".")[2] for frame in found["stack"]["frames"]]
        acts = (await served.get("/acts")).json()["acts"]
        assert [(act["kind"], act["ids"], act["triggered_by"]) for act in acts] == [("stack_read", [handle.id], "http")]

        go_on.set()
        await handle.result(timeout=30)
        ended = await served.post(f"/messages/{handle.id}/stack")
        assert (ended.status_code, ended.json()["code"]) == (409, "not_running")
        check_answer(ended)

        async with await served.client_with(AccessScope.READ, AccessScope.PAYLOAD) as looker:
            refused = await looker.post(f"/api/v1/messages/{handle.id}/stack", json={})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden_scope")
