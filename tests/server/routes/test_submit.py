"""POST /tasks/{task}/submit: checked by the task's signature, in the same words as in Python."""

from typing import Any

import httpx
import pytest

from tenure import Tenure
from tenure.errors import PayloadInvalid
from tenure.server.principal import AccessScope
from tenure.testing.virtual import VirtualClock

from ..asking import bearer, new_token, serving  # noqa: TID252 - the helpers of the folder above
from .described import check_answer


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    app = Tenure("memory://", clock=virtual_clock, client="acme")

    @app.task
    async def resize(image: str, width: int = 800) -> None: ...

    @app.task(queue="secret", name="audit/all")
    async def audit() -> None: ...

    return app


async def submit(client: httpx.AsyncClient, task: str, body: Any = None, **more: Any) -> httpx.Response:
    response = await client.post(f"/api/v1/tasks/{task}/submit", json={} if body is None else body, **more)
    check_answer(response)
    return response


async def test_a_submit_is_stored_and_says_where_it_is(app: Tenure) -> None:
    async with serving(app) as (_, client):
        response = await submit(client, "resize", {"payload": {"image": "a.png"}, "id": "a/b c", "priority": 9})
        assert response.status_code == 201
        assert response.json() == {"id": "a/b c", "queue": "acme-tasks", "duplicate": False}
        assert response.headers["location"] == "/api/v1/messages/a%2Fb%20c"
        status = await client.get(response.headers["location"] + "/status")
        assert (status.json()["id"], status.json()["state"]) == ("a/b c", "ready")


async def test_behind_a_base_path_the_place_has_it_too(app: Tenure) -> None:
    async with serving(app, base_path="/tenure") as (_, client):
        response = await client.post("/tenure/api/v1/tasks/resize/submit", json={"payload": {"image": "a.png"}})
        assert response.headers["location"].startswith("/tenure/api/v1/messages/")
        assert (await client.get(response.headers["location"])).status_code == 200


async def test_a_duplicate_says_so(app: Tenure) -> None:
    async with serving(app) as (_, client):
        body = {"payload": {"image": "a.png"}}
        for headers, more in (
            ({"Idempotency-Key": "k"}, {}),
            ({}, {"id": "i"}),
            ({}, {"key": "y"}),
            ({}, {"unique": True}),
        ):
            first = await submit(client, "resize", {**body, **more}, headers=headers)
            again = await submit(client, "resize", {**body, **more}, headers=headers)
            assert (again.status_code, again.json()) == (200, {**first.json(), "duplicate": True})
            assert again.headers["location"] == first.headers["location"]
            await app.handle(first.json()["id"]).cancel()


@pytest.mark.parametrize(
    "payload", [{}, {"image": 3}, {"image": "a", "widht": 3}, {"image": "a", "width": "x"}, [], None, 3]
)
async def test_a_wrong_payload_is_refused_in_the_words_of_submit(app: Tenure, payload: Any) -> None:
    async with serving(app) as (_, client):
        response = await submit(client, "resize", {"payload": payload})
        assert (response.status_code, response.json()["code"]) == (422, "payload_invalid")
        if isinstance(payload, dict):
            with pytest.raises(PayloadInvalid) as info:
                await app.submit("resize", payload)
            assert response.json()["detail"] == str(info.value)
        assert await app.broker.depth() == []


async def test_a_task_that_is_not_there_is_refused(app: Tenure) -> None:
    async with serving(app) as (_, client):
        response = await submit(client, "rezise")
        assert (response.status_code, response.json()["code"]) == (404, "unknown_task")
        assert "did you mean 'resize'?" in response.json()["detail"]
        assert (await submit(client, "audit%2Fall")).status_code == 201


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [({"priority": 12}, 422, "bad_argument"), ({"queue": "no queue"}, 422, "bad_argument"),
     ({"id": ""}, 422, "bad_argument"), ({"colour": 1}, 422, "request_invalid"),
     ({"delay_seconds": 1, "at": "2030-01-01T00:00:00Z"}, 422, "bad_argument"),
     ({"payload": {"image": "x" * 7_000_000}}, 413, "body_too_large")],
)  # fmt: skip
async def test_wrong_options_are_refused(app: Tenure, more: dict[str, Any], status: int, code: str) -> None:
    async with serving(app) as (_, client):
        response = await submit(client, "resize", {"payload": {"image": "a"}, **more})
        assert (response.status_code, response.json()["code"]) == (status, code), response.text


async def test_another_payload_under_the_same_key_is_a_conflict(app: Tenure) -> None:
    async with serving(app) as (_, client):
        await submit(client, "resize", {"payload": {"image": "a"}, "key": "k"})
        response = await submit(client, "resize", {"payload": {"image": "b"}, "key": "k"})
        assert (response.status_code, response.json()["code"]) == (409, "key_conflict")


async def test_with_a_url_nothing_is_checked(virtual_clock: VirtualClock) -> None:
    async with serving(Tenure("memory://", clock=virtual_clock)) as (_, client):
        response = await submit(client, "anything", {"payload": [1], "queue": "q"})
        assert (response.status_code, response.json()["queue"]) == (201, "q")


async def test_a_task_of_a_queue_that_is_not_theirs_is_as_unknown_as_any_other(app: Tenure) -> None:
    async with serving(app) as (served, client):
        token = bearer(await new_token(served, AccessScope.SEND, queues=["acme-*"]))
        everything = bearer(await new_token(served))
        hidden = (await submit(client, "audit%2Fall", headers=token)).json()
        unknown = (await submit(client, "nothing%2Fall", headers=token)).json()
        assert hidden["code"] == unknown["code"] == "unknown_task"
        assert hidden["detail"].replace("audit", "nothing") == unknown["detail"]
        elsewhere = await submit(client, "resize", {"payload": {"image": "a"}, "queue": "secret"}, headers=token)
        assert (elsewhere.status_code, elsewhere.json()["code"]) == (404, "unknown_queue")
        await submit(client, "audit%2Fall", {"id": "taken"}, headers=everything)
        taken = await submit(client, "resize", {"payload": {"image": "a"}, "id": "taken"}, headers=token)
        assert (taken.status_code, taken.json()["code"]) == (422, "bad_argument")
        assert (await submit(client, "resize", {"payload": {"image": "a"}}, headers=token)).status_code == 201


async def test_a_task_without_a_queue_of_its_own_goes_to_its_clients_queue(app: Tenure) -> None:
    async with serving(app) as (served, client):
        own = {"payload": {"image": "a"}, "client": "demo"}
        assert (await submit(client, "resize", own)).json()["queue"] == "demo-tasks"
        assert (await submit(client, "audit%2Fall", {"client": "demo"})).json()["queue"] == "secret"
        demo = bearer(await new_token(served, AccessScope.SEND, queues=["demo-tasks"]))
        assert (await submit(client, "resize", own, headers=demo)).json()["queue"] == "demo-tasks"
        for body in ({"payload": {"image": "a"}}, {**own, "client": "acme"}):
            refused = await submit(client, "resize", body, headers=demo)
            assert (refused.status_code, refused.json()["code"]) == (404, "unknown_task")
        queued = {**own, "client": "acme", "queue": "demo-tasks"}
        refused = await submit(client, "resize", queued, headers=demo)
        assert (refused.status_code, refused.json()["code"]) == (404, "unknown_queue")
        wrong = await submit(client, "resize", {**own, "client": "De mo"}, headers=demo)
        assert (wrong.status_code, wrong.json()["code"]) == (422, "bad_argument")
