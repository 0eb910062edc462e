"""Celery, Dramatiq and RQ do what the audit says of them: each run with the mistake, and without it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers import binary, start_redis

_BEGIN = """
import os, time
URL = os.environ["REDIS_OF_THE_TEST"]
"""
_DRAMATIQ = (
    _BEGIN
    + """
import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import *
runs = []
def dead(broker):
    return broker.client.zcard("dramatiq:default.XQ")
def wait(broker, seconds):
    worker = dramatiq.Worker(broker, worker_timeout=100)
    broker.emit_after("process_boot")
    worker.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until and broker.do_qsize("default"):
        time.sleep(0.05)
    worker.stop()
"""
)
_RQ = (
    _BEGIN
    + """
from datetime import timedelta
from redis import Redis
from rq import Queue, Retry, SimpleWorker
redis = Redis.from_url(URL)
queue = Queue(connection=redis)
"""
)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    server = start_redis("valkey9", tmp_path)
    yield f"redis://localhost:{server.port}"
    server.stop()


def _said(source: str, url: str, folder: Path) -> str:
    (folder / "program.py").write_text(source, encoding="utf-8")
    ended = subprocess.run(
        [binary("peers"), "program.py"], cwd=folder, env=os.environ | {"REDIS_OF_THE_TEST": url, "PYTHONPATH": ""},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split("\n")[-2]


@pytest.mark.parametrize(
    ("middleware", "kept"),
    [("[TimeLimit()]", 0), ("[TimeLimit(), Retries(max_retries=0)]", 1)],
    ids=["TQ807", "Retries"],
)
def test_dramatiq_without_retries_takes_a_failure_for_done(
    url: str, tmp_path: Path, middleware: str, kept: int
) -> None:
    program = f"""{_DRAMATIQ}
broker = RedisBroker(url=URL, middleware={middleware})
dramatiq.set_broker(broker)
@dramatiq.actor
def charge(): raise OSError
charge.send()
wait(broker, 10)
print(dead(broker))
"""
    assert _said(program, url, tmp_path) == str(kept)


@pytest.mark.parametrize(("limit", "done"), [(1, False), (1000, True)], ids=["TQ808", "milliseconds"])
def test_a_time_limit_of_dramatiq_is_in_milliseconds(url: str, tmp_path: Path, limit: int, done: bool) -> None:
    program = f"""{_DRAMATIQ}
broker = RedisBroker(url=URL, middleware=[TimeLimit(interval=10), Retries(max_retries=0)])
dramatiq.set_broker(broker)
@dramatiq.actor(time_limit=60 * {limit})
def work():
    for _ in range(40): time.sleep(0.05)
    runs.append(1)
work.send()
wait(broker, 15)
print(bool(runs))
"""
    assert _said(program, url, tmp_path) == str(done)


@pytest.mark.parametrize(("age", "tries"), [(400, 1), (60_000, 2)], ids=["TQ809", "longer"])
def test_a_message_of_dramatiq_that_is_too_old_is_not_tried_again(
    url: str, tmp_path: Path, age: int, tries: int
) -> None:
    program = f"""{_DRAMATIQ}
broker = RedisBroker(url=URL)
dramatiq.set_broker(broker)
@dramatiq.actor(max_age={age}, min_backoff=1000, max_retries=1)
def work():
    runs.append(1)
    raise OSError
work.send()
wait(broker, 20)
print(len(runs))
"""
    assert _said(program, url, tmp_path) == str(tries)


@pytest.mark.parametrize(
    ("add", "ran"), [("", False), ("broker.add_middleware(AsyncIO())", True)], ids=["TQ811", "loop"]
)
def test_an_async_actor_of_dramatiq_needs_a_loop(url: str, tmp_path: Path, add: str, ran: bool) -> None:
    program = f"""{_DRAMATIQ}
broker = RedisBroker(url=URL)
{add}
dramatiq.set_broker(broker)
@dramatiq.actor(max_retries=0)
async def work(): runs.append(1)
work.send()
wait(broker, 10)
print(bool(runs))
"""
    assert _said(program, url, tmp_path) == str(ran)


@pytest.mark.parametrize(("retry", "tries"), [("None", 1), ("Retry(max=2)", 3)], ids=["TQ812", "Retry"])
def test_rq_runs_a_job_once(url: str, tmp_path: Path, retry: str, tries: int) -> None:
    (tmp_path / "work.py").write_text("runs = []\ndef fail():\n    runs.append(1)\n    raise OSError\n")
    program = f"""{_RQ}
import work
queue.enqueue(work.fail, retry={retry})
SimpleWorker([queue], connection=redis).work(burst=True)
print(len(work.runs))
"""
    assert _said(program, url, tmp_path) == str(tries)


@pytest.mark.parametrize(("scheduler", "left"), [(False, 1), (True, 0)], ids=["TQ813", "scheduler"])
def test_rq_without_its_scheduler_never_runs_what_is_for_later(
    url: str, tmp_path: Path, scheduler: bool, left: int
) -> None:
    program = f"""{_RQ}
queue.enqueue_in(timedelta(seconds=0), print, "x")
time.sleep(1.1)
until = time.monotonic() + 4
while time.monotonic() < until and queue.scheduled_job_registry.count:
    SimpleWorker([queue], connection=redis).work(burst=True, with_scheduler={scheduler})
print(queue.scheduled_job_registry.count)
"""
    assert _said(program, url, tmp_path) == str(left)


def test_rq_deletes_a_job_that_waited_too_long(url: str, tmp_path: Path) -> None:
    program = f"""{_RQ}
job = queue.enqueue(print, "x", ttl=1)
time.sleep(1.2)
SimpleWorker([queue], connection=redis).work(burst=True)
print(redis.exists(job.key), queue.failed_job_registry.count, queue.finished_job_registry.count)
"""
    assert _said(program, url, tmp_path) == "0 0 0"
