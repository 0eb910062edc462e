"""Children, with real processes."""

import asyncio
import contextlib
import importlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tenure
from tenure import LeaseLost, Progress, Tenure
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import ConfigurationError
from tenure.lease import Lease
from tenure.message import Counters, Message, new_id
from tenure.runtime.delivery import Delivery
from tenure.runtime.handoff import derived_id
from tenure.runtime.processes import frames
from tenure.runtime.processes.import_path import Finder, Locator, locate, locate_task
from tenure.runtime.processes.pool import ChildDied, ChildFailed, ProcessPool
from tenure.tasks.call import Call, Options
from tenure.tasks.task import Task
from tenure.verdict import Completed, Dead, Retried, Snoozed

HERE = str(Path(__file__).parent)

pytestmark = pytest.mark.scenario


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that the children import too."""
    monkeypatch.syspath_prepend(HERE)
    return importlib.import_module("child_jobs")


class Paper:
    """A link that writes down what it is asked."""

    def __init__(self, delivery: Delivery) -> None:
        self.delivery = delivery
        self.deadline = 1030.0
        self.lease_lost = False
        self.stopping = False
        self.expected_end: float | None = 1012.5
        self.send_id = delivery.send_id
        self.most_at_once = 1
        self.sizes: list[float] = []
        self.said: list[Progress] = []
        self.kept: bytes | None = b"[0]"
        self.touched: list[float | None] = []
        self.trouble = False
        self.heard = asyncio.Event()

    async def touch(self, seconds: float | None) -> None:
        if self.trouble:
            msg = "the lease is lost"
            raise LeaseLost(msg)
        self.touched.append(seconds)
        self.deadline += 15.0

    async def set_size(self, size: float) -> None:
        self.sizes.append(size)
        self.deadline += 60.0

    def progress(self, progress: Progress) -> None:
        self.said.append(progress)
        self.heard.set()

    async def checkpoint(self, data: bytes) -> None:
        if self.trouble:
            msg = "a bug in the worker"
            raise ZeroDivisionError(msg)
        self.kept = data

    async def load_checkpoint(self) -> bytes | None:
        return self.kept

    def submit(self, call: Call[Any], options: Options) -> str:
        out = self.delivery.next_hand_off(call, options, sent_at=1.0)
        self.delivery.handoffs.append(out)
        return out.message.id


def delivery_of(task: Task[..., Any], *, attempts: int = 0, **payload: Any) -> Delivery:
    body = msgspec.Raw(msgspec.json.encode(payload))
    message = Message(id=new_id(SYSTEM_CLOCK.wall()), queue=task.queue, task=task.name, body=body)
    lease = Lease(message.id, task.queue, b"", "me", 7, "r", 30.0, 1030.0, counters=Counters(attempts=attempts))
    return Delivery(lease, message, task)


@contextlib.asynccontextmanager
async def pool(
    most: int = 1, *, reuse: bool = True, locating: Callable[..., Locator] = locate_task
) -> AsyncIterator[ProcessPool]:
    children = ProcessPool(locating, most=most, clock=SYSTEM_CLOCK, name="test", reuse=reuse)
    try:
        yield children
    finally:
        await children.close()


async def run(children: ProcessPool, task: Task[..., Any], **payload: Any) -> Completed | Retried | Snoozed | Dead:
    delivery = delivery_of(task, **payload)
    return await children.run(delivery, Paper(delivery))


async def result(children: ProcessPool, task: Task[..., Any], **payload: Any) -> Any:
    verdict = await run(children, task, **payload)
    assert isinstance(verdict, Completed), verdict
    return msgspec.json.decode(verdict.result)


async def until(true: Callable[[], object], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what is waited for is in other processes
            await asyncio.sleep(0.01)


def lives(pid: int) -> bool:
    """Whether the process is there, and no zombie."""
    stat = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(stat.stdout.strip()) and not stat.stdout.startswith("Z")


def children_of(parent: int) -> list[str]:
    every = subprocess.run(["ps", "-A", "-o", "ppid=,args="], capture_output=True, text=True, check=True)
    return [line for line in every.stdout.splitlines() if line.split()[0] == str(parent) and "tenure" in line]


def pids_in(path: Path) -> list[int]:
    return [int(pid) for pid in path.read_text(encoding="ascii").split()]


# -- verdicts --------------------------------------------------------------------------------------


@pytest.mark.real_time
async def test_results_of_sync_and_async_handlers_come_back(jobs: Any) -> None:
    async with pool() as children:
        answer = await result(children, jobs.add, a=1, b=2)
        assert answer["sum"] == 3
        assert answer["pid"] != os.getpid()
        assert await result(children, jobs.add_later, a=3, b=4) == 7
        again = await result(children, jobs.add, a=1, b=2)
        assert again["pid"] == answer["pid"], "an idle child is used again"


@pytest.mark.real_time
async def test_the_context_knows_message_attempt_and_fence(jobs: Any) -> None:
    delivery = delivery_of(jobs.who, attempts=2)
    async with pool() as children:
        verdict = await children.run(delivery, Paper(delivery))
    assert isinstance(verdict, Completed)
    assert msgspec.json.decode(verdict.result) == [delivery.id, 3, 7, None, 1030.0, True]


@pytest.mark.real_time
@pytest.mark.parametrize("name", ["fail", "fail_later"])
async def test_an_error_is_a_retry_that_shows_the_handlers_own_lines(jobs: Any, name: str) -> None:
    async with pool() as children:
        verdict = await run(children, getattr(jobs, name), text="out of paper")
    assert isinstance(verdict, Retried)
    assert verdict.reason.code == "error"
    assert verdict.reason.text == "ValueError: out of paper"
    assert verdict.reason.error == "ValueError"
    assert "raise ValueError(text)" in verdict.reason.traceback
    assert "tenure/runtime" not in verdict.reason.traceback


@pytest.mark.real_time
async def test_the_last_attempt_is_counted_in_the_child(jobs: Any) -> None:
    async with pool() as children:
        verdict = await run(children, jobs.fail, attempts=1, text="x")
    assert isinstance(verdict, Dead)
    assert verdict.reason.code == "max_attempts"
    assert verdict.counted


@pytest.mark.real_time
async def test_handlers_speak_by_raising(jobs: Any) -> None:
    async with pool() as children:
        rejected = await run(children, jobs.reject)
        retried = await run(children, jobs.retry)
        invalid = await run(children, jobs.add, a="not a number", b=1)
        missing = await run(children, jobs.add, a=1)
    assert isinstance(rejected, Dead)
    assert (rejected.reason.code, rejected.reason.text) == ("rejected", "no such customer")
    assert isinstance(retried, Retried)
    assert (retried.after_seconds, retried.reason.text) == (7, "not yet")
    for verdict in (invalid, missing):
        assert isinstance(verdict, Dead)
        assert verdict.reason.code == "payload_invalid"
        assert not verdict.counted


@pytest.mark.real_time
async def test_sys_exit_is_an_error_and_the_child_goes_on(jobs: Any) -> None:
    async with pool() as children:
        before = await result(children, jobs.add, a=1, b=2)
        for task in (jobs.leave, jobs.leave_later):
            verdict = await run(children, task, code=3)
            assert isinstance(verdict, Retried)
            assert verdict.reason.text == "SystemExit: 3"
        assert await result(children, jobs.add, a=1, b=2) == before


@pytest.mark.real_time
async def test_a_result_that_cannot_be_kept_is_dead_and_its_work_is_not_repeated(jobs: Any) -> None:
    async with pool() as children:
        nonsense = await run(children, jobs.return_nonsense)
        much = await run(children, jobs.return_much)
        more_than_a_frame = await run(children, jobs.return_more_than_a_frame)
    codes = ["result_invalid", "result_too_large", "result_too_large"]
    for verdict, code in zip((nonsense, much, more_than_a_frame), codes, strict=True):
        assert isinstance(verdict, Dead)
        assert (verdict.reason.code, verdict.counted) == (code, True)
        assert "effects stand" in verdict.reason.text
    assert "64 MiB" in more_than_a_frame.reason.text  # type: ignore[union-attr]


@pytest.mark.real_time
async def test_an_error_in_words_that_utf8_cannot_say_still_arrives(jobs: Any) -> None:
    async with pool() as children:
        verdict = await run(children, jobs.fail_strangely)
    assert isinstance(verdict, Retried)
    assert verdict.reason.text.startswith("ValueError: caf\\udce9xxx")
    assert len(verdict.reason.text) < 10_000


@pytest.mark.real_time
async def test_a_message_larger_than_a_frame_is_dead(jobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "FRAME_LIMIT", 1000)
    async with pool() as children:
        verdict = await run(children, jobs.fail, text="x" * 1000)
    assert isinstance(verdict, Dead)
    assert verdict.reason.code == "body_too_large"


# -- deaths ----------------------------------------------------------------------------------------


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("name", "payload", "exit_code", "words"),
    [
        ("exit_now", {"code": 3}, 3, "ended with exit code 3"),
        ("exit_now", {"code": 0}, 0, "ended with exit code 0"),
        ("kill_itself", {}, -signal.SIGKILL, "was killed by signal 9 (SIGKILL)"),
        ("segfault", {}, -signal.SIGSEGV, "was killed by signal 11 (SIGSEGV)"),
        ("scribble", {}, -signal.SIGKILL, "was killed by signal 9 (SIGKILL)"),
    ],
)
async def test_a_death_is_told_and_the_next_message_gets_a_new_child(
    jobs: Any, name: str, payload: dict[str, Any], exit_code: int, words: str
) -> None:
    async with pool() as children:
        with pytest.raises(ChildDied) as caught:
            await run(children, getattr(jobs, name), **payload)
        assert caught.value.exit_code == exit_code
        assert caught.value.describe() == words
        assert caught.value.alone
        assert (await result(children, jobs.add, a=1, b=2))["sum"] == 3
        with pytest.raises(ChildDied) as caught:
            await run(children, getattr(jobs, name), **payload)
        assert not caught.value.alone, "the child had run another message before"


@pytest.mark.real_time
async def test_a_fork_that_holds_the_socket_does_not_hide_a_death(jobs: Any, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    async with pool() as children:
        async with asyncio.timeout(60):
            with pytest.raises(ChildDied) as caught:
                await run(children, jobs.fork_and_exit, path=str(path))
        assert caught.value.exit_code == 7
        await until(lambda: not lives(pids_in(path)[0]))


@pytest.mark.real_time
async def test_a_child_that_died_while_idle_blames_no_message(jobs: Any) -> None:
    async with pool() as children:
        pid = (await result(children, jobs.add, a=1, b=2))["pid"]
        os.kill(pid, signal.SIGSTOP)  # so that its death cannot be seen before the next message is sent
        running = asyncio.create_task(result(children, jobs.add, a=3, b=4))
        await asyncio.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        answer = await running
        assert answer["sum"] == 7
        assert answer["pid"] != pid
        os.kill(answer["pid"], signal.SIGKILL)
        await until(lambda: not lives(answer["pid"]))
        assert (await result(children, jobs.add, a=5, b=6))["sum"] == 11


@pytest.mark.real_time
async def test_cancellation_kills_the_child_and_what_it_started(jobs: Any, tmp_path: Path) -> None:
    path = tmp_path / "pids"
    async with pool() as children:
        running = asyncio.create_task(run(children, jobs.hang, path=str(path)))
        await until(path.exists)
        child, program = pids_in(path)
        assert lives(child)
        assert lives(program)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not lives(child), "it is gone when run() returns"
        await until(lambda: not lives(program))
        answer = await result(children, jobs.add, a=1, b=2)
        assert answer["pid"] != child


@pytest.mark.real_time
async def test_cancellation_while_a_child_starts_leaves_nothing(jobs: Any) -> None:
    async with pool() as children:
        for pause in (0.0, 0.005, 0.02, 0.05):
            running = asyncio.create_task(run(children, jobs.add, a=1, b=2))
            await asyncio.sleep(pause)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert (await result(children, jobs.add, a=1, b=2))["sum"] == 3
    assert not children_of(os.getpid())


@pytest.mark.real_time
async def test_each_message_has_a_child_of_its_own_where_none_is_reused(jobs: Any) -> None:
    async with pool(reuse=False) as children:
        first = await result(children, jobs.add, a=1, b=2)
        second = await result(children, jobs.add, a=1, b=2)
        assert first["pid"] != second["pid"]
        with pytest.raises(ChildDied) as caught:
            await run(children, jobs.exit_now, code=9)
        assert caught.value.alone
    assert not lives(first["pid"])
    assert not lives(second["pid"])


# -- the pool --------------------------------------------------------------------------------------


@pytest.mark.real_time
async def test_two_run_at_a_time_and_the_third_waits(jobs: Any, tmp_path: Path) -> None:
    async with pool(most=2) as children:
        runs = [asyncio.create_task(result(children, jobs.meet, path=str(tmp_path), count=2)) for _ in range(2)]
        third = asyncio.create_task(result(children, jobs.add, a=1, b=2))
        first, second = await asyncio.gather(*runs)
        assert first != second
        assert (await third)["pid"] in {first, second}


@pytest.mark.real_time
async def test_a_handler_that_holds_the_gil_does_not_hold_up_the_worker(jobs: Any, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    loop = asyncio.get_running_loop()
    async with pool() as children:
        running = asyncio.create_task(run(children, jobs.hold_the_gil, path=str(path), count=60_000_000))
        await until(path.exists)
        began, worst = loop.time(), 0.0
        while not running.done():
            before = loop.time()
            await asyncio.sleep(0.01)
            worst = max(worst, loop.time() - before)
        assert isinstance(await running, Completed)
        took = loop.time() - began
    assert took > 0.3, "else the handler is too short to show anything"
    assert worst < took / 2


@pytest.mark.real_time
async def test_close_ends_idle_and_busy_children(jobs: Any, tmp_path: Path) -> None:
    path = tmp_path / "pids"
    async with pool(most=2) as children:
        hanging = asyncio.create_task(run(children, jobs.hang, path=str(path)))
        await until(path.exists)
        idle = (await result(children, jobs.add, a=1, b=2))["pid"]
        await children.close()
        with pytest.raises(ChildFailed, match="closed"):
            await hanging
        for pid in (idle, *pids_in(path)):
            assert not lives(pid)
        with pytest.raises(ChildFailed, match="closed"):
            await run(children, jobs.add, a=1, b=2)


@pytest.mark.real_time
async def test_an_idle_child_ends_by_itself_and_in_order(jobs: Any) -> None:
    children = ProcessPool(locate_task, most=1, clock=SYSTEM_CLOCK, name="test")
    await result(children, jobs.add, a=1, b=2)
    (child,) = children._idle
    await children.close()
    assert child.ended.result() == 0, "not killed"


# -- the context -----------------------------------------------------------------------------------


@pytest.mark.real_time
async def test_a_size_is_told_from_a_child_and_the_new_deadline_comes_back(jobs: Any) -> None:
    delivery = delivery_of(jobs.say_size)
    link = Paper(delivery)
    async with pool() as children:
        verdict = await children.run(delivery, link)
    assert isinstance(verdict, Completed)
    assert msgspec.json.decode(verdict.result) == [1090.0, 1012.5]
    assert link.sizes == [2.1e9]


@pytest.mark.real_time
async def test_a_sync_context_reaches_the_worker(jobs: Any) -> None:
    delivery = delivery_of(jobs.use_context)
    link, message = Paper(delivery), delivery.message
    assert message is not None
    async with pool() as children:
        verdict = await children.run(delivery, link)
    assert isinstance(verdict, Completed)
    ids = [derived_id(message, 0), derived_id(message, 1)]
    assert msgspec.json.decode(verdict.result) == [[0], 1045.0, *ids]
    assert link.touched == [45.0]
    assert link.kept == b"[1,2,3]"
    assert link.said[-1] == Progress(1.0, "there")
    assert len(link.said) < 100, "of a thousand reports only some are sent"
    first, second = verdict.handoffs
    assert [out.message.id for out in verdict.handoffs] == ids
    assert first.delay_seconds == 60.0
    assert (first.message.task, first.message.queue) == ("add", jobs.add.queue)
    assert (first.message.priority, first.message.headers) == (9, {"a": "b"})
    assert bytes(first.message.body) == b'{"a":1,"b":2}'
    assert second.message.parent_id == message.id


@pytest.mark.real_time
async def test_an_effect_in_a_child_is_done_once_for_each_send(jobs: Any, tmp_path: Path) -> None:
    firsts = []
    async with pool() as children:
        for sent_at in (1.5, 1.5, 604_802.5):
            delivery = delivery_of(jobs.pay_once, path=str(tmp_path / "user.db"))
            assert delivery.message is not None
            delivery.message = msgspec.structs.replace(delivery.message, id="order-7", sent_at=sent_at)
            verdict = await children.run(delivery, Paper(delivery))
            assert isinstance(verdict, Completed), verdict
            firsts.append(verdict.result)
    assert firsts == [b"true", b"false", b"true"]


@pytest.mark.real_time
async def test_an_async_context_reaches_the_worker(jobs: Any) -> None:
    delivery = delivery_of(jobs.use_context_later)
    link = Paper(delivery)
    async with pool() as children:
        verdict = await children.run(delivery, link)
    assert isinstance(verdict, Completed)
    (out,) = verdict.handoffs
    assert msgspec.json.decode(verdict.result) == [[0], 1045.0, out.message.id]
    assert out.message.key == "k"
    moment = datetime(1970, 1, 2, tzinfo=UTC).timestamp()
    assert out.delay_seconds == pytest.approx(moment - 1.0), "sent at 1.0"
    assert out.message.expires_at == moment + 24 * 3600
    assert link.kept == b"[4]"


@pytest.mark.real_time
async def test_refusals_are_the_same_errors_as_in_the_worker(jobs: Any, caplog: pytest.LogCaptureFixture) -> None:
    delivery = delivery_of(jobs.be_refused)
    link = Paper(delivery)
    link.trouble = True
    async with pool() as children:
        verdict = await children.run(delivery, link)
    assert isinstance(verdict, Completed)
    priority, value, naive, text, lost, bug = msgspec.json.decode(verdict.result)
    assert "priority=77" in priority
    assert "nothing was handed on" in value
    assert "at=datetime.datetime(2040, 1, 1, 0, 0) has no time zone" in naive
    assert "at='soon' is not a datetime" in text
    assert lost == "the lease is lost"
    assert bug == "ZeroDivisionError: a bug in the worker"
    assert "got no answer" in caplog.text
    assert not verdict.handoffs


@pytest.mark.real_time
async def test_once_works_in_the_child(jobs: Any, tmp_path: Path) -> None:
    delivery = delivery_of(jobs.pay_once, path=str(tmp_path / "shop.db"))
    async with pool() as children:
        verdicts = [await children.run(delivery, Paper(delivery)) for _ in range(2)]
    assert [v.result for v in verdicts if isinstance(v, Completed)] == [b"true", b"false"]


@pytest.mark.real_time
@pytest.mark.parametrize("word", ["lease_lost", "stopping"])
async def test_the_handler_learns_within_a_second_what_happens_to_it(jobs: Any, word: str) -> None:
    task = jobs.wait_until_lost if word == "lease_lost" else jobs.wait_until_stopping
    delivery = delivery_of(task)
    link = Paper(delivery)
    async with pool() as children:
        running = asyncio.create_task(children.run(delivery, link))
        await link.heard.wait()
        setattr(link, word, True)
        async with asyncio.timeout(1.5):
            verdict = await running
    assert isinstance(verdict, Completed)
    assert msgspec.json.decode(verdict.result) == [word == "lease_lost", word == "stopping"]


@pytest.mark.real_time
async def test_a_thread_left_behind_cannot_speak_for_the_next_message(jobs: Any, tmp_path: Path) -> None:
    path = tmp_path / "late"
    async with pool() as children:
        assert await result(children, jobs.leave_a_thread, path=str(path)) is None
        delivery = delivery_of(jobs.let_the_thread_go)
        link = Paper(delivery)
        assert isinstance(await children.run(delivery, link), Completed)
    assert path.read_text(encoding="ascii") == "refused, and lost: True"
    assert link.kept == b"[0]"
    assert not link.said


# -- the process -----------------------------------------------------------------------------------


@pytest.mark.real_time
async def test_each_run_has_its_own_context_variables(jobs: Any) -> None:
    async with pool() as children:
        for task in (jobs.change_mood, jobs.change_mood_later):
            assert [await result(children, task) for _ in range(2)] == ["calm", "calm"]


@pytest.mark.real_time
async def test_what_a_handler_prints_appears_even_if_it_crashes(
    jobs: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    async with pool() as children:
        assert await result(children, jobs.read_stdin) == ""
        with pytest.raises(ChildDied):
            await run(children, jobs.print_and_crash)
    assert capfd.readouterr().out == "about to crash\n"


@pytest.mark.real_time
async def test_a_child_has_its_parents_folder_path_and_arguments(jobs: Any) -> None:
    async with pool() as children:
        assert await result(children, jobs.environment) == [str(Path.cwd()), sys.path, sys.argv]


# -- locating --------------------------------------------------------------------------------------


def test_a_reference_names_module_and_attribute() -> None:
    assert locate("jobs:app") == Locator("jobs", attribute="app")
    assert locate("shop.jobs:apps.main") == Locator("shop.jobs", attribute="apps.main")
    assert locate("shop.jobs") == Locator("shop.jobs")
    for bad in ("", ":app", "jobs:", "jobs.py:", "my jobs:app", "jobs:app:x"):
        with pytest.raises(ConfigurationError, match="names no app"):
            locate(bad)


def test_a_task_is_located_where_a_child_can_import_it(jobs: Any) -> None:
    assert locate_task(jobs.add).module == "child_jobs"
    app = Tenure("memory://nowhere")

    @app.task
    def local() -> None: ...

    with pytest.raises(ConfigurationError, match="no module has it"):
        locate_task(local)


def test_a_task_is_found_by_its_app_wherever_the_function_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("shop_functions.py").write_text("def sell(): return 'sold'\n", encoding="utf-8")
    tmp_path.joinpath("shop_app.py").write_text(
        "import shop_functions, tenure\napp = tenure.Tenure('memory://shop')\napp.task(shop_functions.sell)\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    app = importlib.import_module("shop_app").app
    task = app.tasks["sell"]
    assert locate_task(task) == Locator("shop_app", attribute="app")
    for locator in (locate("shop_app:app"), locate("shop_app"), locate("shop_app:gone")):
        assert Finder().find(locator, "sell") is task
    with pytest.raises(ConfigurationError, match="no task named buy"):
        Finder().find(locate("shop_app:app"), "buy")


def test_a_reference_may_name_a_function_that_makes_the_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("factory_jobs.py").write_text(
        "import tenure\n"
        "made = []\n"
        "def make_app():\n"
        "    app = tenure.Tenure('memory://factory')\n"
        "    made.append(app)\n"
        "    @app.task\n"
        "    def sell(): return 'sold'\n"
        "    return app\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    finder = Finder()
    task = finder.find(locate("factory_jobs:make_app"), "sell")
    assert task.name == "sell"
    assert finder.find(locate("factory_jobs:make_app"), "sell") is task, "it is made once"
    assert len(importlib.import_module("factory_jobs").made) == 1


@pytest.mark.real_time
async def test_a_child_that_cannot_find_the_task_blames_no_message(
    jobs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("broken_jobs.py").write_text("import sys\nsys.exit('no licence')\n", encoding="utf-8")
    tmp_path.joinpath("crashing_jobs.py").write_text("import os\nos._exit(5)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for reference, sentence in [
        ("no_such_jobs:app", "No module named 'no_such_jobs'"),
        ("broken_jobs:app", "SystemExit: no licence"),
        ("crashing_jobs:app", "ended with exit code 5 before it could begin"),
        ("json:app", "no task named add is in json:app"),
    ]:
        locator = locate(reference)
        async with pool(locating=lambda _task, at=locator: at) as children:
            with pytest.raises(ChildFailed, match=re.escape(sentence)) as caught:
                await run(children, jobs.add, a=1, b=2)
            assert isinstance(caught.value, ConfigurationError)


SCRIPT = """
import asyncio, os, sys
from tenure import Tenure
from tenure.clock import SYSTEM_CLOCK
from tenure.runtime.processes.pool import ProcessPool
from tenure.runtime.processes.import_path import locate_task
sys.path.insert(0, {here!r})
from test_pool import Paper, delivery_of

app = Tenure("memory://script")

@app.task(runs_in="process")
def greet(name: str) -> str:
    return f"{{__name__}} greets {{name}}"

@app.task(runs_in="process")
def hold(path: str) -> None:
    with open(path + ".part", "w") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".part", path)
    sum(range(10**12))

async def main():
    children = ProcessPool(locate_task, most=1, clock=SYSTEM_CLOCK, name="script")
    try:
        task, payload = app.tasks[sys.argv[1]], dict([sys.argv[2].split("=")])
        delivery = delivery_of(task, **payload)
        print(await children.run(delivery, Paper(delivery)))
    finally:
        await children.close()
"""
GUARDED = SCRIPT + '\nif __name__ == "__main__":\n    asyncio.run(main())\n'
UNGUARDED = SCRIPT + "\nasyncio.run(main())\n"


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts a script as `__main__`."""
    source = str(Path(tenure.__file__).parent.parent)
    started = []

    def start(text: str, *arguments: str, as_module: bool = False) -> "subprocess.Popen[str]":
        path = tmp_path / "greeting.py"
        path.write_text(text.format(here=HERE), encoding="utf-8")
        program = ["-m", "greeting"] if as_module else [str(path)]
        process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": source},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):  # not read to their end: a child that was left would hold them
            if pipe is not None:
                pipe.close()


@pytest.mark.parametrize("as_module", [False, True])
def test_a_task_in_a_main_script_runs_in_a_child(script: Any, as_module: bool) -> None:
    out, err = script(GUARDED, "greet", "name=you", as_module=as_module).communicate(timeout=90)
    name = "greeting" if as_module else "__mp_main__"
    assert f"{name} greets you" in out, err


def test_an_unguarded_main_script_is_told_to_guard(script: Any) -> None:
    _, err = script(UNGUARDED, "greet", "name=you").communicate(timeout=90)
    assert "ChildFailed" in err
    assert 'Start it under `if __name__ == "__main__":`' in err


@pytest.mark.real_time
async def test_a_child_does_not_outlive_its_parent_even_if_it_holds_the_gil(script: Any, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    parent = script(GUARDED, "hold", f"path={path}")
    await until(path.exists)
    (pid,) = pids_in(path)
    assert lives(pid)
    parent.kill()
    try:
        await until(lambda: not lives(pid))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.real_time
async def test_the_process_of_a_cancelled_message_is_killed_with_what_it_started(jobs: Any, tmp_path: Path) -> None:
    path = tmp_path / "pids"
    async with jobs.app, jobs.app.worker() as worker:
        handle = await jobs.hang.submit(str(path))
        await until(path.exists)
        child, program = pids_in(path)
        assert await handle.cancel()
        await until(lambda: not lives(child) and not lives(program))
        await until(lambda: worker.in_flight == 0)
        assert (await handle.status()).state.value == "cancelled"
        assert worker.counts["lease_lost"] == 1
