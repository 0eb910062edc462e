"""What is refused before a route is asked: each rule with an attack, and with its allowed twin."""

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator

import httpx
import pytest

from tenure import Tenure
from tenure.config import Settings
from tenure.server.guard.body import MOST_SILENT_SECONDS
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.testing.virtual import VirtualClock

from .asking import application, bearer, client_of, new_token, serving

ECHO = "/api/v1/echo"


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    return Tenure("memory://", clock=virtual_clock, settings=Settings(server_body_limit=2_000))


def code_of(response: httpx.Response) -> tuple[int, str]:
    """Status and code of a problem document, which must be one in every respect."""
    problem = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["status"] == response.status_code
    assert problem["type"] == f"urn:tenure:problem:{problem['code']}"
    assert all(problem[name] for name in ("title", "detail", "remedy"))
    assert problem["request_id"] == response.headers["x-request-id"]
    return response.status_code, problem["code"]


# -- host ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost:8383", "127.0.0.1", "127.8.8.8:1", "[::1]:8383", "LOCALHOST", "a.localhost"]
)
async def test_a_name_of_this_machine_is_ours(app: Tenure, host: str) -> None:
    async with serving(app) as (_, client):
        assert (await client.get("/api/v1/session", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8383", "localhost.evil.example", "10.0.0.5", "",
             "a@localhost", "localhost/x", "localhost:x"]
)  # fmt: skip
async def test_a_page_that_lets_its_name_point_here_is_refused(app: Tenure, host: str) -> None:
    async with serving(app) as (_, client):
        response = await client.get("/api/v1/session", headers={"Host": host})
        assert code_of(response) == (421, "host_refused")


async def test_two_hosts_are_none(app: Tenure) -> None:
    async with serving(app) as (_, client):
        headers = [("Host", "localhost"), ("Host", "evil.example")]
        assert code_of(await client.get("/api/v1/session", headers=headers)) == (421, "host_refused")


async def test_a_host_that_was_named_is_ours(app: Tenure) -> None:
    async with serving(app, hosts=["queue.example", "*.queue.example"]) as (served, client):
        token = await new_token(served)
        for host, status in (("queue.example", 200), ("eu.Queue.example:80", 200), ("queue.example.evil", 421)):
            response = await client.get("/api/v1/session", headers={"Host": host, **bearer(token)})
            assert response.status_code == status, host


async def test_where_other_machines_may_ask_any_address_is_ours_but_no_other_name(app: Tenure) -> None:
    async with serving(app, any_address=True) as (served, client):
        token = await new_token(served)
        for host, status in (("10.0.0.5:8383", 200), ("[2001:db8::1]", 200), ("evil.example", 421)):
            response = await client.get("/api/v1/session", headers={"Host": host, **bearer(token)})
            assert response.status_code == status, host


async def test_a_prober_may_use_any_name_and_learns_nothing(app: Tenure) -> None:
    async with serving(app) as (_, client):
        for path in ("/livez", "/readyz"):
            headers = {"Host": "10.1.2.3:8383", "X-Forwarded-For": "10.0.0.1"}
            response = await client.get(path, headers=headers)
            assert response.status_code == 200
            assert response.json() in ({"alive": True}, {"ready": True, "problems": []})


# -- proxy -----------------------------------------------------------------------------------------------------

_THROUGH_A_PROXY = [
    {"X-Forwarded-For": "203.0.113.7"}, {"Forwarded": "for=203.0.113.7"}, {"X-Forwarded-Host": "queue.example"},
    {"Via": "1.1 proxy"}, {"X-Real-IP": "203.0.113.7"}, {"CF-Connecting-IP": "203.0.113.7"},
    {"Referer": "https://queue.example/"}, {"Referer": "http://[x"},
]  # fmt: skip


@pytest.mark.parametrize("headers", _THROUGH_A_PROXY, ids=lambda headers: next(iter(headers)))
async def test_a_proxy_cannot_expose_a_server_without_tokens(app: Tenure, headers: dict[str, str]) -> None:
    async with serving(app) as (served, client):
        assert code_of(await client.get("/api/v1/session", headers=headers)) == (403, "proxy_refused")
        token = await new_token(served)
        allowed = await client.get("/api/v1/session", headers={**headers, **bearer(token)})
        assert allowed.status_code == 200


@pytest.mark.parametrize("headers", _THROUGH_A_PROXY, ids=lambda headers: next(iter(headers)))
async def test_with_open_on_loopback_too_a_proxy_lets_nobody_in(app: Tenure, headers: dict[str, str]) -> None:
    async with serving(app, open_on_loopback=True) as (served, client):
        await new_token(served)
        assert (await client.get("/api/v1/tokens")).status_code == 200
        assert code_of(await client.get("/api/v1/tokens", headers=headers)) == (401, "unauthenticated")


# -- origin ----------------------------------------------------------------------------------------------------

OURS = "http://127.0.0.1:8383"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Content-Type": "text/plain"}, (415, "not_json")),
        ({"Content-Type": "application/x-www-form-urlencoded"}, (415, "not_json")),
        ({"Content-Type": "multipart/form-data; boundary=application/json"}, (415, "not_json")),
        ({"Content-Type": ""}, (415, "not_json")),
        ({"Origin": "http://localhost:9999"}, (403, "cross_origin")),
        ({"Origin": "http://localhost:8383"}, (403, "cross_origin")),
        ({"Origin": "null"}, (403, "cross_origin")),
        ({"Origin": ""}, (403, "cross_origin")),
        ({"Origin": "chrome-extension://abc"}, (403, "cross_origin")),
        ({"Sec-Fetch-Site": "cross-site"}, (403, "cross_origin")),
        ({"Sec-Fetch-Site": "same-site", "Origin": OURS}, (403, "cross_origin")),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, (403, "cross_origin")),
        ({"Origin": OURS, "Sec-Fetch-Site": "same-origin"}, None),
        ({"Origin": OURS}, None),
        ({"Content-Type": "application/json; charset=utf-8"}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("has_token", [False, True])
async def test_only_programs_and_our_own_pages_may_act(
    app: Tenure, headers: dict[str, str], expected: tuple[int, str] | None, has_token: bool
) -> None:
    async with serving(app) as (served, client):
        own = bearer(await new_token(served)) if has_token else {}
        response = await client.post(
            ECHO, content=b"{}", headers={"Content-Type": "application/json", **own, **headers}
        )
        if expected is None:
            assert response.status_code == 200
        else:
            assert code_of(response) == expected


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_another_page_loads_nothing_from_us_but_may_link_to_us(app: Tenure, site: str) -> None:
    async with serving(app) as (_, client):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        assert code_of(await client.get("/api/v1/session", headers=headers)) == (403, "cross_origin")
        headers["Sec-Fetch-Mode"] = "navigate"
        assert (await client.get("/api/v1/session", headers=headers)).status_code == 200


async def test_no_other_page_is_ever_allowed_to_ask(app: Tenure) -> None:
    async with serving(app) as (_, client):
        headers = {"Origin": "http://localhost:9999", "Access-Control-Request-Method": "POST"}
        for response in (await client.options(ECHO, headers=headers), await client.options(ECHO)):
            assert response.status_code in (403, 405)
            assert not [name for name in response.headers if name.startswith("access-control")]


# -- body ------------------------------------------------------------------------------------------------------

JSON = {"Content-Type": "application/json"}


async def test_a_body_over_the_limit_is_refused_by_its_length_and_by_what_comes(app: Tenure) -> None:
    async with serving(app) as (_, client):
        large = b'{"text": "' + b"x" * 2_000 + b'"}'

        async def parts() -> AsyncIterator[bytes]:
            for begin in range(0, len(large), 500):
                yield large[begin : begin + 500]

        for content in (large, parts()):
            response = await client.post(ECHO, content=content, headers=JSON)
            assert code_of(response) == (413, "request_too_large")
        assert (await client.post(ECHO, content=large[:10] + large[100:], headers=JSON)).status_code == 200


async def test_a_body_that_does_not_come_is_not_waited_for(app: Tenure) -> None:
    async def part_by_part(pause: float) -> AsyncIterator[bytes]:
        for part in (b'{"text"', b': "', b'slow"}'):
            await asyncio.sleep(pause)
            yield part

    async with serving(app) as (_, client):
        slow = await client.post(ECHO, content=part_by_part(MOST_SILENT_SECONDS + 1), headers=JSON)
        assert code_of(slow) == (408, "request_too_slow")
        assert (await client.post(ECHO, content=part_by_part(1), headers=JSON)).json()["text"] == "slow"


async def test_bytes_now_and_then_are_bounded_in_all(app: Tenure, virtual_clock: VirtualClock) -> None:
    async def drops() -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(5)
            yield b" "

    async with serving(app) as (_, client):
        assert code_of(await client.post(ECHO, content=drops(), headers=JSON)) == (408, "request_too_slow")


async def test_a_compressed_body_is_not_taken(app: Tenure) -> None:
    async with serving(app) as (_, client):
        bomb = gzip.compress(b"0" * 1_000_000)
        headers = {**JSON, "Content-Encoding": "gzip"}
        assert code_of(await client.post(ECHO, content=bomb, headers=headers)) == (422, "request_invalid")


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"count": "x"}', b"[]", b"[" * 1_900, b'{"count": 1e999}'])
async def test_a_body_that_does_not_fit_is_answered_with_its_place(app: Tenure, body: bytes) -> None:
    async with serving(app) as (_, client):
        response = await client.post(ECHO, content=body, headers=JSON)
        assert code_of(response) == (422, "request_invalid")
        assert response.json()["field"] in ("body", "count")


# -- sizes and load --------------------------------------------------------------------------------------------


async def test_long_addresses_and_headers_are_refused(app: Tenure) -> None:
    async with serving(app) as (_, client):
        for response in (
            await client.get(f"/api/v1/session?x={'x' * 9_000}"),
            await client.get("/api/v1/session", headers={"X-Long": "x" * 40_000}),
            await client.get("/api/v1/session", headers={f"X-{number}": "x" for number in range(100)}),
        ):
            assert code_of(response) == (413, "request_too_large")


async def test_no_more_requests_are_worked_on_than_may_be(virtual_clock: VirtualClock) -> None:
    entered, goes_on = asyncio.Event(), asyncio.Event()

    async def hold(ask: Ask[None, None]) -> Reply:
        entered.set()
        await goes_on.wait()
        return Reply(value={})

    held = Route(method="GET", path="/hold", scope=AccessScope.READ, handler=hold, summary="Hold")
    app = Tenure("memory://", clock=virtual_clock, settings=Settings(server_most_requests=1))
    async with serving(app, routes=(held,)) as (_, client):
        first = asyncio.create_task(client.get("/api/v1/hold"))
        await entered.wait()
        refused = await client.get("/api/v1/session")
        assert code_of(refused) == (503, "server_busy")
        assert refused.headers["retry-after"] == "1"
        assert (await client.get("/readyz")).status_code == 200
        goes_on.set()
        assert (await first).status_code == 200
        assert (await client.get("/api/v1/session")).status_code == 200


# -- every answer ----------------------------------------------------------------------------------------------


async def test_every_answer_has_the_security_headers(app: Tenure) -> None:
    async with serving(app) as (_, client):
        for path in ("/api/v1/session", "/api/v1/nothing", "/nothing", "/livez"):
            headers = (await client.get(path)).headers
            policy = headers["content-security-policy"]
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            assert headers["referrer-policy"] == "no-referrer"
            assert len(headers["x-request-id"]) == 16


async def test_what_is_not_there_is_a_problem_document(app: Tenure) -> None:
    async with serving(app) as (_, client):
        for path in (
            "/api/v1/nothing",
            "/api/v1",
            "/api/v1/",
            "/api/v1/session/",
            "//api/v1/session",
            "/nowhere",
            "/queues/a/b",
            "/api/v2/x",
        ):
            assert code_of(await client.get(path)) == (404, "route_not_found"), path
        response = await client.put("/api/v1/tokens", json={})
        assert code_of(response) == (405, "method_not_allowed")
        assert sorted(response.headers["allow"].split(", ")) == ["GET", "HEAD", "POST"]


async def test_a_mistake_of_ours_is_logged_and_tells_nothing(app: Tenure, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(app) as (_, client):
        response = await client.get("/api/v1/fail")
    assert code_of(response) == (500, "internal")
    assert "secret of the inside" not in response.text
    assert "Traceback" not in response.text
    (record,) = [one for one in caplog.records if one.exc_info]
    assert response.headers["x-request-id"] in record.getMessage()


@pytest.mark.parametrize(
    ("accepts", "query", "is_compressed"),
    [("gzip, br", "limit=5000", True), ("gzip;q=0", "limit=5000", False), ("", "limit=5000", False),
     ("gzip", "limit=500", False), ("gzip", "limit=5000&deep=true", False)],
)  # fmt: skip
async def test_long_answers_are_compressed_unless_they_carry_a_secret(
    app: Tenure, accepts: str, query: str, is_compressed: bool
) -> None:
    async with serving(app) as (_, client):
        response = await client.get(f"/api/v1/text?{query}", headers={"Accept-Encoding": accepts})
        assert (response.headers.get("content-encoding") == "gzip") == is_compressed
        assert response.json()["text"].startswith("xxx")


@pytest.mark.parametrize(
    ("query", "field"),
    [("limit=x", "limit"), ("limit=1&limit=2", "limit"), ("lmit=1", "lmit"), ("deep=maybe", "deep"),
     ("limit=%ff", "query"), ("&".join(["queue=a"] * 300), "query")],
)  # fmt: skip
async def test_a_parameter_that_does_not_fit_is_named(app: Tenure, query: str, field: str) -> None:
    async with serving(app) as (_, client):
        response = await client.get(f"/api/v1/text?{query}")
        assert code_of(response) == (422, "request_invalid")
        assert response.json()["field"] == field


async def test_parameters_are_decoded_to_their_types(app: Tenure) -> None:
    async with serving(app) as (_, client):
        response = await client.get("/api/v1/text?limit=3&queue=a&queue=b%2Fc&deep=1")
        assert response.json() == {"text": "xxx", "queues": ["a", "b/c"]}


async def test_a_head_is_answered_as_a_get_without_its_body(app: Tenure) -> None:
    async with serving(app) as (_, client):
        assert (await client.head("/api/v1/session")).status_code == 200


async def test_acts_and_refusals_are_logged_and_looks_only_on_request(
    app: Tenure, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "tenure.server")
    async with serving(app) as (served, client):
        token = await new_token(served, name="ci")
        for path, level in (("/api/v1/session", logging.DEBUG), ("/api/v1/nothing?token=x", logging.INFO)):
            caplog.clear()
            response = await client.get(path, headers=bearer(token))
            (record,) = [one for one in caplog.records if "request_id" in one.__dict__]
            assert record.levelno == level
            assert record.__dict__["request_id"] == response.headers["x-request-id"]
            assert record.__dict__["status"] == response.status_code
            assert token not in record.getMessage()
            assert "?" not in record.getMessage()
        caplog.clear()
        await client.post(ECHO, json={}, headers=bearer(token))
        (record,) = [one for one in caplog.records if "request_id" in one.__dict__]
        assert (record.levelno, record.__dict__["principal"]) == (logging.INFO, "ci")


async def test_a_websocket_is_not_opened(app: Tenure) -> None:
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    await application(app)({"type": "websocket", "path": "/", "headers": []}, receive, send)  # type: ignore[arg-type]
    assert [message["type"] for message in sent] == ["websocket.close"]


async def test_a_length_stated_in_two_ways_is_refused(app: Tenure) -> None:
    async with serving(app) as (_, client):
        headers = {**JSON, "Transfer-Encoding": "chunked", "Content-Length": "2"}
        response = await client.post(ECHO, content=b"{}", headers=headers)
        assert code_of(response) == (400, "ambiguous_length")
        assert response.headers["connection"] == "close"


async def test_a_probe_only_looks(app: Tenure) -> None:
    async with serving(app) as (_, client):
        for method in ("POST", "CONNECT", "TRACE", "DELETE"):
            response = await client.request(method, "/livez", headers=JSON)
            assert code_of(response) == (405, "method_not_allowed")


async def test_a_line_of_the_log_is_one_line_whatever_the_path(app: Tenure, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tenure.server")
    async with serving(app) as (_, client):
        await client.get("/%0aforged%1b[31m%E2%80%AE")
    (record,) = [one for one in caplog.records if "request_id" in one.__dict__]
    assert record.getMessage().isprintable()
    assert str(record.__dict__["path"]).isprintable()


async def test_http_1_0_is_how_proxies_speak(app: Tenure) -> None:
    async with serving(app) as (served, _):
        statuses = []

        async def send(message: dict[str, object]) -> None:
            statuses.append(message.get("status"))

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": b"", "more_body": False}

        for version in ("1.0", "1.1"):
            scope = {
                "type": "http", "http_version": version, "method": "GET", "path": "/api/v1/session",
                "query_string": b"", "raw_path": b"/api/v1/session", "headers": [(b"host", b"127.0.0.1")],
                "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8383), "root_path": "",
            }  # fmt: skip
            await served(scope, receive, send)  # type: ignore[arg-type]
        assert [status for status in statuses if status] == [403, 200]


async def test_a_store_that_is_away_is_503_and_names_no_host(app: Tenure, monkeypatch: pytest.MonkeyPatch) -> None:
    from tenure.errors import BrokerUnavailable

    async with serving(app) as (served, client):

        async def away(*_: object) -> None:
            msg = "redis at 10.0.0.5:6379 is away"
            raise BrokerUnavailable(msg)

        token = await new_token(served)
        served.server.tokens._fresh.clear()
        monkeypatch.setattr(app.state.key_values, "get", away)
        response = await client.get("/api/v1/session", headers=bearer(token))
        assert code_of(response) == (503, "broker_unavailable")
        assert response.headers["retry-after"] == "5"
        assert "10.0.0.5" not in response.text
        async with client_of(served, client=("203.0.113.7", 1)) as remote:
            assert (await remote.get("/api/v1/session")).status_code in (401, 503)
