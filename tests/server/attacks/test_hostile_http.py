"""Hostile HTTP against a real server: what is no clean request is refused, and nothing that follows it is believed.

Every answer is one of ours or of the web server's, none is a 5xx, and the server goes on (`conftest.py`).
"""

import re
import socket
from collections.abc import Sequence

import pytest
from tests.cli.process import SOON

from ..serving import answer_of  # noqa: TID252 - the helpers of the folder above
from .conftest import Target

pytestmark = pytest.mark.scenario

SESSION = "/api/v1/session"
#: A request that would tell that it was answered.
HIDDEN = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
ALIVE = b'{"alive":true}'
POST = b"POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def exchange(target: Target, raw: bytes) -> bytes:
    """What the server says to these bytes until it closes the connection."""
    with socket.create_connection(("127.0.0.1", target.port), timeout=SOON) as connection:
        connection.sendall(raw)
        found = b""
        try:
            while part := connection.recv(65_536):
                found += part
        except ConnectionResetError:
            pass
        return found


def statuses(answer: bytes) -> list[int]:
    return [int(one) for one in re.findall(rb"HTTP/1\.1 (\d\d\d) ", answer)]


def request(method: str, path: str, *headers: str, body: bytes = b"", host: str = "localhost") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


# -- where one request ends and the next begins ------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + HIDDEN,
        POST + b"Content-Length: 0\r\nContent-Length: 43\r\n\r\n" + HIDDEN,
        POST + b"Content-Length: 0, 43\r\n\r\n" + HIDDEN,
        POST + b"Content-Length: +0\r\n\r\n" + HIDDEN,
        POST + b"Content-Length: 0x0\r\n\r\n" + HIDDEN,
        POST + b"Content-Length: -1\r\n\r\n" + HIDDEN,
        POST + b"Content-Length: 00000000000000000000000000\r\n\r\n" + HIDDEN,
        POST + b"Content-Length : 0\r\n\r\n" + HIDDEN,
        POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + HIDDEN,
        POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + HIDDEN,
        POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + HIDDEN,
        POST + b"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" + HIDDEN,
        POST + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFFFFFFFF\r\n\r\n" + HIDDEN,
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n" + HIDDEN,
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n" + HIDDEN,
        b"GET /\r\n\r\n" + HIDDEN,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + HIDDEN,
        b"GET / HTTP/1.1 HTTP/1.1\r\nHost: localhost\r\n\r\n" + HIDDEN,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + HIDDEN,
    ],
)
def test_a_request_without_one_clear_end_is_refused_and_what_follows_is_no_request(target: Target, raw: bytes) -> None:
    answer = exchange(target, raw)
    assert statuses(answer)
    assert all(400 <= status < 500 for status in statuses(answer))
    assert ALIVE not in answer


def test_a_request_in_the_body_of_another_is_its_body(target: Target) -> None:
    answer = exchange(target, request("GET", SESSION, body=HIDDEN))
    assert statuses(answer) == [200]
    assert ALIVE not in answer


def test_requests_that_come_together_are_answered_in_their_order(target: Target) -> None:
    raw = HIDDEN + request("GET", "/nothing").replace(b"Connection: close\r\n", b"") + request("GET", SESSION) + HIDDEN
    answer = exchange(target, raw)
    assert statuses(answer) == [200, 404, 200]  # the third one closes, so the fourth is no request
    assert answer.index(ALIVE) < answer.index(b"route_not_found") < answer.index(b'"loopback"')


# -- the address -------------------------------------------------------------------------------------------------

_LONG = "a" * 8_000


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/../v1/session", "/api/v1/%2e%2e/v1/session", "/api/v1/%252e%252e/session", "/./api/v1/session",
        "//api/v1/session", "/api//v1/session", "/api/v1//session", "/api/v1/session/", "/api%2fv1/session",
        "/api\\v1\\session", "/api/v1/session;x=1", "/API/V1/SESSION", "/api/v1/session%00", "/api/v1/session%20",
        "/api/v1/docs/../../../../etc/passwd", "/api/v1/docs/..%2f..%2fetc%2fpasswd", "/etc/passwd",
        "/api/v1/queues/%00", "/api/v1/queues/%ff", "/api/v1/queues/%c0%ae%c0%ae", "/api/v1/queues/..",
        "/api/v1/queues/%2e%2e", "/api/v1/queues/..%2f..%2fetc%2fpasswd", "/api/v1/queues/%0d%0aX-Injected:%201",
        f"/api/v1/queues/{_LONG}", "/api/v1/messages/%1b%5b31m", "/api/v1/messages/'%20or%201=1--", "*",
        "http://evil.example/api/v1/session", "http://localhost/api/v1/session", "http:///api/v1/session",
    ],
)  # fmt: skip
def test_a_path_that_is_none_of_ours_finds_nothing(target: Target, path: str) -> None:
    answer = exchange(target, request("GET", path))
    (status,) = statuses(answer)
    assert status in (400, 404, 422)
    assert b"\r\nX-Injected" not in answer
    assert b"root:" not in answer
    assert b"application/problem+json" in answer


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (request("GET", f"/{'a' * 9_000}"), 413),
        (request("GET", f"/?{'a' * 9_000}"), 413),
        (request("GET", "/", f"X: {'a' * 40_000}"), 413),
        (request("GET", "/", *(f"X-{number}: 1" for number in range(200))), 413),
        (request("GET", "/", f"X: {'a' * 200_000}"), 400),
        (request("GET", SESSION, host="evil.example"), 421),
        (request("GET", "http://localhost" + SESSION, host="evil.example"), 421),
    ],
    ids=["path", "query", "header", "headers", "header that never ends", "host", "host beside a whole address"],
)
def test_what_is_too_long_or_for_somebody_else_is_refused(target: Target, raw: bytes, status: int) -> None:
    assert statuses(exchange(target, raw)) == [status]


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "OPTIONS", "PATCH", "PUT", "FOO", "get"])
def test_other_methods_do_nothing_and_echo_nothing(target: Target, method: str) -> None:
    for path in (SESSION, "/livez", "*", "127.0.0.1:22"):
        answer = exchange(target, request(method, path, "X-Secret: 4711", "Content-Type: application/json"))
        (status,) = statuses(answer)
        assert status in ((200, 404, 405) if path == "/livez" else (404, 405)), path
        assert b"4711" not in answer


def test_a_head_has_no_body(target: Target) -> None:
    answer = exchange(target, request("HEAD", SESSION))
    assert statuses(answer) == [200]
    assert answer.endswith(b"\r\n\r\n")


# -- headers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        "Referer: http://[x", "Referer: \xe9\xff", "Referer: //", "Origin: http://[x", "Origin: \xff", "Cookie: =;=;;",
        "Cookie: tenure_session=..\xff", "Cookie: tenure_session_0=a.b.c", "Authorization: Bearer \xff",
        "Authorization: Bearer tnr_", "Authorization: Bearer tnr_zzzzzzzzzzzz_" + "0" * 64, "Authorization: Basic :",
        "If-None-Match: " + '",' * 500, "Last-Event-ID: " + "9" * 400, "Accept-Encoding: gzip;q=x,;,*;q=",
        "Accept: " + ",;" * 500, "Content-Type: \xff", "Sec-Fetch-Site: \xff", "Expect: 100-continue",
        "Upgrade: websocket", "Range: bytes=0-0,-1", 'Forwarded: for="', "X-Forwarded-For: \xff,,,",
    ],
)  # fmt: skip
def test_a_header_of_nonsense_is_no_mistake_of_ours(target: Target, header: str) -> None:
    for path in (SESSION, "/api/v1/overview", "/api/v1/snapshots/overview", "/api/v1/events", "/api/v1/openapi.json"):
        answer = exchange(target, request("GET", path, header))
        assert all(status < 500 for status in statuses(answer)), (path, answer)
        assert statuses(answer)


# -- the body ----------------------------------------------------------------------------------------------------

_ONE = b'{"messages":[{"queue":"mail","task":"resize","payload":%s}]}'


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 300_000, b'{"messages":' * 100_000, _ONE % (b"[" * 20_000), b"\xff\xfe",
        b'{"messages":[{"queue":"\xff"}]}',
        '{"messages":[]}'.encode("utf-16"), b"\xef\xbb\xbf{}", b"null", b"1e999", b'"\\ud800"', b"{}{}", b"NaN",
        b'{"messages":[{"queue":"mail","task":"\\ud800","payload":1}]}', _ONE % b'"\\udc00"', b"\x00", b"// {}",
        b'{"messages":' + b"9" * 100_000 + b"}",
    ],
)  # fmt: skip
def test_a_body_that_is_no_json_of_ours_is_refused(target: Target, body: bytes) -> None:
    answer = exchange(target, request("POST", "/api/v1/messages", "Content-Type: application/json", body=body))
    assert statuses(answer) == [422]
    assert b'"request_invalid"' in answer


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "zstd", "identity, gzip", "GZIP", "x"])
def test_a_body_is_never_unpacked(target: Target, coding: str) -> None:
    headers = ("Content-Type: application/json", f"Content-Encoding: {coding}")
    answer = exchange(target, request("POST", "/api/v1/messages", *headers, body=b"\x1f\x8b" + b"\x00" * 1_000))
    assert statuses(answer) == [422]
    assert b"compressed" in answer


@pytest.mark.parametrize("width", ["1e400", "-1e400", "9" * 5_000, "1e-400", "0." + "1" * 5_000])
def test_a_number_that_no_program_holds_is_the_senders_mistake(target: Target, width: str) -> None:
    body = b'{"payload":{"image":"a.png","width":%s}}' % width.encode()
    answer = exchange(
        target, request("POST", "/api/v1/tasks/resize/submit", "Content-Type: application/json", body=body)
    )
    assert statuses(answer) == [422]
    assert b'"payload_invalid"' in answer


# -- the log -----------------------------------------------------------------------------------------------------


def test_nobody_writes_lines_of_the_log_or_steers_a_terminal(target: Target) -> None:
    for path in ("/api/v1/%0aFORGED%20line", "/%0d%0aFORGED%20line", "/%1b%5d0;owned%07", "/%c2%9b31m", "/%E2%80%AE"):
        exchange(target, request("GET", path, "User-Agent: \x1b[31m"))
    exchange(target, request("GET", "/the-last-one"))
    target.process.says("/the-last-one")
    assert not [line for line in target.process.lines if line.startswith("FORGED")]
    assert "FORGED" in target.log()
    assert target.log().replace("\n", "").isprintable()


# -- slowness ----------------------------------------------------------------------------------------------------


def test_a_body_that_stops_coming_is_given_up(target: Target) -> None:
    with socket.create_connection(("127.0.0.1", target.port), timeout=30) as connection:
        connection.sendall(POST + b'Content-Length: 900\r\n\r\n{"messages"')
        assert target.client.get(SESSION).status_code == 200
        answer = answer_of(connection)
    assert statuses(answer) == [408]
    assert b"request_too_slow" in answer


def test_many_connections_that_say_nothing_keep_nobody_out(target: Target) -> None:
    idle: Sequence[socket.socket] = [socket.create_connection(("127.0.0.1", target.port)) for _ in range(300)]
    for number, connection in enumerate(idle):
        connection.sendall(HIDDEN[: number % 20])
    try:
        assert target.client.get(SESSION).status_code == 200
    finally:
        for connection in idle:
            connection.close()
