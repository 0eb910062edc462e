"""The app's lifespan and middleware in child processes, with real ones."""

import asyncio
import contextlib
import importlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure.errors import ConfigurationError
from tenure.runtime.processes.child_lifespan import Lifespans
from tenure.verdict import Completed, Retried

from .test_pool import HERE, Paper, delivery_of, pool, result, run

pytestmark = pytest.mark.scenario


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The module that the children import too."""
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("TENURE_TEST_FOLDER", str(tmp_path))
    return importlib.import_module("hosted_jobs")


def notes_in(folder: Path) -> list[str]:
    path = folder / "notes"
    return path.read_text(encoding="ascii").split() if path.exists() else []


# -- lifespan --------------------------------------------------------------------------------------


@pytest.mark.real_time
async def test_each_child_enters_the_lifespan_once_and_leaves_it_when_it_ends(jobs: Any, tmp_path: Path) -> None:
    async with pool() as children:
        for task in (jobs.state_of_a_function, jobs.state_later, jobs.state_of_a_function):
            assert await result(children, task) is True
        assert notes_in(tmp_path) == ["open"]
        (child,) = children._idle
    assert notes_in(tmp_path) == ["open", "closed"]
    assert child.ended.result() == 0, "it left in order"


@pytest.mark.real_time
async def test_a_suspect_alone_in_its_child_has_it_too(jobs: Any, tmp_path: Path) -> None:
    async with pool(reuse=False) as children:
        assert await result(children, jobs.state_later) is True
    assert notes_in(tmp_path) == ["open", "closed"]


@pytest.mark.real_time
async def test_a_lifespan_that_raises_blames_no_message(jobs: Any, tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    async with pool() as children:
        with pytest.raises(ConfigurationError, match=r"enter the app's lifespan .* ConnectionError: no database") as e:
            await run(children, jobs.state_later)
        assert "raise ConnectionError(msg)" in e.value.__notes__[0]
        (tmp_path / "broken").unlink()
        assert await result(children, jobs.state_later) is True, "the next one gets a new child"


@pytest.mark.real_time
async def test_a_lifespan_that_ended_while_it_was_needed_blames_no_message_either(jobs: Any, tmp_path: Path) -> None:
    async with pool() as children:
        assert await result(children, jobs.state_later) is True
        (tmp_path / "fails").touch()
        with contextlib.suppress(AssertionError):
            await result(children, jobs.wait_a_little)  # its own run may still be well
        with pytest.raises(ConfigurationError, match="the pool broke"):
            await run(children, jobs.state_later)
        (tmp_path / "fails").unlink()
        assert await result(children, jobs.state_later) is True, "the next one gets a new child"


async def test_a_lifespan_that_cancels_itself_is_an_error_and_no_hang() -> None:
    class Silent:
        def _enter_lifespan(self) -> Any:
            return self

        async def __aenter__(self) -> None:
            raise asyncio.CancelledError

        async def __aexit__(self, *_: object) -> None: ...

    def host() -> None:
        with asyncio.Runner() as runner:
            Lifespans(runner).state_of(Silent())  # type: ignore[arg-type]

    with pytest.raises(asyncio.CancelledError):
        await asyncio.to_thread(host)


# -- middleware ------------------------------------------------------------------------------------


@pytest.mark.real_time
@pytest.mark.parametrize(("name", "answer"), [("a_function", ["ada", True, "a loop of its own"]), ("later", ["ada"])])
async def test_middleware_stands_around_a_handler_in_a_child(jobs: Any, name: str, answer: list[Any]) -> None:
    """A plain function has the main thread and may run a loop of its own, as without middleware."""
    delivery = delivery_of(getattr(jobs, name), attempts=1)
    link = Paper(delivery)
    async with pool() as children:
        verdict = await children.run(delivery, link)
        assert isinstance(verdict, Completed), verdict
        assert msgspec.json.decode(verdict.result) == [answer, [0], 2]
        assert link.kept == b"[1]"
        assert (await result(children, jobs.nobody))[0] == "ada"


@pytest.mark.real_time
@pytest.mark.parametrize("name", ["divide", "divide_later"])
async def test_middleware_in_a_child_sees_errors_and_may_ask_for_a_retry(jobs: Any, name: str) -> None:
    async with pool() as children:
        verdict = await run(children, getattr(jobs, name))
    assert isinstance(verdict, Retried)
    assert (verdict.after_seconds, verdict.reason.text) == (7, "middleware saw division by zero")


@pytest.mark.real_time
async def test_within_middleware_no_error_ends_the_child(jobs: Any) -> None:
    async with pool() as children:
        await result(children, jobs.nobody)
        (child,) = children._idle
        for name, words in (("leave", "SystemExit: 3"), ("leave_later", "SystemExit: 3"), ("stop_iteration", "Stop")):
            verdict = await run(children, getattr(jobs, name))
            assert isinstance(verdict, Retried)
            assert words in verdict.reason.text
        assert children._idle == [child]


@pytest.mark.real_time
async def test_middleware_in_a_child_need_not_run_the_handler(jobs: Any) -> None:
    async with pool() as children:
        assert (await result(children, jobs.not_run))[0] == "from the cache"
