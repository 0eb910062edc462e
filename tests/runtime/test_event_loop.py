"""The event loop of workers and servers, and tasks that take their first step at once."""

import asyncio
import contextvars
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tenure.config import settings_from
from tenure.errors import BadSetting, ConfigurationError
from tenure.runtime import event_loop

EAGER = sys.version_info >= (3, 12)
MOOD: contextvars.ContextVar[str] = contextvars.ContextVar("mood", default="calm")


async def _name() -> str:
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


def _without_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(event_loop, "find_spec", lambda name: None if name == "uvloop" else find_spec(name))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no uvloop for it")
def test_uvloop_is_used_where_it_is_installed() -> None:
    assert event_loop.run(_name(), "auto") == "uvloop"
    assert event_loop.run(_name(), "uvloop") == "uvloop"


def test_without_uvloop_the_loop_is_the_one_of_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    _without_uvloop(monkeypatch)
    assert event_loop.run(_name(), "auto") == "asyncio"


def test_uvloop_can_be_turned_off() -> None:
    assert event_loop.run(_name(), "asyncio") == "asyncio"
    assert settings_from({"TENURE_LOOP": "asyncio"}).loop == "asyncio"
    assert settings_from({}).loop == "auto"


def test_a_wrong_loop_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BadSetting, match="TENURE_LOOP='tokio' is not allowed; it takes auto, asyncio or uvloop"):
        settings_from({"TENURE_LOOP": "tokio"})


def test_uvloop_that_is_not_installed_is_a_mistake_in_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    _without_uvloop(monkeypatch)
    with pytest.raises(ConfigurationError, match=r"pip install 'tenure\[fast\]'"):
        event_loop.run(_name(), "uvloop")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no uvloop for it")
def test_a_supervisor_can_hear_of_its_children_whatever_the_policy_says() -> None:
    code = """
import asyncio, signal, uvloop
from tenure.runtime import event_loop
uvloop.install()
async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, print)
    print(type(asyncio.get_running_loop()).__module__)
event_loop.run_supervisor(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.partition(".")[0]) == (0, "asyncio"), done.stderr


# -- the first step --------------------------------------------------------------------------------------


def _on(choice: str, main: Callable[[], Any]) -> None:
    if choice == "uvloop" and sys.platform == "win32":
        pytest.skip("there is no uvloop for it")
    event_loop.run(main(), choice)


@pytest.mark.parametrize("choice", ["asyncio", "uvloop"])
def test_a_task_that_never_waits_has_ended_at_once(choice: str) -> None:
    steps: list[str] = []

    async def work() -> None:
        steps.append("ran")

    async def main() -> None:
        task = event_loop.start_eagerly(asyncio.get_running_loop(), work())
        assert task.done() is EAGER
        await task
        assert steps == ["ran"]

    _on(choice, main)


@pytest.mark.parametrize("choice", ["asyncio", "uvloop"])
def test_context_variables_of_tasks_stay_apart(choice: str) -> None:
    seen: list[str] = []

    async def work(mood: str) -> None:
        seen.append(MOOD.get())
        MOOD.set(mood)
        await asyncio.sleep(0)
        seen.append(MOOD.get())

    async def main() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*[event_loop.start_eagerly(loop, work(mood)) for mood in ("gay", "grim")])
        assert sorted(seen) == ["calm", "calm", "gay", "grim"]
        assert MOOD.get() == "calm"

    _on(choice, main)


@pytest.mark.parametrize("choice", ["asyncio", "uvloop"])
def test_a_task_that_waits_can_be_cancelled(choice: str) -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        task = event_loop.start_eagerly(asyncio.get_running_loop(), work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    _on(choice, main)


def test_a_task_knows_itself_in_its_first_step() -> None:
    async def main() -> None:
        seen: list[object] = []

        async def work() -> None:
            seen.append(asyncio.current_task())

        outer = asyncio.current_task()
        task = event_loop.start_eagerly(asyncio.get_running_loop(), work())
        await task
        assert seen == [task]
        assert asyncio.current_task() is outer

    asyncio.run(main())


def test_a_task_factory_of_the_program_sees_every_task() -> None:
    made: list[str] = []

    def factory(loop: asyncio.AbstractEventLoop, main: Any, **rest: Any) -> Any:
        made.append("one")
        return asyncio.Task(main, loop=loop, **rest)

    async def work() -> None: ...

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(factory)
        await event_loop.start_eagerly(loop, work())
        assert made == ["one"]

    asyncio.run(main())
