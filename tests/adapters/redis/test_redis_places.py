"""Bad input: URLs that cannot be, places where nobody or somebody else answers, users who may not: each has a code."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from redis import Redis
from tests.adapters.redis.acting import connected, message, opened, request
from tests.adapters.redis.front import front
from tests.servers import KINDS, RedisServer, start_redis
from tests.servers.shared import shared_cluster

from tenure.adapters.redis import server_check
from tenure.errors import BadURL, TenureError
from tenure.finding import Finding, Severity
from tenure.message import Outgoing
from tenure.settlement import Ack, Outcome

pytestmark = pytest.mark.real_time


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with start_redis(request.param, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def raw(server: RedisServer) -> Iterator[Any]:
    client: Any = Redis(port=server.port)
    client.flushall()
    yield client
    client.close()


async def _use(url: str) -> None:
    async with opened(url) as (broker, _):
        await broker.send([Outgoing(message())])
        await broker.lease(request())
        await broker.wait(["nothing"], 0.01)


async def _refused(url: str) -> TenureError:
    """What is raised when somebody opens it, sends and leases."""
    with pytest.raises(TenureError) as caught:
        await _use(url)
    return caught.value


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://localhost:port", "'port' is not the number of a port"),
        ("redis://localhost:70000", "'70000' is not the number of a port"),
        ("redis://localhost/first", "'first' is not the number of a database"),
        ("redis://localhost/-1", "'-1' is not the number of a database"),
        ("redis://localhost?db=first", "db cannot be 'first'"),
        ("redis://localhost?colour=red", "'colour' is not an option"),
        ("redis://localhost?durability=always", "none or replicated"),
        ("redis://localhost?timeout_seconds=0", "above 0"),
        ("redis://localhost?prefix={x}", "no braces"),
        ("redis+cluster://localhost:7000/3", "only database 0"),
        ("redis+cluster://localhost:7000?db=3", "only database 0"),
        ("redis+sentinel://localhost:26379", "names no service"),
        ("redis+sentinel://localhost:26379/main/x", "'x' is not the number of a database"),
    ],
)
def test_a_url_that_cannot_be_is_refused_before_anything_is_opened(url: str, words: str) -> None:
    with pytest.raises(BadURL) as caught:
        connected(url)
    assert words in str(caught.value)
    assert "othing was opened" in str(caught.value)


async def test_a_host_that_nobody_knows() -> None:
    error = await _refused("redis://no-such-host.invalid")
    assert error.code == "broker_unavailable"
    assert "no-such-host.invalid" in str(error)


async def test_a_port_on_which_nobody_answers() -> None:
    for url in ("redis://127.0.0.1:1", "redis+cluster://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/main"):
        error = await _refused(url)
        assert error.code == "broker_unavailable"
        assert "127.0.0.1:1" in str(error)


@contextlib.asynccontextmanager
async def _web() -> AsyncIterator[int]:
    """The port of something that speaks HTTP."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1]


async def test_a_port_on_which_something_else_answers() -> None:
    async with _web() as port:
        error = await _refused(f"redis://127.0.0.1:{port}")
        assert error.code == "not_redis"
        assert "Check host and port" in str(error)


async def test_a_sentinel_that_is_none(server: RedisServer) -> None:
    error = await _refused(f"redis+sentinel://127.0.0.1:{server.port}/main")
    assert error.code == "broker_error"
    assert "unknown command" in str(error)


async def test_a_server_that_is_no_cluster(server: RedisServer) -> None:
    error = await _refused(server.url.replace("redis://", "redis+cluster://"))
    assert isinstance(error, BadURL)
    assert "Write redis://" in str(error)


async def test_a_cluster_that_is_taken_for_one_server() -> None:
    error = await _refused(f"redis://127.0.0.1:{shared_cluster('valkey9').ports[0]}")
    assert isinstance(error, BadURL)
    assert "Write redis+cluster://" in str(error)


async def test_a_database_that_is_not_there(server: RedisServer) -> None:
    error = await _refused(server.url.removesuffix("/0") + "/99999")
    assert "out of range" in str(error)
    assert error.code == "broker_error"


async def test_a_server_that_is_too_old(server: RedisServer) -> None:
    version = _version(server)

    def age(answer: bytes) -> bytes:
        return answer.replace(b"redis_version:" + version, b"redis_version:" + b"5.0.14"[: len(version)])

    async with front(server.port, change=age) as port:
        error = await _refused(f"redis://127.0.0.1:{port}")
    assert error.code == "server_too_old"
    assert "6.2 or newer" in str(error)


def _version(server: RedisServer) -> bytes:
    told = str(server.ask("INFO", "server")).partition("redis_version:")[2].split()[0]
    return told.encode()


@pytest.mark.parametrize("user", ["", "nobody"])
async def test_an_unknown_user_or_a_wrong_password(server: RedisServer, raw: Any, user: str) -> None:
    raw.config_set("requirepass", "secret")
    try:
        error = await _refused(f"redis://{user}:wrong@127.0.0.1:{server.port}")
        assert error.code == "login_refused"
        assert "wrong" not in str(error).replace("WRONGPASS", "")  # nor any other password
    finally:
        raw.execute_command("AUTH", "secret")
        raw.config_set("requirepass", "")


#: What the sentence of `permission_missing` says is enough.
_ENOUGH = ["+@all", "-@admin", "-@dangerous", "+info"]


def _allow(raw: Any, *rules: str, keys: str = "~tenure:*", channels: str = "&tenure:*") -> str:
    raw.execute_command("ACL", "SETUSER", "poor", "reset", "on", ">word", keys, "resetchannels", channels, *rules)
    return "poor:word@"


async def test_what_the_sentence_says_is_enough(server: RedisServer, raw: Any) -> None:
    url = server.url.replace("//", f"//{_allow(raw, *_ENOUGH)}")
    async with opened(url) as (broker, state):
        await broker.send([Outgoing(message())])
        (lease,) = await broker.lease(request())
        await broker.wait(["nothing"], 0.01)
        assert await state.roster.members() == []
        assert [one.outcome for one in await broker.ack([Ack(lease)])] == [Outcome.DELETED]


@pytest.mark.parametrize("rule", ["-info", "-eval", "-evalsha", "-hset", "-subscribe", "-publish", "-time"])
async def test_a_command_that_is_not_allowed(server: RedisServer, raw: Any, rule: str) -> None:
    if rule == "-eval":
        raw.script_flush()  # or it would never be needed
    error = await _refused(server.url.replace("//", f"//{_allow(raw, *_ENOUGH, rule)}"))
    assert error.code == "permission_missing"
    assert "+@all" in str(error)


async def test_keys_or_channels_that_are_not_allowed(server: RedisServer, raw: Any) -> None:
    url = server.url.replace("//", f"//{_allow(raw, *_ENOUGH, keys='~other:*')}")
    assert (await _refused(url)).code == "permission_missing"
    url = server.url.replace("//", f"//{_allow(raw, *_ENOUGH, channels='&other:*')}")
    assert (await _refused(url)).code == "permission_missing"
    assert raw.keys("*") == []


async def test_a_server_that_may_drop_keys_is_found_out_and_said_once(
    server: RedisServer, raw: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_check, "_TOLD", set())
    found: list[Finding] = []
    raw.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with caplog.at_level(logging.WARNING, "tenure.redis"):
            for _ in range(2):
                async with opened(server.url) as (broker, _):
                    found += broker._store.findings
    finally:
        raw.config_set("maxmemory-policy", "noeviction")
    finding, _ = found
    assert (finding.id, finding.severity) == ("eviction_policy", Severity.CRITICAL)
    assert "allkeys-lru" in finding.evidence
    assert [record.getMessage().count("noeviction") for record in caplog.records] == [1]
    async with opened(server.url) as (broker, _):
        assert broker._store.findings == []
