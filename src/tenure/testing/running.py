"""Running: one async test from its fixtures to its end, on a loop of its own. Used by `plugin.py`."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tenure.testing.virtual import VirtualClock, VirtualLoop


def run(
    test: Callable[..., Any],
    arguments: dict[str, Any],
    *,
    first: Sequence[Any],
    enters: Callable[[Any], bool],
    real: bool,
    clock: VirtualClock | None = None,
) -> None:
    """Enter `first`, and of the arguments what `enters` says, then await the test.

    In virtual time, on `clock` or that which one of the arguments brings along; if `real`, on an ordinary loop.
    """
    clock = clock or _clock_among(arguments.values())
    factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop if real else lambda: VirtualLoop(clock)
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_call(test, arguments, first, enters))


def _clock_among(values: Iterable[Any]) -> VirtualClock | None:
    """A clock itself, or else that of a harness."""
    known = list(values)
    carried = [vars(value).get("clock") for value in known if hasattr(value, "__dict__")]
    return next((clock for clock in (*known, *carried) if isinstance(clock, VirtualClock)), None)


async def _call(
    test: Callable[..., Any], arguments: dict[str, Any], first: Sequence[Any], enters: Callable[[Any], bool]
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for value in first:
            await stack.enter_async_context(value)
        for name, value in arguments.items():
            if enters(value):
                arguments[name] = await stack.enter_async_context(value)
        await test(**arguments)
