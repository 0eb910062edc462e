"""The hook: the application around says who asks."""

import asyncio

import pytest
from starlette.requests import Request

from tenure import Tenure
from tenure.server import AccessScope, Principal
from tenure.testing.virtual import VirtualClock

from .asking import ELSEWHERE, bearer, client_of, new_token, serving

SESSION, ECHO = "/api/v1/session", "/api/v1/echo"
ALICE = Principal("alice", frozenset({AccessScope.READ}), ("acme-*",))


def by_header(request: Request) -> Principal | None:
    return ALICE if request.headers.get("x-user") == "alice" else None


async def by_header_later(request: Request) -> Principal | None:
    await asyncio.sleep(0.01)
    return by_header(request)


@pytest.mark.parametrize("hook", [by_header, by_header_later])
async def test_the_hook_says_who_asks_and_what_they_may(virtual_clock: VirtualClock, hook: object) -> None:
    async with serving(Tenure("memory://", clock=virtual_clock), authenticate=hook) as (served, client):
        alice = {"X-User": "alice"}
        session = (await client.get(SESSION, headers=alice)).json()
        assert (session["name"], session["scopes"], session["queues"]) == ("alice", ["read"], ["acme-*"])
        assert (await client.post(ECHO, json={}, headers=alice)).json()["code"] == "forbidden_scope"
        for headers in ({}, {"X-User": "bob"}):  # on loopback too
            assert (await client.get(SESSION, headers=headers)).status_code == 401
        async with client_of(served, client=ELSEWHERE, url="https://queue.example") as other:
            assert (await other.get(SESSION, headers=alice)).status_code == 200


async def test_tokens_are_good_beside_a_hook(virtual_clock: VirtualClock) -> None:
    async with serving(Tenure("memory://", clock=virtual_clock), authenticate=by_header) as (served, client):
        token = await new_token(served)
        assert (await client.get(SESSION, headers=bearer(token))).json()["name"] == "ci"


@pytest.mark.parametrize("wrong", ["alice", True, {"name": "alice"}])
async def test_a_hook_that_answers_nonsense_lets_nobody_in(
    virtual_clock: VirtualClock, wrong: object, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(Tenure("memory://", clock=virtual_clock), authenticate=lambda _: wrong) as (_, client):
        response = await client.get("/api/v1/tokens")
        assert (response.status_code, response.json()["code"]) == (500, "internal")
    assert "it must return a Principal or None" in caplog.text


async def test_a_hook_that_fails_lets_nobody_in(virtual_clock: VirtualClock) -> None:
    def hook(_: Request) -> Principal:
        msg = "ldap://user:password@10.0.0.5"
        raise ConnectionError(msg)

    async with serving(Tenure("memory://", clock=virtual_clock), authenticate=hook) as (_, client):
        response = await client.get("/api/v1/tokens")
        assert response.status_code == 500
        assert "ldap" not in response.text


async def test_a_principal_may_end_while_its_request_goes_on(virtual_clock: VirtualClock) -> None:
    users = {"alice"}

    def hook(_: Request) -> Principal | None:
        return ALICE if "alice" in users else None

    async with serving(Tenure("memory://", clock=virtual_clock), authenticate=hook) as (served, _):
        authentication = served.server.authentication
        scope = {"type": "http", "method": "GET", "headers": [], "client": ("127.0.0.1", 1), "path": "/"}
        assert await authentication.is_still(ALICE, Request(scope))
        users.clear()
        assert not await authentication.is_still(ALICE, Request(scope))
