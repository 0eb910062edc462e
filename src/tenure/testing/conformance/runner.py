"""Runs suites without pytest: each test in a fresh harness, on a fresh virtual loop.

A suite is a plain class; each `test_…` method is one promise, named as a sentence, and gets a `Harness`.
This is how the suites are tested themselves (`tenure.testing.faulty`); adapters use pytest:

    @pytest.fixture
    def harness() -> MyHarness:
        return MyHarness()

    globals().update(pytest_classes())
"""

import inspect
import traceback
import unittest
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Protocol

import msgspec

from tenure.clock import Clock
from tenure.testing.virtual import VirtualClock, run_virtual

Suite = type[Any]


class Harnessed(Protocol):
    """Something under test, from `async with` to its end, on a clock: a `Harness`, or one of a small port."""

    @property
    def clock(self) -> Clock:
        """The clock that it runs on."""
        ...

    async def __aenter__(self) -> Any:
        """Open it."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        ...


class Failure(msgspec.Struct, frozen=True):
    """A promise that was not kept."""

    suite: str
    test: str
    error: str
    traceback: str

    def __str__(self) -> str:
        """Describe the result in one line for people."""
        return f"{self.suite}.{self.test}: {self.error}"


def list_tests(suite: Suite) -> list[str]:
    """The names of a suite's tests, in the order in which they are written."""
    return [name for name, value in vars(suite).items() if name.startswith("test_") and inspect.isfunction(value)]


def run_suites(
    suites: Suite | Iterable[Suite], factory: Callable[[], Harnessed], *, stop_at_first: bool = False
) -> list[Failure]:
    """Run every test and return which failed. A test that does not apply to this broker counts as passed."""
    failures: list[Failure] = []
    for suite in [suites] if isinstance(suites, type) else suites:
        for failure in _run(suite, factory):
            failures.append(failure)
            if stop_at_first:
                return failures
    return failures


def _run(suite: Suite, factory: Callable[[], Harnessed]) -> Iterator[Failure]:
    for test in list_tests(suite):
        harness = factory()
        try:
            clock = harness.clock if isinstance(harness.clock, VirtualClock) else None
            run_virtual(_call(suite, test, harness), clock)
        except unittest.SkipTest:
            continue
        except Exception as error:  # noqa: BLE001 - whatever a broker raises, it is a failed test
            said = str(error).partition("\n")[0] or type(error).__name__
            yield Failure(suite.__name__, test, said, "".join(traceback.format_exception(error)))


async def _call(suite: Suite, test: str, harness: Harnessed) -> None:
    async with harness:
        await getattr(suite(), test)(harness)


def pytest_classes(suites: Iterable[Suite]) -> dict[str, Suite]:
    """The suites under names that pytest collects, for `globals().update(…)` in a test module."""
    return {f"Test{suite.__name__}": suite for suite in suites}
