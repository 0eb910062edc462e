"""What a deduplicator needs of a store holds on every one, by sync and async clients, on real services."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

import aiobotocore.session  # type: ignore[import-untyped]
import azure.storage.blob
import azure.storage.blob.aio
import boto3  # type: ignore[import-untyped]
import pytest
from tests.servers.azure import ACCOUNT

from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.standalone import MessageDeduplicator, sync
from tenure.standalone.steps import Steps, run, run_async
from tenure.standalone.stores import BlobStore, DynamoStore, Found, MemoryStore, Store
from tenure.testing.virtual import VirtualClock

from .grounds import AWS, CREDENTIAL, port_of

KINDS = ("memory", "blob", "dynamodb")
TABLE: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
_numbers = itertools.count()


def _name() -> str:
    return f"dedup-{os.getpid()}-{next(_numbers)}"


def _blobs() -> str:
    return f"http://127.0.0.1:{port_of('azurite', 'blob')}/{ACCOUNT}"


def _dynamodb() -> dict[str, str]:
    return {"endpoint_url": f"http://127.0.0.1:{port_of('ministack')}", **AWS}


@contextmanager
def _sync_store(kind: str) -> Iterator[Store]:
    if kind == "memory":
        yield MemoryStore()
    elif kind == "blob":
        with azure.storage.blob.ContainerClient(_blobs(), _name(), credential=CREDENTIAL) as client:
            client.create_container()
            yield BlobStore(client)
    else:
        dynamodb, name = boto3.client("dynamodb", **_dynamodb()), _name()
        dynamodb.create_table(TableName=name, **TABLE)
        yield DynamoStore(dynamodb, name)
        dynamodb.close()


@asynccontextmanager
async def _async_store(kind: str) -> AsyncIterator[Store]:
    if kind == "memory":
        yield MemoryStore()
    elif kind == "blob":
        async with azure.storage.blob.aio.ContainerClient(_blobs(), _name(), credential=CREDENTIAL) as client:
            await client.create_container()
            yield BlobStore(client)
    else:
        name, session = _name(), aiobotocore.session.get_session()
        async with session.create_client("dynamodb", **_dynamodb()) as dynamodb:
            await dynamodb.create_table(TableName=name, **TABLE)
            yield DynamoStore(dynamodb, name)


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with _sync_store(request.param) as store:
        yield store


@pytest.fixture(params=KINDS)
def awaited_store(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Store]:
    return _async_store(request.param)


def _writes(store: Store) -> Steps[None]:
    """Every verb, with its condition met and not met."""
    assert (yield from store.read("x/1")) is None
    first = yield from store.add("x/1", b"one", 60)
    assert first is not None
    assert (yield from store.add("x/1", b"other", 60)) is None
    assert (yield from store.read("x/1")) == Found(b"one", first)
    second = yield from store.swap("x/1", b"two", first, 60)
    assert second not in (None, first)
    assert (yield from store.swap("x/1", b"three", first, 60)) is None, "the one that was seen is not there any more"
    yield from store.drop("x/1", first)
    assert (yield from store.read("x/1")) == Found(b"two", str(second))
    yield from store.drop("x/1", str(second))
    assert (yield from store.read("x/1")) is None
    assert (yield from store.swap("x/1", b"four", str(second), 60)) is None
    yield from store.drop("x/1", str(second))
    assert (yield from store.add("x/1", b"five", 60)) is not None


def test_a_write_whose_condition_does_not_hold_changes_nothing(store: Store) -> None:
    run(_writes(store))


@pytest.mark.real_time
async def test_the_same_by_async_clients(awaited_store: Store) -> None:
    await run_async(_writes(awaited_store))


def _prunes(store: Store, now: float) -> Steps[None]:
    """What is old enough goes; what is not, and what is another service's, stays."""
    for key in ("x/1", "x/2", "y/1"):
        assert (yield from store.add(key, b"one", 60)) is not None
    assert (yield from store.prune("x/", now - 3600)) == 0
    assert (yield from store.read("x/1")) is not None
    if isinstance(store, BlobStore):
        assert (yield from store.prune("x/", now + 3600)) == 2
        assert (yield from store.read("x/1")) is None
    assert (yield from store.read("y/1")) is not None


def test_old_records_are_pruned(store: Store) -> None:
    run(_prunes(store, SYSTEM_CLOCK.wall()))


@pytest.mark.real_time
async def test_old_records_are_pruned_by_async_clients(awaited_store: Store) -> None:
    await run_async(_prunes(awaited_store, SYSTEM_CLOCK.wall()))


def test_a_deduplicator_keeps_seven_days() -> None:
    clock = VirtualClock()
    store = MemoryStore(clock=clock)
    dedup = sync.MessageDeduplicator("x", store=store, clock=clock)
    dedup.mark_processed("order-17")
    clock.now += 7 * 86_400 - 1
    assert (dedup.prune(), len(store)) == (0, 1)
    clock.now += 2
    assert (dedup.prune(), len(store)) == (1, 0)


def test_of_many_threads_one_is_first(store: Store) -> None:
    effects: list[int] = []

    def work(number: int) -> str:
        dedup = sync.MessageDeduplicator("x", store=store)  # its own, as in a process of its own
        with dedup.once("order-17") as turn:
            if turn.is_first:
                effects.append(number)
            return str(turn.state)

    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(work, range(16)))
    assert len(effects) == 1
    assert states.count("first") == 1
    assert sync.MessageDeduplicator("x", store=store).check_duplicate("order-17")[0]


@pytest.mark.real_time
async def test_of_many_tasks_one_is_first(awaited_store: Store) -> None:
    async def work() -> str:
        async with MessageDeduplicator("x", store=awaited_store).once("order 17/ü") as turn:
            return str(turn.state)

    states = await asyncio.gather(*(work() for _ in range(8)))
    assert states.count("first") == 1
    found = MessageDeduplicator("x", store=awaited_store)
    assert (await found.check_duplicate("order 17/ü"))[0]
    assert not (await found.check_duplicate("order 18"))[0]


def test_a_turn_that_lapsed_is_taken_by_one(store: Store) -> None:
    first = sync.MessageDeduplicator("x", store=store, claim_seconds=1e-9)  # over at once, as after a death
    turn = run(first.claim_steps("order-17", "", None))
    assert turn.is_first

    def take(_: int) -> bool:
        with sync.MessageDeduplicator("x", store=store).once("order-17") as turn:
            return turn.is_first

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take, range(4))) == 1


@pytest.mark.parametrize("make", ["_missing_table", "_missing_container"], ids=["table", "container"])
def test_a_store_that_is_not_there_is_told(make: str) -> None:
    dedup = sync.MessageDeduplicator("x", store=globals()[make]())
    with pytest.raises(BrokerUnavailable, match=r"cannot be asked: .*make the container or table") as caught:
        dedup.check_duplicate("order-17")
    assert "\n" not in str(caught.value)
    assert not caught.value.outcome_unknown
    with pytest.raises(BrokerUnavailable, match="was not begun"), dedup.once("order-17"):
        pytest.fail("it was begun")


def _missing_table() -> Store:
    return DynamoStore(boto3.client("dynamodb", **_dynamodb()), "nowhere")


def _missing_container() -> Store:
    return BlobStore(azure.storage.blob.ContainerClient(_blobs(), "nowhere", credential=CREDENTIAL))


def test_a_container_client_is_enough(request: pytest.FixtureRequest) -> None:
    with azure.storage.blob.ContainerClient(_blobs(), _name(), credential=CREDENTIAL) as client:
        client.create_container()
        sync.MessageDeduplicator("content-processor", client).mark_processed("msg-1", "corr-1", "hash")
        assert sync.MessageDeduplicator("content-processor", client).check_duplicate("msg-1")[0]
        (blob,) = client.list_blob_names()
        assert blob.startswith("message-dedup/content-processor/")
