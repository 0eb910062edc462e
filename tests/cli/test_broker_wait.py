"""`tenure worker --wait-for-broker`: a worker that starts before its broker, with a real server."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers import RedisServer, start_redis

from tenure import BrokerUnavailable, Tenure

from .conftest import Run
from .process import started


@pytest.fixture
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server that is down, and the address of which `late:app` has."""
    with start_redis("valkey9", tmp_path_factory.mktemp("valkey")) as there:
        there.kill()
        jobs = (folder / "jobs.py").read_text()
        (folder / "late.py").write_text(jobs.replace("sqlite:///jobs.db", f"redis://127.0.0.1:{there.port}/0"))
        yield there


@pytest.mark.parametrize("words", [[], ["--processes", "1"]], ids=["worker", "supervisor"])
def test_a_worker_that_starts_first_waits_for_its_broker(tenure: Run, server: RedisServer, words: list[str]) -> None:
    with started("worker", "late:app", *words) as worker:
        assert "for the broker: Redis at 127.0.0.1" in worker.says("waiting up to 30 s")
        server.start()
        worker.says("the broker is there, after")
        worker.says("runs 4 tasks")
        sent = tenure("submit", "late:app", "resize", '{"image": "a.png"}', "--wait", "60s")
        assert (sent.exit_code, sent.stdout) == (0, '"a.png"\n')
        worker.send(signal.SIGTERM)
        assert worker.ends() == 0
    assert sum("waiting up to" in line for line in worker.lines) == 1


def test_without_a_wait_it_ends_at_once(server: RedisServer) -> None:
    with started("worker", "late:app", "--wait-for-broker", "0") as worker:
        assert worker.ends() == 1
    assert [line.partition(":")[0] for line in worker.lines] == ["error[broker_unavailable]"]


def test_a_broker_that_does_not_come_is_told(server: RedisServer) -> None:
    with started("worker", "late:app", "--wait-for-broker", "300ms") as worker:
        assert worker.ends() == 1
    assert "(waited 0 s for it)" in worker.lines[-1]


def test_a_worker_that_waits_can_be_stopped(server: RedisServer) -> None:
    with started("worker", "late:app", "--json") as worker:
        worker.says("waiting up to 30 s")
        worker.send(signal.SIGTERM)
        assert '"deletions"' in worker.output()
        assert worker.ends() == 0
    assert "Traceback" not in "".join(worker.lines)


def test_a_wrong_password_is_no_outage(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with start_redis("valkey9", tmp_path_factory.mktemp("valkey"), config=["requirepass right"]) as server:
        jobs = (folder / "jobs.py").read_text()
        (folder / "late.py").write_text(jobs.replace("sqlite:///jobs.db", f"redis://:wrong@127.0.0.1:{server.port}/0"))
        with started("worker", "late:app") as worker:
            assert worker.ends() == 2
        assert [line.partition(":")[0] for line in worker.lines] == ["error[login_refused]"]


def test_who_only_looks_does_not_wait(tenure: Run, server: RedisServer) -> None:
    looked = tenure("queues", "late:app")
    assert looked.exit_code == 1
    assert "waited" not in looked.stderr


def test_an_app_in_a_web_application_waits_too(server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    app = Tenure(f"redis://127.0.0.1:{server.port}/0")

    @app.task
    async def add(a: int, b: int) -> int:
        return a + b

    async def lifespan() -> int:
        with pytest.raises(BrokerUnavailable):
            await add.submit(1, 2)  # a request is answered, and does not wait
        starting = asyncio.get_running_loop().run_in_executor(None, server.start)
        async with app, app.worker():
            await starting
            return await (await add.submit(1, 2)).result(timeout=60)

    assert asyncio.run(lifespan()) == 3
    assert sum("waiting up to 30 s for the broker" in record.getMessage() for record in caplog.records) == 1
