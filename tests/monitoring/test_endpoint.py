"""The endpoint of a worker answers scrapes of this machine, or of those who have the token; and nothing else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tenure.clock import SYSTEM_CLOCK
from tenure.errors import ConfigurationError
from tenure.monitoring.metrics.address import MetricsAddress, address_of
from tenure.monitoring.metrics.endpoint import MetricsEndpoint
from tenure.monitoring.metrics.own_thread import MetricsThread
from tenure.monitoring.metrics.sample import Sample

pytestmark = pytest.mark.real_time

TOKEN = "a" * 32
SAMPLES = [Sample("tenure_worker_slots", (), 10), Sample("tenure_events_total", ("dead",), 2)]


async def collect() -> Sequence[Sample]:
    return SAMPLES


@asynccontextmanager
async def served(token: str | None = None) -> AsyncIterator[str]:
    endpoint = MetricsEndpoint(MetricsAddress("127.0.0.1", 0), collect, token=token)
    await endpoint.start()
    try:
        yield endpoint.url
    finally:
        await endpoint.stop()


async def ask(url: str, head: str) -> str:
    port = int(url.split(":")[2].split("/", maxsplit=1)[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.replace("PORT", str(port)).replace("\n", "\r\n").encode() + b"\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    return answer


async def test_a_scrape_of_this_machine_is_answered() -> None:
    async with served() as url:
        answer = await ask(url, "GET /metrics HTTP/1.1\nHost: 127.0.0.1:PORT")
    assert answer.startswith("HTTP/1.1 200 OK")
    assert "text/plain; version=0.0.4" in answer
    assert answer.endswith("tenure_worker_slots 10\n")


async def test_openmetrics_is_answered_with_its_own_type() -> None:
    async with served() as url:
        answer = await ask(url, "GET /metrics HTTP/1.1\nHost: localhost:PORT\nAccept: application/openmetrics-text")
    assert "application/openmetrics-text; version=1.0.0" in answer
    assert answer.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET /metrics HTTP/1.1\nHost: evil.example", 421),  # a web page whose name leads to 127.0.0.1
        ("GET /metrics HTTP/1.1\nAccept: */*", 421),
        ("POST /metrics HTTP/1.1\nHost: localhost", 405),
        ("GET /admin HTTP/1.1\nHost: localhost", 404),
    ],
)
async def test_everything_else_is_refused(head: str, status: int) -> None:
    async with served() as url:
        assert (await ask(url, head)).startswith(f"HTTP/1.1 {status} ")


@pytest.mark.parametrize(
    ("header", "status"),
    [("", 401), ("\nAuthorization: Bearer wrong", 401), (f"\nAuthorization: Basic {TOKEN}", 401),
     (f"\nAuthorization: Bearer {TOKEN}", 200)],
)  # fmt: skip
async def test_with_a_token_only_those_who_have_it_are_answered(header: str, status: int) -> None:
    async with served(TOKEN) as url:
        answer = await ask(url, f"GET /metrics HTTP/1.1\nHost: worker.example{header}")
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert TOKEN not in answer


async def test_a_request_that_is_too_large_is_not_answered() -> None:
    async with served() as url:
        with contextlib.suppress(ConnectionError):  # it may be closed before all of it is read
            assert await ask(url, "GET /metrics HTTP/1.1\nX: " + "x" * 100_000) == ""
        assert "200 OK" in await ask(url, "GET /metrics HTTP/1.1\nHost: localhost")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "worker.example", "::"])  # noqa: S104 - refused
def test_other_machines_need_a_token_or_nothing_is_started(host: str) -> None:
    with pytest.raises(ConfigurationError, match="TENURE_METRICS_TOKEN"):
        MetricsEndpoint(MetricsAddress(host, 9100), collect)
    MetricsEndpoint(MetricsAddress(host, 9100), collect, token=TOKEN)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:9100", "127.0.0.1", 9100), ("9100", "127.0.0.1", 9100), (":9100", "127.0.0.1", 9100),
     ("[::1]:0", "::1", 0), ("192.0.2.1:80", "192.0.2.1", 80)],
)  # fmt: skip
def test_an_address_may_be_a_port_alone(text: str, host: str, port: int) -> None:
    assert address_of(text) == MetricsAddress(host, port)


@pytest.mark.parametrize("text", ["", "host", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "a b:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:9100"):
        address_of(text)


async def test_a_port_that_is_taken_is_said_and_nothing_is_started() -> None:
    async with served() as url:
        port = int(url.split(":")[2].split("/")[0])
        thread = MetricsThread(MetricsAddress("127.0.0.1", port), list, SYSTEM_CLOCK, token=None)
        with pytest.raises(ConfigurationError, match=f"at 127.0.0.1:{port}: the port is in use by another program"):
            await thread.start()
        await thread.stop()


async def test_while_a_handler_blocks_the_loop_counters_stay_and_the_scrape_says_so() -> None:
    thread = MetricsThread(MetricsAddress("127.0.0.1", 0), lambda: list(SAMPLES), SYSTEM_CLOCK, token=None)
    await thread.start()
    head = "GET /metrics HTTP/1.1\nHost: 127.0.0.1"
    try:
        assert "tenure_worker_slots 10" in await ask(thread.url, head)
        blocked = asyncio.run_coroutine_threadsafe(ask(thread.url, head), thread._loop)
        answer = blocked.result(timeout=60)  # this very loop is blocked until there is an answer
    finally:
        await thread.stop()
    assert "tenure_worker_responds 0" in answer
    assert 'tenure_events_total{kind="dead"} 2' in answer
    assert "tenure_worker_slots " not in answer
