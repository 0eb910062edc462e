"""The pytest plugin: async tests run in virtual time.

Every `async def` test runs on a `VirtualLoop`; with `@pytest.mark.real_time` on an ordinary one. A fixture
value that is an async context manager is entered for the length of the test, so that fixtures stay plain.
Use it with `pytest_plugins = ["tenure.testing.plugin"]`.
"""

import asyncio
import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tenure.testing.virtual import VirtualClock, VirtualLoop


def pytest_configure(config: pytest.Config) -> None:
    """Announce the marker."""
    config.addinivalue_line("markers", "real_time: run this async test on the real clock")


@pytest.fixture
def virtual_clock() -> VirtualClock:
    """The clock that the test's loop runs on."""
    return VirtualClock()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run coroutine tests; leave the rest to pytest."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames  # noqa: SLF001 - pytest has no public name for it
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    real = pyfuncitem.get_closest_marker("real_time") is not None
    clock = next((value for value in arguments.values() if isinstance(value, VirtualClock)), None)
    factory: Callable[[], asyncio.AbstractEventLoop] = (
        asyncio.new_event_loop if real else lambda: VirtualLoop(clock or _clock_of(arguments))
    )
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_call(pyfuncitem.obj, arguments))
    return True


def _clock_of(arguments: dict[str, Any]) -> VirtualClock | None:
    """A harness brings its own clock."""
    clocks = (getattr(value, "clock", None) for value in arguments.values())
    return next((clock for clock in clocks if isinstance(clock, VirtualClock)), None)


async def _call(test: Callable[..., Any], arguments: dict[str, Any]) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for name, value in arguments.items():
            if hasattr(value, "__aenter__"):
                arguments[name] = await stack.enter_async_context(value)
        await test(**arguments)
