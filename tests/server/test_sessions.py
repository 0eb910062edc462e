"""The session of a browser: a cookie instead of the token, for pages of this server only."""

import asyncio

import httpx
import pytest

from tenure import Tenure
from tenure.server.application import Application
from tenure.server.principal import AccessScope
from tenure.server.token import id_in
from tenure.testing.virtual import VirtualClock

from .asking import bearer, client_of, new_token, serving

SESSION, ECHO = "/api/v1/session", "/api/v1/echo"
OURS = {"Origin": "http://127.0.0.1:8383", "Sec-Fetch-Site": "same-origin"}
NAME = "tenure_session_8383"


def app_on(clock: VirtualClock) -> Tenure:
    return Tenure("memory://", clock=clock)


async def logged_in(served: Application, client: httpx.AsyncClient, *scopes: AccessScope, seconds: float = 1e9) -> str:
    token = await new_token(served, *scopes, expires_seconds=seconds)
    response = await client.post(SESSION, json={"token": token}, headers=OURS)
    assert response.status_code == 200, response.text
    return token


async def test_a_browser_logs_in_says_who_it_is_and_logs_out(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        await logged_in(served, client, AccessScope.READ)
        session = (await client.get(SESSION)).json()
        assert (session["name"], session["scopes"], session["queues"]) == ("ci", ["read"], ["*"])
        gone = await client.delete(SESSION, headers={**OURS, "Content-Type": "application/json"})
        assert (gone.status_code, gone.content) == (204, b"")
        assert (await client.get(SESSION)).status_code == 401


async def test_the_cookie_is_for_this_server_alone_and_has_no_secret(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        token = await new_token(served, expires_seconds=600)
        cookie = (await client.post(SESSION, json={"token": token})).headers["set-cookie"]
        value, *attributes = cookie.split("; ")
        assert value.startswith(f"{NAME}={id_in(token)}.")
        assert token.rpartition("_")[2] not in cookie
        assert attributes == ["Path=/", "Max-Age=600", "HttpOnly", "SameSite=Strict"]
        async with client_of(served, url="https://localhost") as secure:
            cookie = (await secure.post(SESSION, json={"token": token})).headers["set-cookie"]
        assert cookie.startswith("tenure_session=")
        assert cookie.endswith("; SameSite=Strict; Secure")


async def test_a_session_ends_with_its_token(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        token = await logged_in(served, client)
        assert (await client.get(SESSION)).status_code == 200
        await served.server.tokens.revoke(id_in(token) or "")
        await asyncio.sleep(5)
        assert (await client.get(SESSION)).status_code == 401
        await logged_in(served, client, seconds=60)
        kept = dict(client.cookies)
        await asyncio.sleep(61)
        response = await client.get(SESSION, headers={"Cookie": f"{NAME}={kept[NAME]}"})
        assert response.status_code == 401


async def test_a_session_lasts_thirty_days_at_most(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        await logged_in(served, client)
        value = client.cookies[NAME]
        virtual_clock.now += 30 * 86_400 + 1
        assert (await client.get(SESSION, headers={"Cookie": f"{NAME}={value}"})).status_code == 401


@pytest.mark.parametrize("place", [0, 3, 12, 14, 30, -1])
async def test_a_cookie_that_was_changed_is_none(virtual_clock: VirtualClock, place: int) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        await logged_in(served, client)
        value = client.cookies[NAME]
        assert (await client.get(SESSION, headers={"Cookie": f"{NAME}={value}"})).status_code == 200
        # Not the last bits of the last character: base64 does not use all of them.
        changed = value[:place] + ("A" if value[place] != "A" else "Q") + (value[place + 1 :] if place != -1 else "")
        client.cookies.clear()
        for wrong in (changed, "", ".", "..", "a.b.c", value.rpartition(".")[0], "é.1.x".encode().decode("latin-1")):
            response = await client.get(SESSION, headers=[(b"Cookie", f"{NAME}={wrong}".encode("latin-1"))])
            assert response.status_code == 401, wrong


async def test_a_cookie_of_one_server_is_good_on_another_and_not_at_another_store(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (one, client):
        await logged_in(one, client)
        value = client.cookies[NAME]
    async with serving(app) as (_, other):
        assert (await other.get(SESSION, headers={"Cookie": f"{NAME}={value}"})).status_code == 200
    async with serving(app_on(virtual_clock)) as (third, other):
        await new_token(third)
        assert (await other.get(SESSION, headers={"Cookie": f"{NAME}={value}"})).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403), ({"Origin": "http://127.0.0.1:9999"}, 403), ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403), (OURS, 200), ({"Origin": OURS["Origin"]}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200), ({"X-Tenure-Request": "1"}, 200),
    ],
)  # fmt: skip
async def test_with_a_cookie_only_a_page_of_this_server_acts(
    virtual_clock: VirtualClock, headers: dict[str, str], status: int
) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        await logged_in(served, client)
        response = await client.post(ECHO, json={}, headers=headers)
        assert response.status_code == status
        assert status == 200 or response.json()["code"] == "cross_origin"


async def test_a_wrong_token_does_not_log_in(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        await new_token(served)
        for wrong in ("", "x", "tnr_000000000000_" + "0" * 64):
            response = await client.post(SESSION, json={"token": wrong}, headers=OURS)
            assert (response.status_code, response.json()["code"]) == (401, "unauthenticated")
            assert "set-cookie" not in response.headers
        statuses = [(await client.post(SESSION, json={"token": "x"}, headers=OURS)).status_code for _ in range(10)]
        assert statuses[-1] == 429


async def test_a_token_in_the_request_goes_before_the_cookie(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        await logged_in(served, client)
        other = await new_token(served, name="other")
        assert (await client.get(SESSION, headers=bearer(other))).json()["name"] == "other"


async def test_a_base_path_is_the_cookies_path(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock), base_path="/tenure/") as (served, client):
        token = await new_token(served)
        for path in ("/tenure", ""):  # some proxies remove it, others do not
            response = await client.post(f"{path}{SESSION}", json={"token": token})
            assert "; Path=/tenure;" in response.headers["set-cookie"]


async def test_a_secret_of_the_environment_signs_too(virtual_clock: VirtualClock) -> None:
    from tenure.client.signing import KIND
    from tenure.config import Settings

    app = Tenure("memory://", clock=virtual_clock, settings=Settings(secret_key="k" * 32))
    async with serving(app) as (served, client):
        await logged_in(served, client)
        assert (await client.get(SESSION)).status_code == 200
        assert await app.state.key_values.list(KIND) == []
