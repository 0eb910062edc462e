"""A worker whose only queue has a key of another kind says so once, and works when the key is put right."""

import asyncio
from typing import Any

import pytest
from tests.adapters.redis.house import House
from tests.conformance.redis_harness import SINGLE, RedisHarness

from tenure.message import MessageState
from tenure.testing.workers import Stage

#: Keys of a queue that a lease looks at: its own record, the envelopes, leases, what waits, and what is ready.
KEYS = ("meta", "m", "l", "z")


@pytest.fixture(params=SINGLE, ids=[kind.kind for kind in SINGLE])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


class _Spoiled:
    """A key that is somebody else's for a while."""

    def __init__(self, house: House, key: str) -> None:
        self._raw: Any = house.raw
        self._key, self._aside = f"{house.queue}{key}", f"{house.queue}aside"

    def __enter__(self) -> None:
        if self._raw.exists(self._key):
            self._raw.rename(self._key, self._aside)
        self._raw.set(self._key, "somebody else's")

    def __exit__(self, *_: object) -> None:
        self._raw.delete(self._key)
        if self._raw.exists(self._aside):
            self._raw.rename(self._aside, self._key)


def _told(caplog: pytest.LogCaptureFixture) -> list[str]:
    wrong = "a key of Tenure holds something else"
    return [record.levelname for record in caplog.records if wrong in record.getMessage() and record.levelno > 10]


@pytest.mark.parametrize("key", KEYS)
async def test_it_waits_until_the_key_is_put_right(
    harness: RedisHarness, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work(n: int) -> int:
            return n

        actor = await stage.start()
        first = await stage.submit(work.bind(1))
        await stage.ended(first)
        with _Spoiled(House(harness), key):
            await asyncio.sleep(30.0)
            assert not actor.worker._stop_asked.is_set()
        assert "ERROR" in _told(caplog)
        second = await stage.submit(work.bind(2))
        assert (await stage.ended(second)).state is MessageState.COMPLETED
        await stage.stop(actor)


@pytest.mark.parametrize("key", KEYS)
async def test_it_starts_and_waits_until_the_key_is_put_right(harness: RedisHarness, key: str) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work(n: int) -> int:
            return n

        first = await stage.submit(work.bind(1))
        with _Spoiled(House(harness), key):
            actor = await stage.start()
            await asyncio.sleep(30.0)
            assert not actor.worker._stop_asked.is_set()
        assert (await stage.ended(first)).state is MessageState.COMPLETED
        await stage.stop(actor)


@pytest.mark.parametrize("key", [key for key in KEYS if key != "l"])
async def test_what_it_runs_meanwhile_is_settled_then(harness: RedisHarness, key: str) -> None:
    async with Stage(harness) as stage:
        running, over = asyncio.Event(), asyncio.Event()

        @stage.task
        async def work(n: int) -> int:
            running.set()
            await over.wait()
            return n

        actor = await stage.start()
        first = await stage.submit(work.bind(1))
        await running.wait()
        with _Spoiled(House(harness), key):
            await asyncio.sleep(0.4 * harness.lease_seconds)
            assert not actor.worker._stop_asked.is_set()
        over.set()
        assert (await stage.ended(first)).state is MessageState.COMPLETED
        await stage.stop(actor)
