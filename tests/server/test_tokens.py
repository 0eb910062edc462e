"""Access tokens: made, checked, expired, revoked; what each of them opens."""

import asyncio
import logging
import os
from collections.abc import Callable
from weakref import WeakKeyDictionary

import msgspec
import pytest

from tenure import BadArgument, Tenure
from tenure.server.errors import TokenNotFound
from tenure.server.principal import AccessScope
from tenure.server.token import id_in
from tenure.server.tokens import KIND, Tokens
from tenure.testing.virtual import VirtualClock

from .asking import ELSEWHERE, HERE, OWN, bearer, client_of, new_token, serving

SESSION, TOKENS, ECHO = "/api/v1/session", "/api/v1/tokens", "/api/v1/echo"
#: Within this time every server refuses a token that was revoked.
PROMISED_SECONDS = 5.0
_PLACES: WeakKeyDictionary[VirtualClock, str] = WeakKeyDictionary()


def app_on(clock: VirtualClock, *, namespace: str | None = None) -> Tenure:
    """One more app at the place that belongs to this clock."""
    place = _PLACES.setdefault(clock, f"memory://{os.urandom(8).hex()}")
    return Tenure(place, clock=clock, namespace=namespace)


async def test_without_any_token_programs_of_this_machine_may_do_everything(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        session = (await client.get(SESSION)).json()
        assert session["name"] == "loopback"
        assert session["scopes"] == sorted(AccessScope)
        for source, url in ((ELSEWHERE, "http://127.0.0.1:8383"), (HERE, "http://10.0.0.5:8383")):
            async with client_of(served, client=source, url=url) as other:
                assert (await other.get(SESSION)).status_code in (401, 421)


async def test_once_there_was_a_token_one_is_needed_everywhere_also_after_the_last_one_is_gone(
    virtual_clock: VirtualClock,
) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        assert (await client.get(SESSION)).status_code == 200
        token = await new_token(served)
        assert (await client.get(SESSION)).status_code == 401
        assert (await client.get(SESSION, headers=bearer(token))).json()["name"] == "ci"
        await served.server.tokens.revoke(id_in(token) or "")
        await asyncio.sleep(PROMISED_SECONDS)
        assert (await client.get(SESSION)).status_code == 401
        assert (await client.get(SESSION, headers=bearer(token))).status_code == 401


async def test_another_server_notices_the_first_token_within_five_seconds(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (_, client), serving(app_on(virtual_clock)) as (other, _unused):
        assert (await client.get(SESSION)).status_code == 200
        await new_token(other)
        await asyncio.sleep(PROMISED_SECONDS)
        assert (await client.get(SESSION)).status_code == 401


async def test_open_on_loopback_needs_no_token_here_and_one_elsewhere(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock), open_on_loopback=True) as (served, client):
        token = await new_token(served)
        assert (await client.get(SESSION)).json()["name"] == "loopback"
        async with client_of(served, client=ELSEWHERE) as other:
            assert (await other.get(SESSION)).status_code == 401
            assert (await other.get(SESSION, headers=bearer(token))).status_code == 200


async def test_a_revoked_token_is_refused_by_every_server_within_five_seconds(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (one, _), serving(app_on(virtual_clock)) as (two, client):
        token = await new_token(one)
        assert (await client.get(SESSION, headers=bearer(token))).status_code == 200
        await one.server.tokens.revoke(id_in(token) or "")
        await asyncio.sleep(PROMISED_SECONDS)
        assert (await client.get(SESSION, headers=bearer(token))).status_code == 401
        async with client_of(one) as own:  # where it was revoked: at once
            assert (await own.get(SESSION, headers=bearer(token))).status_code == 401
        assert two.server.tokens is not one.server.tokens


async def test_a_token_expires(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        token = await new_token(served, expires_seconds=60)
        for seconds, status in ((58, 200), (3, 401)):
            await asyncio.sleep(seconds)
            assert (await client.get(SESSION, headers=bearer(token))).status_code == status
        assert await served.server.tokens.list() == []


@pytest.mark.parametrize(
    "change",
    [lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"), lambda text: text[:-1], lambda text: text.upper(),
     lambda text: text + "0", lambda text: "tnr_000000000000_" + text[-64:], lambda _: "tnr_", lambda _: "nonsense"],
)  # fmt: skip
async def test_what_is_not_quite_a_token_is_none(virtual_clock: VirtualClock, change: Callable[[str], str]) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        token = await new_token(served)
        assert (await client.get(SESSION, headers=bearer(change(token)))).status_code == 401
        assert (await client.get(SESSION, headers={"Authorization": f"bearer  {token}"})).status_code == 200
        assert (await client.get(SESSION, headers={"Authorization": f"Basic {token}"})).status_code == 401


async def test_the_store_never_sees_a_secret(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (served, client):
        token = await new_token(served)
        secret = token.rpartition("_")[2].encode()
        await client.get(SESSION, headers=bearer(token))
        values = await app.state.key_values.list(KIND)
        acts = await app.state.acts.read()
        assert values
        assert secret not in b"".join(value.data for value in values) + msgspec.json.encode(acts)


async def test_tokens_are_made_listed_and_revoked_over_http_and_every_act_is_kept(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (_, client):
        wanted = {"name": "ci", "scopes": ["read", "send"], "queues": ["acme-*"], "expires_seconds": 3600}
        made = await client.post(TOKENS, json=wanted)
        assert made.status_code == 201
        token = made.json()["token"]
        first = (await client.get(SESSION, headers=bearer(token))).json()
        assert (first["scopes"], first["queues"]) == (["read", "send"], ["acme-*"])
        admin = (await client.post(TOKENS, json={"name": "root", "scopes": ["admin"]}, headers=bearer(token))).json()
        assert admin["code"] == "forbidden_scope"
    async with serving(app, open_on_loopback=True) as (_, client):
        listed = (await client.get(TOKENS)).json()["tokens"]
        assert [one["name"] for one in listed] == ["ci"]
        assert "token" not in listed[0]
        assert listed[0]["created_by"] == "loopback"
        gone = await client.delete(f"{TOKENS}/{listed[0]['id']}", headers={"Content-Type": "application/json"})
        assert gone.json()["id"] == listed[0]["id"]
        again = await client.delete(f"{TOKENS}/{listed[0]['id']}", headers={"Content-Type": "application/json"})
        assert (again.status_code, again.json()["code"]) == (404, "token_not_found")
        acts = [(one.act.kind, one.act.by, one.act.triggered_by, one.act.source) for one in await app.state.acts.read()]
    who = ("loopback", "http", "127.0.0.1")
    assert acts == [("token_revoked", *who), ("token_created", *who)]


async def test_nobody_gives_away_what_they_do_not_have(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        admin = await new_token(served, AccessScope.ADMIN, AccessScope.READ)
        bound = await new_token(served, queues=["acme-*"])
        reader = await new_token(served, AccessScope.READ)
        for token, scopes, status in (
            (admin, ["read"], 201),
            (admin, ["operate"], 403),
            (bound, ["read"], 403),
            (reader, ["read"], 403),
        ):
            wanted = {"name": "x", "scopes": scopes}
            assert (await client.post(TOKENS, json=wanted, headers=bearer(token))).status_code == status
        assert (await client.get(TOKENS, headers=bearer(bound))).status_code == 403


async def test_a_scope_opens_its_routes_and_no_other(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        for scope in AccessScope:
            token = await new_token(served, scope)
            for route in OWN[:2]:
                url = f"/api/v1{route.path}"
                response = await client.request(
                    route.method, url, headers={**bearer(token), "Content-Type": "application/json"}
                )
                assert response.status_code == (200 if scope is route.scope else 403)
                assert scope is route.scope or response.json()["code"] == "forbidden_scope"


async def test_apps_that_share_a_store_share_no_tokens(virtual_clock: VirtualClock) -> None:
    shop, bank = (app_on(virtual_clock, namespace=name) for name in ("shop", "bank"))
    async with serving(shop) as (served, _), serving(bank) as (other, client):
        token = await new_token(served)
        assert (await client.get(SESSION, headers=bearer(token))).status_code == 401
        assert await other.server.tokens.list() == []
        with pytest.raises(TokenNotFound):
            await other.server.tokens.revoke(id_in(token) or "")
        assert len(await served.server.tokens.list()) == 1
        assert (await client.get(SESSION)).status_code == 200  # no token was ever made for this one


async def test_the_last_use_is_noted_at_most_once_a_minute(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (served, client):
        token = await new_token(served)

        async def version() -> str:
            (value,) = await app.state.key_values.list(KIND)
            return value.version

        async def used() -> float:
            await asyncio.sleep(0.1)
            (one,) = await Tokens(app).list()
            return one.used_at or 0.0

        await client.get(SESSION, headers=bearer(token))
        first, noted = await used(), await version()
        assert first == pytest.approx(app.state.wall(), abs=1)
        for _ in range(10):
            await asyncio.sleep(5)
            await client.get(SESSION, headers=bearer(token))
        assert (await used(), await version()) == (first, noted)
        await asyncio.sleep(15)
        await client.get(SESSION, headers=bearer(token))
        assert await used() > first
        await asyncio.sleep(PROMISED_SECONDS)
        assert (await client.get(SESSION, headers=bearer(token))).status_code == 200


async def test_a_token_that_is_used_often_costs_the_store_a_look_now_and_then(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (served, client):
        token = await new_token(served)
        await client.get(SESSION, headers=bearer(token))
        await asyncio.sleep(PROMISED_SECONDS)
        values, looks = app.state.key_values, list[str]()
        get = values.get

        async def counting(kind: str, name: str) -> object:
            looks.append(kind)
            return await get(kind, name)

        values.get = counting  # type: ignore[method-assign, assignment]
        for _ in range(100):
            assert (await client.get(SESSION, headers=bearer(token))).status_code == 200
            await asyncio.sleep(0.03)
        assert looks == [KIND]


async def test_noting_a_use_does_not_bring_a_revoked_token_back(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (served, client):
        token = await new_token(served)
        values = app.state.key_values
        get, looked = values.get, asyncio.Event()

        async def get_slowly(kind: str, name: str) -> object:
            value = await get(kind, name)
            if looked.is_set():  # the second look is the one that notes the use
                await asyncio.sleep(1)
            looked.set()
            return value

        values.get = get_slowly  # type: ignore[method-assign, assignment]
        await client.get(SESSION, headers=bearer(token))
        await asyncio.sleep(0.1)
        await values.remove(KIND, id_in(token) or "")
        await asyncio.sleep(2)
        assert await values.list(KIND) == []


async def test_wrong_tokens_are_bounded_and_hold_up_no_right_one(virtual_clock: VirtualClock) -> None:
    async with serving(app_on(virtual_clock)) as (served, client):
        token = await new_token(served)
        assert (await client.get(SESSION, headers=bearer(token))).status_code == 200
        wrong = bearer("tnr_000000000000_" + "0" * 64)
        statuses = [(await client.get(TOKENS, headers=wrong)).status_code for _ in range(12)]
        assert statuses == [401] * 10 + [429] * 2
        refused = await client.get(TOKENS, headers=wrong)
        assert refused.json()["code"] == "too_many_attempts"
        assert (await client.get(SESSION, headers=bearer(token))).status_code == 200
        async with client_of(served, client=ELSEWHERE) as other:
            assert (await other.get(TOKENS, headers=wrong)).status_code == 401
        await asyncio.sleep(int(refused.headers["retry-after"]) + 1)
        assert (await client.get(TOKENS, headers=wrong)).status_code == 401


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"name": "a\nb"}, {"name": "x" * 101}, {"scopes": []}, {"queues": []}, {"queues": ["a b"]},
     {"queues": ["../x"]}, {"expires_seconds": 0}, {"expires_seconds": -1}],
)  # fmt: skip
async def test_a_token_that_makes_no_sense_is_not_made(virtual_clock: VirtualClock, wrong: dict[str, object]) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (_, client):
        response = await client.post(TOKENS, json={"name": "ci", "scopes": ["read"], **wrong})
        assert (response.status_code, response.json()["code"]) == (422, "bad_argument")
        assert await app.state.key_values.list(KIND) == []


async def test_a_token_of_a_newer_tenure_is_refused_and_does_no_harm(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    app = app_on(virtual_clock)
    async with serving(app) as (served, client):
        await app.state.key_values.put(KIND, "0123456789ab", b'{"token": 7}', expect=None)
        with caplog.at_level(logging.WARNING):
            assert (await client.get(SESSION, headers=bearer("tnr_0123456789ab_" + "0" * 64))).status_code == 401
        assert "cannot be read" in caplog.text
        assert await served.server.tokens.list() == []


async def test_when_the_audit_log_cannot_be_written_no_token_is_handed_out(
    virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tenure import BrokerUnavailable

    app = app_on(virtual_clock)
    async with app:

        async def away(_: object) -> None:
            msg = "away"
            raise BrokerUnavailable(msg)

        monkeypatch.setattr(app.state.acts, "record", away)
        with pytest.raises(BrokerUnavailable):
            await Tokens(app).create("ci", [AccessScope.READ])
        assert await app.state.key_values.list(KIND) == []


async def test_a_name_is_no_queue(virtual_clock: VirtualClock) -> None:
    async with app_on(virtual_clock) as app:
        with pytest.raises(BadArgument, match="cannot name queues"):
            await Tokens(app).create("ci", [AccessScope.READ], ["a/b"])


async def test_a_server_that_only_looks_refuses_acts_and_writes_nothing(virtual_clock: VirtualClock) -> None:
    app = app_on(virtual_clock)
    async with app:
        text = (await Tokens(app).create("ci", sorted(AccessScope))).token
        (before,) = await app.state.key_values.list(KIND)
        for options in ({"view": True}, {"read_only": True}):
            async with serving(app, **options) as (_, client):
                response = await client.post(ECHO, json={}, headers=bearer(text))
                assert (response.status_code, response.json()["code"]) == (403, "read_only")
                assert (await client.get("/api/v1/text", headers=bearer(text))).status_code == 200
                await asyncio.sleep(1)
            (after,) = await app.state.key_values.list(KIND)
            assert (after.version == before.version) == ("view" in options)
