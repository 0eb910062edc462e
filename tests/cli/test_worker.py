"""`tenure worker` as a real process: what it says, and what signals do to it."""

import signal
from pathlib import Path

import msgspec
import pytest

from tenure.clock import SYSTEM_CLOCK

from .conftest import Run, answer
from .process import SOON, started

pytestmark = pytest.mark.scenario


def _state(tenure: Run, id: str) -> object:
    return answer(tenure("dead", "show", "jobs:app", id, "--json"))["state"]


def test_a_worker_says_who_it_is_runs_messages_and_stops_on_sigterm(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a.png"}', "--id", "good")
    tenure("submit", "jobs:app", "resize", '{"image": "broken"}', "--id", "bad")
    with started("worker", "jobs:app", "--concurrency", "3", "--name", "w1") as worker:
        line = worker.says("w1/")
        assert worker.says(f"on sqlite:///{Path.cwd()}/jobs.db")
        for part in ("default-tasks", "slow", "3 slots"):
            assert part in line or part in worker.says("on sqlite:///")
        assert "ValueError: no such image" in worker.says("dead letter (rejected)")
        worker.send(signal.SIGTERM)
        worker.says("stopping: 0 in flight, up to 30 s to finish; signal again to return them now")
        assert worker.ends() == 0
    assert (_state(tenure, "good"), _state(tenure, "bad")) == ("completed", "dead")


def test_the_first_signal_lets_handlers_finish(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 5}', "--id", "nap")
    with started("worker", "jobs:app") as worker:
        worker.says("on sqlite:///")
        _until_leased(tenure)
        worker.send(signal.SIGINT)
        worker.says("stopping: 1 in flight")
        assert worker.ends() == 0
    assert _state(tenure, "nap") == "completed"


def test_the_second_signal_gives_everything_back_now(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 600}', "--id", "nap")
    with started("worker", "jobs:app", "--grace", "10m") as worker:
        worker.says("on sqlite:///")
        _until_leased(tenure)
        worker.send(signal.SIGTERM)
        worker.says("stopping: 1 in flight")
        _pause()
        worker.send(signal.SIGTERM)
        worker.says("stopping now")
        assert worker.ends() == 0
    assert _state(tenure, "nap") == "ready"


def test_what_does_not_finish_within_the_grace_is_given_back(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 600}', "--id", "nap")
    with started("worker", "jobs:app", "--grace", "200ms") as worker:
        worker.says("on sqlite:///")
        _until_leased(tenure)
        worker.send(signal.SIGTERM)
        assert worker.ends() == 0
    assert _state(tenure, "nap") == "ready"


def test_a_thread_that_does_not_end_does_not_keep_the_process(tenure: Run) -> None:
    tenure("submit", "jobs:app", "stuck", '{"seconds": 600}', "--id", "stuck")
    with started("worker", "jobs:app", "--grace", "100ms") as worker:
        worker.says("on sqlite:///")
        _until_leased(tenure)
        worker.send(signal.SIGTERM)
        assert worker.ends() == 0
        worker.says("a handler still runs")
    assert _state(tenure, "stuck") == "ready"


def test_json_logs_are_one_object_a_line_and_the_end_is_counted(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "broken"}')
    with started("worker", "jobs:app", "--json", "--queue", "default-tasks", "--queue", "nowhere") as worker:
        worker.says("no task of this app sends to queue 'nowhere'")
        worker.says("dead letter")
        worker.send(signal.SIGTERM)
        assert worker.ends() == 0
        assert worker.process.stdout is not None
        done = msgspec.json.decode(worker.process.stdout.read())
    logs = [msgspec.json.decode(line) for line in worker.lines]
    assert all({"at", "level", "logger", "message"} <= log.keys() for log in logs)
    assert {log["level"] for log in logs} == {"info", "warning", "error"}
    assert done["counts"]["dead"] == 1


def test_a_worker_that_gave_messages_back_does_not_say_that_it_did_nothing(tenure: Run) -> None:
    for number in range(5):
        tenure("submit", "sqlite:///jobs.db", "newer", "{}", "--id", f"m{number}", "--create")
    with started("worker", "jobs:app", "--json", "--until-empty") as worker:
        assert worker.ends(SOON) == 0
        assert worker.process.stdout is not None
        done = msgspec.json.decode(worker.process.stdout.read())
    assert done["counts"]["given_back"] == 5
    assert done["given_back"] == {"unknown_task": 5}
    worker.says("did: 5 given back (unknown_task)")
    # Of many strangers one line says it all.
    assert len([line for line in worker.lines if "no live worker has a task 'newer'" in line]) == 1


def test_a_worker_until_empty_runs_what_is_there_and_what_comes_of_it(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "a")
    tenure("submit", "jobs:app", "flaky", "{}", "--id", "again")
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--delay", "1h", "--id", "later")
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}', "--id", "asleep")
    tenure("pause", "jobs:app", "slow")
    with started("worker", "jobs:app", "--until-empty") as worker:
        assert worker.ends(SOON) == 0
    worker.says("queues are empty; stopping")
    worker.says("did: 2 completed, 1 retried")
    states = [_state(tenure, id) for id in ("a", "again", "later", "asleep")]
    assert states == ["completed", "completed", "delayed", "ready"]


def test_a_worker_is_found_by_the_environment(tenure: Run) -> None:
    with started("worker", "--until-empty", TENURE_URL="jobs:app") as worker:
        assert worker.ends(SOON) == 0
    worker.says("did: nothing")


def test_a_short_grace_is_said_as_it_was_given(tenure: Run) -> None:
    with started("worker", "jobs:app", "--grace", "3s") as worker:
        worker.says("on sqlite:///")
        worker.send(signal.SIGTERM)
        worker.says("up to 3 s to finish; signal again")
        assert worker.ends() == 0


def test_a_worker_that_cannot_open_its_store_says_so_and_ends(tenure: Run) -> None:
    with started("worker", "mine:app") as worker:
        assert worker.ends(SOON) == 2
    assert "".join(worker.lines).startswith("error[bad_target]: no module named 'mine'")


def test_watch_ends_quietly_on_ctrl_c(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}')
    with started("queues", "jobs:app", "--watch", "--json", "--every", "100ms") as watch:
        assert watch.process.stdout is not None
        lines = [msgspec.json.decode(watch.process.stdout.readline()) for _ in range(3)]
        watch.send(signal.SIGINT)
        watch.process.stdout.read()
        assert watch.ends() == 0
    assert [line["queues"][0]["ready"] for line in lines] == [1, 1, 1]
    assert watch.lines == []


def test_a_reader_that_leaves_early_is_no_error_message(tenure: Run) -> None:
    with started("queues", "jobs:app", "--watch", "--json", "--every", "100ms") as watch:
        assert watch.process.stdout is not None
        watch.process.stdout.readline()
        watch.process.stdout.close()
        watch.ends()
    assert watch.lines == []


def _until_leased(tenure: Run) -> None:
    until = SYSTEM_CLOCK.monotonic() + SOON
    while not sum(queue["leased"] for queue in answer(tenure("queues", "jobs:app", "--json"))["queues"]):
        assert SYSTEM_CLOCK.monotonic() < until, "never leased"


def _pause() -> None:
    """Two signals within a tenth of a second are one."""
    import time

    time.sleep(0.3)


def test_a_queue_of_a_namespace_may_be_served_by_its_full_name(tenure: Run, folder: Path) -> None:
    (folder / "shop.py").write_text((folder / "jobs.py").read_text().replace('jobs.db"', 'jobs.db", namespace="shop"'))
    with started("worker", "shop:app", "--queue", "shop/slow", "--queue", "slwo") as worker:
        assert f"on sqlite:///{folder}/jobs.db" in worker.says("runs 4 tasks of shop/slow, shop/slwo")
        warnings = [line for line in worker.lines if "no task of this app" in line]
        assert ["did you mean 'slow'?" in line for line in warnings] == [True]
        worker.send(signal.SIGTERM)
        assert worker.ends() == 0


def test_several_processes_say_which_they_are_and_are_counted_together(tenure: Run) -> None:
    for number in range(4):
        tenure("submit", "jobs:app", "resize", f'{{"image": "{number}.png"}}')
    with started("worker", "jobs:app", "--processes", "2", "--name", "w", "--until-empty", "--json") as worker:
        assert worker.process.stdout is not None
        done = msgspec.json.decode(worker.process.stdout.read())
        assert worker.ends() == 0
    logs = [msgspec.json.decode(line) for line in worker.lines]
    assert {log.get("process") for log in logs} == {1, 2, None}
    assert sorted(owner.partition("/")[0] for owner in done["owners"]) == ["w-1", "w-2"]
    assert (done["counts"]["completed"], done["deaths"]) == (4, 0)


def test_processes_that_cannot_start_end_with_one_error_and_its_code(tenure: Run) -> None:
    with started("worker", "mine:app", "--processes", "3") as worker:
        assert worker.ends(SOON) == 2
    assert "".join(worker.lines).count("error[bad_target]: no module named 'mine'") == 1


def test_beats_of_a_supervisor_need_one(tenure: Run) -> None:
    result = tenure("worker", "jobs:app", "--heartbeat", "supervisor")
    assert result.exit_code == 2
    assert "error[usage]: --heartbeat supervisor needs a supervisor: add --processes 1, or more" in result.stderr


def test_a_worker_serves_clients(tenure: Run) -> None:
    for client in ("acme", "alpha", "demo", "shop"):
        tenure("submit", "jobs:app", "resize", '{"image": "a.png"}', "--id", client, "--client", client)
    with started("worker", "jobs:app", "--clients", "a*,demo", "--until-empty", "--processes", "1") as worker:
        assert worker.ends() == 0
        assert not any("no task of this app sends" in line for line in worker.lines)
    sent = answer(tenure("messages", "jobs:app", "--json"))["messages"]
    assert [one["id"] for one in sent] == ["shop"]
    refused = tenure("worker", "jobs:app", "--clients", "A*")
    assert refused.exit_code == 2
    assert "upper case" in refused.stderr
