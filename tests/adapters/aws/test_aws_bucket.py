"""S3 as a blob store: lost replies, throttling, missing rights, and a worker over SQS that uses it."""

import os
from collections.abc import Callable, Iterator

import pytest
from tests.servers.aws import shared_aws
from tests.servers.proxy_http import Call, HttpProxy
from tests.servers.server import free_port

from tenure import Tenure, assembly
from tenure.blobs import BlobStore
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BodyTooLarge, BrokerError, BrokerUnavailable, PermissionMissing, StoreMissing

pytestmark = pytest.mark.real_time

os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")

NAME = "mail/a.1"


def _url(endpoint: str, *, create: bool = True, bucket: str = "") -> str:
    made = "yes" if create else "no"
    return f"s3://{bucket or f't{os.urandom(6).hex()}'}/x?region=eu-west-1&endpoint={endpoint}&create={made}"


def _room(endpoint: str, *, create: bool = True) -> BlobStore:
    return assembly.blob_store(_url(endpoint, create=create), clock=SYSTEM_CLOCK)


@pytest.fixture
def proxy() -> Iterator[HttpProxy]:
    """Between us and S3."""
    with HttpProxy(shared_aws("ministack").port) as proxy:
        yield proxy


def _is(method: str) -> Callable[[Call], bool]:
    return lambda call: call.method == method


def _xml(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>said so</Message></Error>".encode()


async def test_a_bucket_that_is_not_there_is_told_when_it_is_opened() -> None:
    with pytest.raises(StoreMissing, match="no such bucket"):
        await _room(shared_aws("ministack").url, create=False).open()


async def test_a_worker_does_not_start_with_a_bucket_that_is_not_there() -> None:
    app = Tenure("memory://", claim_check=_url(shared_aws("ministack").url, create=False))

    @app.task
    async def count(text: str) -> int:
        return len(text)

    with pytest.raises(StoreMissing):
        async with app, app.worker():
            pytest.fail("it started")


async def test_a_worker_starts_while_it_is_away() -> None:
    app = Tenure("memory://", claim_check=_url(f"http://127.0.0.1:{free_port()}"))

    @app.task
    async def count(text: str) -> int:
        return len(text)

    async with app, app.worker():
        assert await (await count.submit("small")).result(timeout=30) == 5
        with pytest.raises(BrokerUnavailable):
            await count.submit("x" * 1_100_000)


async def test_a_lost_reply_is_said_to_be_one_and_can_be_repeated(proxy: HttpProxy) -> None:
    room = _room(proxy.url)
    await room.open()
    try:
        proxy.rule(_is("PUT"), proxy.drop_reply, times=1)
        with pytest.raises(BrokerUnavailable) as caught:
            await room.leave([(NAME, b"123")])
        assert caught.value.outcome_unknown
        assert await room.fetch([NAME]) == [b"123"]
        await room.leave([(NAME, b"123")])
        proxy.rule(_is("POST"), proxy.drop_reply, times=1)
        with pytest.raises(BrokerUnavailable):
            await room.discard([NAME])
        await room.discard([NAME])
        assert await room.fetch([NAME]) == [None]
    finally:
        await room.close()


@pytest.mark.parametrize(("status", "code"), [(503, "SlowDown"), (500, "InternalError"), (429, "Throttling")])
async def test_trouble_that_passes_is_an_outage_and_never_a_missing_body(
    proxy: HttpProxy, status: int, code: str
) -> None:
    room = _room(proxy.url)
    await room.open()
    try:
        await room.leave([(NAME, b"123")])
        seen = len(proxy.calls)
        proxy.rule(lambda _call: True, proxy.answer(status, _xml(code)), times=3)
        for act in (room.fetch([NAME]), room.leave([(NAME, b"123")]), room.discard([NAME])):
            with pytest.raises(BrokerUnavailable):
                await act
        assert len(proxy.calls) == seen + 3, "the SDK repeated it by itself"
        assert await room.fetch([NAME]) == [b"123"]
    finally:
        await room.close()


async def test_half_an_answer_is_no_body(proxy: HttpProxy) -> None:
    async def half(_call: Call, _ask: object) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nContent-Type: application/json\r\n\r\n" + b"x" * 500

    room = _room(proxy.url)
    await room.open()
    try:
        proxy.rule(_is("GET"), half, times=1)
        with pytest.raises(BrokerUnavailable):
            await room.fetch([NAME])
    finally:
        await room.close()


async def test_what_is_forbidden_is_not_called_missing(proxy: HttpProxy) -> None:
    room = _room(proxy.url)
    await room.open()
    try:
        proxy.rule(_is("GET"), proxy.answer(403, _xml("AccessDenied")), times=1)
        with pytest.raises(PermissionMissing):
            await room.fetch([NAME])
    finally:
        await room.close()


async def test_who_may_only_write_may_open_it(proxy: HttpProxy) -> None:
    room = _room(proxy.url)
    proxy.rule(_is("HEAD"), proxy.answer(403))
    await room.open()
    await room.leave([(NAME, b"1")])
    await room.close()


async def test_a_body_that_could_not_be_discarded_is_told(proxy: HttpProxy) -> None:
    room = _room(proxy.url)
    await room.open()
    try:
        said = b"<DeleteResult><Error><Key>x</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>"
        proxy.rule(_is("POST"), proxy.answer(200, said), times=1)
        with pytest.raises(BrokerError, match="AccessDenied"):
            await room.discard([NAME])
    finally:
        await room.close()


async def test_over_sqs_what_a_queue_does_not_take_goes_to_s3() -> None:
    server = shared_aws("ministack").url
    name = f"t{os.urandom(6).hex()}"
    place = f"sqs://eu-west-1?endpoint={server}&create=yes&prefix={name}-&table={name}"
    app = Tenure(place, claim_check=_url(server))

    @app.task
    async def count(text: str) -> int:
        return len(text)

    # The broker says 1 MiB, its queue here takes 256 KiB.
    assert app.broker.traits.body_limit > 400_000
    async with app, app.worker():
        handles = await app.submit_many([count.bind("x" * size) for size in (10, 400_000, 3_000_000)])
        results = [await handle.result(timeout=60) for handle in handles]
    assert results == [10, 400_000, 3_000_000]
    assert app._claim_check is not None
    await app._claim_check.open()
    assert await app._claim_check.blob_store.browse() == []
    await app._claim_check.close()


async def test_in_a_queue_that_others_read_a_body_that_is_too_large_is_refused() -> None:
    server = shared_aws("ministack").url
    name = f"t{os.urandom(6).hex()}"
    place = f"sqs://eu-west-1?endpoint={server}&create=yes&prefix={name}-&table={name}&wire=plain"
    app = Tenure(place, claim_check=_url(server))

    @app.task
    async def count(text: str) -> int:
        return len(text)

    async with app:
        with pytest.raises(BodyTooLarge):
            await count.submit("x" * 400_000)
