"""Blobs as a blob store: lost replies, throttling, a wrong key, and a worker over queues that uses it."""

import os
from collections.abc import Awaitable, Callable, Iterator
from urllib.parse import quote

import pytest
from tests.servers.azure import ACCOUNT, KEY, shared_azure
from tests.servers.proxy_http import Call, HttpProxy

from tenure import Tenure, assembly
from tenure.blobs import BlobStore
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BodyTooLarge, BrokerUnavailable, LoginRefused, StoreMissing

pytestmark = pytest.mark.real_time

NAME = "mail/a.1"


def _url(port: int | None = None, *, create: str = "yes", key: str = KEY) -> str:
    endpoint = shared_azure().endpoint("blob", port)
    name = f"t{os.urandom(6).hex()}"
    return f"blob://{ACCOUNT}/{name}/x?key={quote(key, safe='')}&create={create}&blob_endpoint={endpoint}"


def _room(port: int | None = None, *, create: str = "yes", key: str = KEY) -> BlobStore:
    return assembly.blob_store(_url(port, create=create, key=key), clock=SYSTEM_CLOCK)


@pytest.fixture
def proxy() -> Iterator[HttpProxy]:
    """Between us and the account."""
    with HttpProxy(shared_azure().ports["blob"]) as proxy:
        yield proxy


def _is(method: str) -> Callable[[Call], bool]:
    return lambda call: call.method == method


async def test_a_container_that_is_not_there_is_told_when_it_is_opened() -> None:
    with pytest.raises(StoreMissing):
        await _room(create="no").open()


async def test_a_wrong_key_is_told_when_it_is_opened() -> None:
    with pytest.raises(LoginRefused):
        await _room(key="d3Jvbmc=").open()


async def test_a_lost_reply_is_said_to_be_one_and_can_be_repeated(proxy: HttpProxy) -> None:
    room = _room(proxy.port)
    await room.open()
    try:
        proxy.rule(_is("PUT"), proxy.drop_reply, times=1)
        with pytest.raises(BrokerUnavailable) as caught:
            await room.leave([(NAME, b"123")])
        assert caught.value.outcome_unknown
        assert await room.fetch([NAME]) == [b"123"]
        await room.leave([(NAME, b"123")])
        proxy.rule(_is("DELETE"), proxy.drop_reply, times=1)
        with pytest.raises(BrokerUnavailable):
            await room.discard([NAME])
        await room.discard([NAME])
        assert await room.fetch([NAME]) == [None]
    finally:
        await room.close()


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_trouble_that_passes_is_an_outage_and_never_a_missing_body(proxy: HttpProxy, status: int) -> None:
    room = _room(proxy.port)
    await room.open()
    try:
        await room.leave([(NAME, b"123")])
        seen = len(proxy.calls)
        proxy.rule(lambda _call: True, proxy.answer(status), times=3)
        for act in (room.fetch([NAME]), room.leave([(NAME, b"123")]), room.discard([NAME])):
            with pytest.raises(BrokerUnavailable):
                await act
        assert len(proxy.calls) == seen + 3, "the SDK repeated it by itself"
        assert await room.fetch([NAME]) == [b"123"]
    finally:
        await room.close()


async def test_half_an_answer_is_no_body(proxy: HttpProxy) -> None:
    async def half(_call: Call, ask: Callable[[], Awaitable[bytes]]) -> bytes:
        return (await ask())[:-500]

    room = _room(proxy.port)
    await room.open()
    try:
        await room.leave([(NAME, b"x" * 1000)])
        proxy.rule(_is("GET"), half)
        with pytest.raises(BrokerUnavailable):
            await room.fetch([NAME])
        proxy.clear()
        assert await room.fetch([NAME]) == [b"x" * 1000]
    finally:
        await room.close()


async def test_a_container_that_was_removed_is_not_a_missing_body(proxy: HttpProxy) -> None:
    room = _room(proxy.port)
    await room.open()
    try:
        gone = proxy.answer(404, x_ms_error_code="ContainerNotFound")
        proxy.rule(lambda call: call.method in ("GET", "DELETE"), gone, times=2)
        for act in (room.fetch([NAME]), room.discard([NAME])):
            with pytest.raises(StoreMissing):
                await act
    finally:
        await room.close()


async def test_over_queues_what_they_do_not_take_goes_to_blobs() -> None:
    app = Tenure(shared_azure().url(f"t{os.urandom(6).hex()}"), claim_check=_url())

    @app.task
    async def count(text: str) -> int:
        return len(text)

    async with app, app.worker():
        handles = await app.submit_many([count.bind("x" * size) for size in (10, 100_000, 3_000_000)])
        results = [await handle.result(timeout=60) for handle in handles]
    assert results == [10, 100_000, 3_000_000]
    assert app._claim_check is not None
    await app._claim_check.open()
    assert await app._claim_check.blob_store.browse() == []
    await app._claim_check.close()


async def test_in_a_queue_that_others_read_a_body_that_is_too_large_is_refused() -> None:
    app = Tenure(shared_azure().url(f"t{os.urandom(6).hex()}", "wire=plain"), claim_check=_url())

    @app.task
    async def count(text: str) -> int:
        return len(text)

    async with app:
        with pytest.raises(BodyTooLarge):
            await count.submit("x" * 100_000)
