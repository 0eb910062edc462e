"""The embedded metric format: lines that CloudWatch reads, from a real worker's figures."""

import asyncio
import contextlib
import json
import os
import socket
import threading
from pathlib import Path

import pytest
from tests.cli.process import started
from tests.monitoring.cloudwatch.emf_rules import Key, read
from tests.server.asking import serving

from tenure import Tenure
from tenure.config import Settings
from tenure.errors import ConfigurationError
from tenure.monitoring.catalogue.metrics import METRICS
from tenure.monitoring.catalogue.spec import MetricKind
from tenure.monitoring.cloudwatch.emf import EmfLines
from tenure.monitoring.cloudwatch.emf_export import EmfExport
from tenure.monitoring.cloudwatch.emf_target import emf_target
from tenure.monitoring.metrics.sample import Sample, Times
from tenure.testing.virtual import VirtualClock

AT = 1_896_080_520.0
OF_MAIL = (("queue", "mail-tasks"), ("task", "mail"))


def _read(lines: list[bytes]) -> dict[Key, float]:
    return {key: value for line in lines for key, value in read(line).items()}


def test_every_metric_of_the_catalogue_becomes_one_that_cloudwatch_reads() -> None:
    samples = []
    for spec in METRICS:
        times = Times()
        times.note(2.0)
        value = times if spec.kind is MetricKind.HISTOGRAM else 7.0
        samples.append(Sample(spec.name, tuple(f"a {label}" for label in spec.labels), value))
    found = _read(EmfLines().lines(samples, AT))
    names = {name for name, _ in found}
    for spec in METRICS:
        expected = {f"{spec.name}_count", f"{spec.name}_sum"} if spec.kind is MetricKind.HISTOGRAM else {spec.name}
        assert expected <= names
        assert {f"a {label}" for label in spec.labels} <= {value for _, key in found for _, value in key}


async def test_a_counter_is_what_was_added_and_a_gauge_is_what_there_is(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://emf", clock=virtual_clock)

    @app.task(queue="mail-tasks")
    async def mail() -> None:
        await asyncio.sleep(3.0)

    lines = EmfLines("Shop")
    async with app, app.worker() as worker:
        totals = []
        for number in (4, 2, 0):
            for _ in range(number):
                await app.submit(mail.bind())
            await asyncio.sleep(10)
            found = _read(lines.lines(worker.metrics(), AT))
            assert found["tenure_worker_slots", ()] == 10
            totals.append(found["tenure_messages_total", (*OF_MAIL, ("outcome", "completed"))])
        assert totals == [4, 2, 0]


def test_a_counter_that_begins_anew_is_never_less_than_nothing() -> None:
    lines = EmfLines()
    values = []
    for total in (5.0, 3.0, 4.0):
        found = _read(lines.lines([Sample("tenure_workers_crashed_total", (), total)], AT)) if total != 3.0 else {}
        if total == 3.0:
            assert lines.lines([Sample("tenure_workers_crashed_total", (), total)], AT) == []
        values.append(found.get(("tenure_workers_crashed_total", ())))
    assert values == [5.0, None, 1.0]


def test_what_was_not_written_is_added_to_the_next_line() -> None:
    lines, values = EmfLines(), []
    for total, is_written in ((5.0, True), (7.0, False), (8.0, False), (9.0, True), (10.0, True)):
        found = _read(lines.lines([Sample("tenure_workers_crashed_total", (), total)], AT))
        if is_written:
            values.append(found["tenure_workers_crashed_total", ()])
        else:
            lines.take_back()
    assert values == [5.0, 4.0, 1.0]


def test_labels_that_cloudwatch_would_refuse_are_made_fit() -> None:
    samples = [Sample("tenure_process_duration_seconds", (queue, "t"), Times()) for queue in ("", "é" * 3000)]
    assert len(_read(EmfLines().lines(samples, AT))) == 4


def test_ids_of_messages_and_workers_are_no_dimension() -> None:
    assert not {label for spec in METRICS for label in spec.labels} & {"message_id", "owner", "worker"}


@pytest.mark.parametrize("text", ["", "std", "file://host/x", "tcp://", "tcp://a:99999", "tcp://a/x", "http://a"])
def test_what_takes_no_lines_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="Nothing was started"):
        emf_target(text)


@pytest.mark.real_time
async def test_the_agent_gets_lines_again_and_again_and_the_last_figures_at_the_end() -> None:
    """Once a minute; here ten times a second."""
    got: list[bytes] = []
    grown = threading.Condition()

    def serve() -> None:
        with contextlib.suppress(OSError):  # the end
            while True:
                connection, _address = server.accept()
                with connection, connection.makefile("rb") as file:
                    lines = file.read().splitlines()
                with grown:
                    got.extend(lines)
                    grown.notify_all()

    def has(number: int) -> bool:
        with grown:
            return grown.wait_for(lambda: len(got) >= number, 60)

    total = 0

    async def collect() -> list[Sample]:
        nonlocal total
        total += 1
        return [Sample("tenure_workers_crashed_total", (), float(total))]

    with socket.create_server(("127.0.0.1", 0)) as server:
        agent = threading.Thread(target=serve, daemon=True)
        agent.start()
        async with EmfExport(f"tcp://127.0.0.1:{server.getsockname()[1]}", collect, every_seconds=0.1):
            assert await asyncio.to_thread(has, 2)
        assert await asyncio.to_thread(has, total)
        server.shutdown(socket.SHUT_RDWR)
        agent.join(60)
    assert [read(line)["tenure_workers_crashed_total", ()] for line in got] == [1.0] * total


@pytest.mark.real_time
async def test_an_agent_that_comes_back_gets_what_it_missed(tmp_path: Path) -> None:
    """Here a file whose folder is not there at first."""
    file, collected = tmp_path / "later" / "metrics.emf", asyncio.Event()
    totals = iter([3.0, 4.0])

    async def collect() -> list[Sample]:
        total = next(totals, 6.0)
        if total == 6.0:  # the first two were tried
            file.parent.mkdir(exist_ok=True)
            collected.set()
        return [Sample("tenure_workers_crashed_total", (), total)]

    async with EmfExport(f"file:{file}", collect, every_seconds=0.01):
        async with asyncio.timeout(60):
            await collected.wait()
    assert sum(read(line)["tenure_workers_crashed_total", ()] for line in file.read_bytes().splitlines()) == 6.0


@pytest.mark.real_time
async def test_figures_that_cannot_be_read_once_are_read_again(tmp_path: Path) -> None:
    file, asked = tmp_path / "metrics.emf", 0
    again = asyncio.Event()

    async def collect() -> list[Sample]:
        nonlocal asked
        asked += 1
        if asked % 2:
            raise PermissionError("not now")
        if asked >= 4:
            again.set()
        return [Sample("tenure_workers_crashed_total", (), float(asked))]

    async with EmfExport(f"file:{file}", collect, every_seconds=0.01):
        async with asyncio.timeout(60):
            await again.wait()
    assert len(file.read_bytes().splitlines()) >= 1


@pytest.mark.real_time
async def test_a_target_that_takes_nothing_does_not_keep_a_worker_from_its_end(tmp_path: Path) -> None:
    """A pipe that nothing reads: opening it waits for a reader."""
    os.mkfifo(tmp_path / "pipe")

    async def collect() -> list[Sample]:
        return [Sample("tenure_workers_crashed_total", (), 1.0)]

    async with asyncio.timeout(60), EmfExport(f"file:{tmp_path}/pipe", collect, end_seconds=0.1):
        pass
    os.close(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK))  # lets its thread go


@pytest.mark.scenario
def test_a_target_with_a_typo_is_refused_before_a_message_is_leased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jobs.py").write_text(
        "from tenure import Tenure\n\napp = Tenure('sqlite:///jobs.db')\n\n\n@app.task\nasync def mail() -> None: ...\n"
    )
    monkeypatch.chdir(tmp_path)
    with started("worker", "jobs:app", "--emf", "tpc://127.0.0.1:25888") as worker:
        assert worker.ends(60) == 2
    assert [line.partition(":")[0] for line in worker.lines] == ["error[configuration]"]


@pytest.mark.scenario
@pytest.mark.parametrize("words", [(), ("--processes", "2")], ids=["one", "several"])
def test_a_worker_writes_its_figures_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    (tmp_path / "jobs.py").write_text(
        "from tenure import Tenure\n\napp = Tenure('sqlite:///jobs.db')\n\n\n"
        "@app.task(queue='mail-tasks')\nasync def mail() -> None: ...\n"
    )
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with started("submit", "jobs:app", "mail") as submit:
            assert submit.ends() == 0
    with started("worker", "jobs:app", "--until-empty", "--emf", f"file:{tmp_path}/metrics.emf", *words) as worker:
        assert worker.ends(60) == 0
    lines = (tmp_path / "metrics.emf").read_bytes().splitlines()
    found = _read(lines)
    assert found["tenure_messages_total", (*OF_MAIL, ("outcome", "completed"))] == 2
    assert all("_aws" in json.loads(line) for line in lines)


@pytest.mark.real_time
async def test_a_server_writes_what_only_it_reads(tmp_path: Path) -> None:
    """How many messages wait, for the alarms on queues; written when it ends, too."""
    lines = tmp_path / "server.emf"
    app = Tenure("memory://emf-server", settings=Settings(emf=f"file:{lines}"))

    @app.task(queue="mail-tasks")
    async def mail() -> None: ...

    async with app, serving(app):
        await app.submit(mail.bind())
    found = _read(lines.read_bytes().splitlines())
    assert found["tenure_queue_depth", (("queue", "mail-tasks"), ("state", "ready"))] == 1
    assert found["tenure_store_up", ()] == 1
