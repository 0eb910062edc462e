"""Workers and senders over a restart and a real failover: they carry on, nothing is lost, nothing is run twice."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.adapters.redis.acting import at_last, connected, message, until
from tests.servers import KINDS, Watched, start_redis, start_sentinel

from tenure import Tenure
from tenure.errors import BrokerUnavailable
from tenure.message import Outgoing

pytestmark = [pytest.mark.real_time, pytest.mark.outage]


@pytest.fixture(params=KINDS)
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    with start_sentinel(request.param, tmp_path, appendonly=True) as watched:
        yield watched


class Crew:
    """Two workers, a task of some milliseconds, and one that outlasts the trouble."""

    def __init__(self, url: str) -> None:
        self.runs: Counter[str] = Counter()
        self.sent: list[str] = []
        self.app = app = Tenure(url)
        self.is_back = asyncio.Event()

        @app.task
        async def work(name: str) -> None:
            self.runs[name] += 1
            await asyncio.sleep(0.01)

        @app.task(lease=6)
        async def outlast() -> str:
            self.runs["outlast"] += 1
            await self.is_back.wait()
            await asyncio.sleep(8.0)  # more than its lease, from the moment the server is back
            return "done"

        self._work, self.outlast = work, outlast
        self.workers = [app.worker(concurrency=10, name=f"worker{number}") for number in range(2)]

    async def send(self) -> None:
        """One message; said again under its id until it is answered."""
        name = f"m{len(self.sent)}"
        await at_last(lambda: self.app.submit(self._work.bind(name), id=name))
        self.sent.append(name)

    async def send_until(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self.send()
            await asyncio.sleep(0.005)

    async def are_done(self) -> bool:
        return all(self.runs[name] for name in self.sent)


async def _through(crew: Crew, trouble: Callable[[], object]) -> None:
    """Work, fall into trouble, and go on working."""
    for worker in crew.workers:
        await worker.start()
    long = await crew.outlast.submit()
    stop = asyncio.Event()
    sender = asyncio.create_task(crew.send_until(stop))
    await until(lambda: _is(len(crew.sent) >= 50 and crew.runs["outlast"] == 1))
    await asyncio.to_thread(trouble)
    crew.is_back.set()
    count = len(crew.sent)
    await until(lambda: _is(len(crew.sent) >= count + 50))
    stop.set()
    await sender
    await until(crew.are_done)
    async with asyncio.timeout(60.0):
        assert await long.result() == "done"
    # Nobody was called dead for it, and nobody ran what somebody else was running.
    for worker in crew.workers:
        assert not worker.counts.get("owner_retired"), worker.counts
        assert not worker.counts.get("lease_lost"), worker.counts
        worker.ask_to_stop()
        await worker.stop()
    await crew.app.close()


async def _is(word: bool) -> bool:
    return word


async def test_redis_killed_and_started_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        start_redis("valkey9", tmp_path, appendonly=True) as server,
        caplog.at_level(logging.WARNING, "tenure"),
    ):
        crew = Crew(server.url)
        await _through(crew, server.restart)
    # Ten loops met it: one tells that it is gone, one that it is back. The journal, which lags behind, has its own.
    told = [record.message for record in caplog.records if "tenure.bus" not in record.name]
    assert 1 <= len([one for one in told if "trying again until it works" in one]) <= 2, told
    assert 1 <= len([one for one in told if "works again after" in one]) <= 2, told
    assert {name: count for name, count in crew.runs.items() if count > 1} == {}


async def test_a_master_killed_and_its_replica_made_the_master(watched: Watched) -> None:
    crew = Crew(watched.url)

    def fail_over() -> None:
        watched.master.kill()
        watched.until_failed_over()

    await _through(crew, fail_over)
    # What the old master had not passed on when it was killed may have been run before: that is all.
    assert sum(count - 1 for count in crew.runs.values() if count > 1) <= 10


async def test_with_replication_confirmed_nothing_is_run_twice(watched: Watched) -> None:
    crew = Crew(f"{watched.url}?durability=replicated&timeout_seconds=5")

    def fail_over() -> None:
        watched.master.kill()
        watched.until_failed_over()
        # There is nobody left to confirm anything before the old master is back, as the replica's replica.
        watched.master.restart()

    await _through(crew, fail_over)
    assert {name: count for name, count in crew.runs.items() if count > 1} == {}


async def test_a_master_that_was_replaced_while_it_lives_is_left_within_seconds(watched: Watched) -> None:
    broker, _ = connected(watched.url)
    await broker.open()
    await broker.send([Outgoing(message())])
    # The Sentinel tells the old master after ten seconds, and cuts its lines: until then that takes writes in vain.
    # Here it may not, so whoever leaves the old master has found out by himself.
    watched.master.ask("ACL", "SETUSER", "default", "-replicaof", "-slaveof")
    watched.sentinels[0].ask("SENTINEL", "FAILOVER", watched.name)
    new = watched.until_failed_over()

    async def is_there() -> bool:
        sent = message()
        await broker.send([Outgoing(sent)])
        return new.ask("HEXISTS", "tenure:{mail}:m", sent.id) == 1

    await until(is_there, within=60.0)
    assert str(watched.master.ask("ROLE")).startswith("['master'"), "it was told"
    await broker.close()


async def test_a_service_that_no_sentinel_knows(watched: Watched) -> None:
    broker, _ = connected(watched.url.replace("/main", "/other"))
    with pytest.raises(BrokerUnavailable) as caught:
        await broker.open()
    assert "No master found for 'other'" in str(caught.value)
    await broker.close()
