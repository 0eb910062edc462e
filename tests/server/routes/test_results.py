"""GET /messages/{id}/result and /status: what became of a message, waited for if need be."""

import asyncio
from typing import Any

import httpx
import pytest

from tenure import Context, Tenure
from tenure.config import Settings
from tenure.server.application import Application
from tenure.server.principal import AccessScope
from tenure.testing.virtual import VirtualClock

from ..asking import bearer, new_token, serving  # noqa: TID252 - the helpers of the folder above
from .described import check_answer


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    app = Tenure("memory://", clock=virtual_clock, client="acme")

    @app.task(max_attempts=1)
    async def nap(ctx: Context, seconds: float) -> dict[str, float]:
        ctx.progress(0.5, "half a secret")
        await asyncio.sleep(seconds)
        if seconds == 13:
            msg = "an unlucky secret"
            raise RuntimeError(msg)
        return {"slept": seconds}

    return app


async def result(client: httpx.AsyncClient, id: str, wait: float | None = None, **more: Any) -> httpx.Response:
    response = await client.get(
        f"/api/v1/messages/{id}/result", params={} if wait is None else {"wait": wait}, timeout=60, **more
    )
    check_answer(response)
    return response


async def test_a_result_is_waited_for(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client), app.worker():
        handle = await app.submit("nap", {"seconds": 5})
        assert (await result(client, handle.id)).status_code == 202
        began = app.clock.monotonic()
        early = await result(client, handle.id, 2)
        assert (early.status_code, early.json()["result"]) == (202, None)
        assert app.clock.monotonic() - began == pytest.approx(2, abs=0.1)
        response = await result(client, handle.id, 20)
        assert (response.status_code, response.json()) == (
            200,
            {"id": handle.id, "state": "completed", "result": {"slept": 5.0}},
        )
        assert app.clock.monotonic() - began == pytest.approx(5, abs=1)


async def test_nobody_waits_longer_than_twenty_seconds(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        handle = await app.submit("nap", {"seconds": 5})
        response = await result(client, handle.id, 21)
        assert (response.status_code, response.json()["field"]) == (422, "wait")
        began = app.clock.monotonic()
        assert (await result(client, handle.id, 20)).status_code == 202
        assert app.clock.monotonic() - began == pytest.approx(20, abs=0.1)


async def test_what_failed_or_was_cancelled_is_a_problem(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (_, client):
        cancelled = await app.submit("nap", {"seconds": 1})
        await cancelled.cancel()
        response = await result(client, cancelled.id, 5)
        assert (response.status_code, response.json()["code"]) == (409, "message_cancelled")
        async with app.worker():
            failed = await app.submit("nap", {"seconds": 13})
            response = await result(client, failed.id, 20)
        assert (response.status_code, response.json()["code"]) == (409, "task_failed")
        assert "an unlucky secret" in response.json()["detail"]
        response = await result(client, "nothing")
        assert (response.status_code, response.json()["code"]) == (404, "message_not_found")


async def test_a_result_that_was_not_kept_is_gone(
    virtual_clock: VirtualClock, app: Tenure, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(app) as (_, client), app.worker():
        handle = await app.submit("nap", {"seconds": 0})
        await handle.result()
        record = await app.record(handle.id)
        assert record is not None

        async def without_result(id: str, queue: str | None = None) -> Any:
            import msgspec

            return msgspec.structs.replace(record, result=None)

        monkeypatch.setattr(app.state.records, "get", without_result)
        response = await result(client, handle.id)
        assert (response.status_code, response.json()["code"]) == (410, "result_gone")


async def test_those_who_wait_leave_room_for_those_who_do_not(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (served, client):
        served.server.waiting.most = 2
        handle = await app.submit("nap", {"seconds": 1})
        waiting = [asyncio.create_task(result(client, handle.id, 20)) for _ in range(2)]
        await asyncio.sleep(1)
        began = app.clock.monotonic()
        assert (await result(client, handle.id, 20)).status_code == 202
        assert app.clock.monotonic() - began < 1
        await asyncio.gather(*waiting)
        assert served.server.waiting.in_use == 0


async def test_a_server_that_stops_lets_them_go(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (served, client):
        handle = await app.submit("nap", {"seconds": 1})
        waiting = asyncio.create_task(result(client, handle.id, 20))
        await asyncio.sleep(2)
        served.server.stopping.set()
        began = app.clock.monotonic()
        assert (await waiting).status_code == 202
        assert app.clock.monotonic() - began < 1


async def _scoped(served: Application, *scopes: AccessScope) -> dict[str, str]:
    return bearer(await new_token(served, *scopes, queues=["acme-*"]))


async def test_a_status_without_the_scope_payload_has_no_texts(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (served, client), app.worker():
        failed = await app.submit("nap", {"seconds": 13})
        running = await app.submit("nap", {"seconds": 60})
        await asyncio.sleep(20)
        reads, sees = await _scoped(served, AccessScope.READ), await _scoped(served, *AccessScope)
        for id in (failed.id, running.id):
            path = f"/api/v1/messages/{id}/status"
            told, whole = await client.get(path, headers=reads), await client.get(path, headers=sees)
            check_answer(told)
            assert "secret" in whole.text
            assert "secret" not in told.text
            assert (told.json()["redacted"], whole.json()["redacted"]) == (True, False)
        assert (await result(client, failed.id, headers=reads)).status_code == 403


async def test_a_message_of_another_queue_is_not_found(virtual_clock: VirtualClock, app: Tenure) -> None:
    async with serving(app) as (served, client):
        handle = await app.submit("nap", {"seconds": 1}, queue="secret")
        headers = await _scoped(served, *AccessScope)
        for tail in ("", "/status", "/result"):
            hidden = await client.get(f"/api/v1/messages/{handle.id}{tail}", headers=headers)
            unknown = await client.get(f"/api/v1/messages/{'0' * len(handle.id)}{tail}", headers=headers)
            assert (hidden.status_code, hidden.json()["code"]) == (404, "message_not_found")
            assert hidden.json()["detail"].replace(handle.id, "0" * len(handle.id)) == unknown.json()["detail"]


@pytest.mark.parametrize(("names", "is_hidden"), [(None, False), (("token", "pin"), True), ((), False)])
async def test_a_result_is_whole_unless_the_operator_named_what_is_hidden(
    virtual_clock: VirtualClock, names: tuple[str, ...] | None, *, is_hidden: bool
) -> None:
    settings = None if names is None else Settings(server_redact=names)
    app = Tenure("memory://", clock=virtual_clock, settings=settings)

    @app.task
    async def count() -> dict[str, object]:
        return {"token": 12, "text": "x"}

    async with serving(app) as (_, client), app.worker():
        handle = await count.submit()
        assert await handle.result() == {"token": 12, "text": "x"}
        answer = await result(client, handle.id)
        assert answer.json()["result"] == {"token": "[redacted]" if is_hidden else 12, "text": "x"}
        shown = await client.get(f"/api/v1/messages/{handle.id}")
        assert shown.json()["result"]["token"] == (12 if names == () else "[redacted]"), "pages for people hide it"
