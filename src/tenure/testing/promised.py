"""Promised: what a test called and has still to await.

`kit.drain()` without its `await` does nothing at all, and the test after it passes for the wrong reason. Python only
warns, later and elsewhere; a kit fails the test at its end.

Used by `kit.py`.
"""

import inspect
from collections.abc import Coroutine
from typing import Any, TypeVar

from tenure.testing.faults import KitError

T = TypeVar("T")


class NeverAwaited(KitError):
    """A test called a method of its kit without awaiting it, so nothing happened."""


class Promised:
    """Calls that were made, until they were begun."""

    def __init__(self) -> None:
        """Begin with no calls."""
        self._calls: list[tuple[str, Coroutine[Any, Any, Any]]] = []

    def take(self, said: str, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Remember a call, as the test wrote it."""
        self._calls = [*self._not_begun(), (said, call)]
        return call

    def check(self, error: BaseException | None) -> None:
        """Raise `NeverAwaited`; where the test has failed already, say why it may have."""
        __tracebackhide__ = True
        forgotten, self._calls = self._not_begun(), []
        if not forgotten:
            return
        for _, call in forgotten:
            call.close()  # or Python would warn of it too
        names = ", ".join(dict.fromkeys(said for said, _ in forgotten))
        msg = f"{names} was never awaited, so nothing ran: write `await {forgotten[0][0]}`"
        if error is None:
            raise NeverAwaited(msg)
        error.add_note(msg)

    def _not_begun(self) -> list[tuple[str, Coroutine[Any, Any, Any]]]:
        return [one for one in self._calls if inspect.getcoroutinestate(one[1]) == inspect.CORO_CREATED]
