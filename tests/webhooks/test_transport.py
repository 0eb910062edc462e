"""The transport, against real servers on loopback that behave badly."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.webhooks.receivers import Receiver, answers, cuts, endless, receiver, silent, trickles

from tenure.clock import SYSTEM_CLOCK
from tenure.webhooks.address import AddressRules
from tenure.webhooks.transport import MOST_ANSWER, Answer, Transport

pytestmark = pytest.mark.real_time

ALLOWED = AddressRules(["127.0.0.1"])


@asynccontextmanager
async def transport(rules: AddressRules = ALLOWED, **options: Any) -> AsyncGenerator[Transport]:
    one = Transport(rules, **options)
    try:
        yield one
    finally:
        await one.close()


async def post_to(one: Receiver, rules: AddressRules = ALLOWED, url: str | None = None, **options: Any) -> Answer:
    async with transport(rules, **options) as sender:
        return await sender.post(url or one.url, b'{"a":1}', {"webhook-id": "whd_1"})


def names(**addresses: Sequence[str]) -> Callable[[str, int], Any]:
    """A name server."""

    async def lookup(host: str, _port: int) -> Sequence[str]:
        return addresses[host.replace(".", "_")]

    return lookup


async def test_the_body_and_the_headers_arrive_as_they_are() -> None:
    async with receiver(answers(204)) as one:
        answer = await post_to(one)
    (got,) = one.got
    assert (answer.status, answer.is_ok, answer.error) == (204, True, "")
    assert answer.seconds > 0
    assert got.line == "POST /internal/notify HTTP/1.1"
    assert got.body == b'{"a":1}'
    assert got.headers["webhook-id"] == "whd_1"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["user-agent"].startswith("Tenure/")
    assert "cookie" not in got.headers


@pytest.mark.parametrize("status", [400, 404, 410, 500, 503])
async def test_a_failure_carries_the_beginning_of_its_text(status: int) -> None:
    async with receiver(answers(status, "out\nof order " + "x" * 5_000)) as one:
        answer = await post_to(one)
    assert (answer.status, answer.is_ok) == (status, False)
    assert answer.error.startswith("out of order x")
    assert len(answer.error) <= 200


@pytest.mark.parametrize(("value", "seconds"), [("120", 120.0), ("0", 0.0), ("soon", None), ("²", None), ("-1", None)])
async def test_retry_after_is_read_in_seconds(value: str, seconds: float | None) -> None:
    async with receiver(answers(429, Retry_After=value.encode().decode("latin-1"))) as one:
        assert (await post_to(one)).retry_after == seconds


async def test_retry_after_is_read_as_a_date() -> None:
    async with receiver(answers(503, Retry_After="Fri, 01 Jan 2100 00:00:00 GMT")) as one:
        after = (await post_to(one)).retry_after
    assert after is not None
    assert abs(after - (4_102_444_800 - SYSTEM_CLOCK.wall())) < 60


async def test_a_redirect_is_not_followed() -> None:
    async with receiver(answers(200)) as inner, receiver(answers(307, Location=inner.url)) as one:
        answer = await post_to(one)
        assert inner.got == []
    assert answer.status == 307
    assert not answer.is_ok
    assert "final URL" in answer.error


async def test_a_receiver_that_cuts_the_connection_after_reading_gave_no_answer() -> None:
    async with receiver(cuts) as one:
        answer = await post_to(one)
    assert len(one.got) == 1  # and it is not sent a second time by itself
    assert answer.status is None
    assert answer.error


async def test_a_silent_receiver_is_left_in_time() -> None:
    async with receiver(silent) as one:
        answer = await post_to(one, total_seconds=0.2)
    assert answer.status is None
    assert answer.error == "no answer within 0.2 s"


async def test_of_an_endless_body_only_the_beginning_is_read() -> None:
    async with receiver(endless) as one:
        answer = await post_to(one)
    assert answer.status == 200
    assert answer.is_ok
    assert MOST_ANSWER < 10_000


async def test_a_body_that_never_comes_does_not_undo_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.webhooks.transport.TEXT_SECONDS", 0.1)
    async with receiver(trickles) as one:
        assert (await post_to(one)).is_ok


async def test_nobody_listens() -> None:
    async with receiver(answers(200)) as one:
        url = one.url
    async with transport() as sender:
        answer = await sender.post(url, b"{}", {})
    assert answer.status is None
    assert not answer.refused
    assert "cannot connect" in answer.error


async def test_an_address_that_is_not_public_is_not_called() -> None:
    async with receiver(answers(200)) as one:
        answer = await post_to(one, AddressRules())
        assert one.connections == 0
    assert answer.refused
    assert "TENURE_WEBHOOK_ALLOW" in answer.error or "https://" in answer.error


async def test_a_name_is_called_at_the_address_that_was_judged() -> None:
    rules = AddressRules(["127.0.0.0/8"])
    async with receiver(answers(200)) as one:
        url = f"http://hooks.example:{one.port}/"
        answer = await post_to(one, rules, url, lookup=names(hooks_example=["127.0.0.1"]))
    assert answer.is_ok
    assert one.got[0].headers["host"] == f"hooks.example:{one.port}"


async def test_a_name_with_one_address_that_is_not_allowed_is_not_called() -> None:
    rules = AddressRules(["127.0.0.1"])
    async with receiver(answers(200)) as one:
        url = f"http://hooks.example:{one.port}/"
        answer = await post_to(one, rules, url, lookup=names(hooks_example=["127.0.0.1", "10.0.0.1"]))
        assert one.connections == 0
    assert answer.refused


async def test_a_name_that_changes_between_check_and_connect_is_not_called_elsewhere() -> None:
    """The second answer of the name server is never asked for: there is one lookup, and it is what is connected to."""
    asked: list[str] = []

    async def rebinding(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.2"] if len(asked) > 1 else ["127.0.0.1"]

    async with receiver(answers(200)) as one:
        url = f"http://hooks.example:{one.port}/"
        answer = await post_to(one, AddressRules(["127.0.0.1"]), url, lookup=rebinding)
        assert answer.is_ok
        assert len(asked) == 1
        # The next connection is judged anew: now the name leads to what is not allowed.
        answer = await post_to(one, AddressRules(["127.0.0.1"]), url, lookup=rebinding)
    assert answer.refused
    assert one.connections == 1


@pytest.mark.parametrize("host", ["localhost", "ip6-localhost"])
async def test_a_name_of_this_machine_is_looked_up_and_refused(host: str) -> None:
    async with receiver(answers(200)) as one:
        answer = await post_to(one, AddressRules(["10.0.0.0/8"]), f"http://{host}:{one.port}/")
        assert one.connections == 0
    assert answer.status is None


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiver(answers(200)) as proxy, receiver(answers(200)) as one:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await post_to(one)).is_ok
        assert proxy.connections == 0
        assert len(one.got) == 1


async def test_cookies_are_not_kept() -> None:
    async with receiver(answers(200, Set_Cookie="a=b")) as one, transport() as sender:
        for _ in range(2):
            await sender.post(one.url, b"{}", {})
    assert len(one.got) == 2
    assert "cookie" not in one.got[1].headers


async def test_connections_are_used_again() -> None:
    async with receiver(answers(200)) as one, transport() as sender:
        for _ in range(20):
            assert (await sender.post(one.url, b"{}", {})).is_ok
    assert (len(one.got), one.connections) == (20, 1)


async def test_our_own_api_is_not_called_even_where_all_is_allowed() -> None:
    async with receiver(answers(200)) as one:
        rules = AddressRules(["0.0.0.0/0", "::/0"], own=[("127.0.0.1", one.port)])
        for url in (one.url, f"http://hooks.example:{one.port}/"):
            answer = await post_to(one, rules, url, lookup=names(hooks_example=["127.0.0.1"]))
            assert answer.refused
            assert "own API" in answer.error
        assert one.connections == 0


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for hooks.example."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", key, "-out", cert, "-subj", "/CN=hooks.example", "-addext", "subjectAltName=DNS:hooks.example"],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


async def test_tls_verifies_the_name_at_the_pinned_address(certificate: tuple[Path, Path]) -> None:
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(*certificate)
    trusted = ssl.create_default_context(cafile=str(certificate[0]))
    one = Receiver(answers(200))
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0, ssl=served)
    port = server.sockets[0].getsockname()[1]
    rules, lookup = AddressRules(["127.0.0.1"]), names(hooks_example=["127.0.0.1"], other_example=["127.0.0.1"])
    async with transport(rules, lookup=lookup, trust=trusted) as sender:
        assert (await sender.post(f"https://hooks.example:{port}/", b"{}", {})).is_ok
        wrong = await sender.post(f"https://other.example:{port}/", b"{}", {})
    async with transport(rules, lookup=lookup) as sender:
        unknown = await sender.post(f"https://hooks.example:{port}/", b"{}", {})
    server.close()
    assert wrong.status is None
    assert "ertificate" in wrong.error
    assert unknown.status is None
    assert len(one.got) == 1
