"""Measuring a run, and telling whether it came close to the end of its visibility timeout.

`measure_processing` is a decorator for sync and async functions, and a block in `with` or `async with`. The log record
carries what a query needs: container, operation, duration_ms, visibility_timeout, timeout_risk.
"""

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.standalone.visibility_timeout import calculate_visibility_timeout
from tenure.timing.margin import TimeoutRisk, risk_of

logger = logging.getLogger("tenure.standalone")

F = TypeVar("F", bound=Callable[..., Any])


class Measurement:
    """One run of an operation, from its begin to its end."""

    def __init__(self, container_name: str, operation_type: str, visibility_timeout: float) -> None:
        """Take the run's names and visibility timeout. It begins with the block."""
        self.container_name = container_name
        self.operation_type = operation_type
        self.visibility_timeout = visibility_timeout
        #: None: it has not ended.
        self.duration_ms: float | None = None
        #: Whether it ended without an exception. None: it has not ended.
        self.succeeded: bool | None = None
        #: Of a batch: how many items it had; set it within the block. None: it was no batch.
        self.items: int | None = None

    @property
    def item_duration_ms(self) -> float | None:
        """Milliseconds for each item of a batch. None: it has not ended, was no batch, or had no items."""
        return self.duration_ms / self.items if self.duration_ms is not None and self.items else None

    @property
    def timeout_risk(self) -> TimeoutRisk | None:
        """HIGH from 80 % of the visibility timeout on. None: it has not ended.

        Of a batch its whole time counts: messages that were received together are hidden for the same time.
        """
        return None if self.duration_ms is None else risk_of(self.visibility_timeout, self.duration_ms / 1000.0)


class measure_processing:  # noqa: N801 - it is used as a function
    """Measure what is in the block, or the function below.

    Without `visibility_timeout`, the one that `calculate_visibility_timeout` gives for the container. `report` is
    called with each finished `Measurement`. `items` is for batches: how many items there are, or, for a function, what
    counts them in its result, such as `len`. In a block it may be set later: `measured.items = …`.
    """

    def __init__(
        self,
        container_name: str,
        operation_type: str = "process",
        *,
        visibility_timeout: float | None = None,
        items: int | Callable[[Any], int] | None = None,
        report: Callable[[Measurement], object] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Measure one kind of work of a service."""
        if visibility_timeout is None:
            visibility_timeout = calculate_visibility_timeout(container_name)
        self._words = (container_name, operation_type, visibility_timeout)
        self._items = items
        self._report = report
        self._clock = clock
        self._running: Measurement | None = None
        self._began = 0.0

    def __call__(self, function: F) -> F:
        """The function, each of its calls measured."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*arguments: Any, **words: Any) -> Any:
                with self._another() as measured:
                    return self._counted(measured, await function(*arguments, **words))

            return cast("F", awaited)

        @functools.wraps(function)
        def called(*arguments: Any, **words: Any) -> Any:
            with self._another() as measured:
                return self._counted(measured, function(*arguments, **words))

        return cast("F", called)

    def _another(self) -> Self:
        """Make one measurement for each call: calls may overlap."""
        container, operation, timeout = self._words
        return type(self)(
            container,
            operation,
            visibility_timeout=timeout,
            items=self._items,
            report=self._report,
            clock=self._clock,
        )

    def _counted(self, measured: Measurement, result: Any) -> Any:
        if callable(self._items):
            measured.items = self._items(result)
        return result

    def __enter__(self) -> Measurement:
        """Start the clock."""
        self._running = Measurement(*self._words)
        if not callable(self._items):
            self._running.items = self._items
        self._began = self._clock.monotonic()
        return self._running

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End, log and report."""
        measured = self._running
        assert measured is not None, "left without being entered"  # noqa: S101
        measured.duration_ms = (self._clock.monotonic() - self._began) * 1000.0
        measured.succeeded = kind is None
        risk = measured.timeout_risk
        logger.log(
            logging.WARNING if risk is TimeoutRisk.HIGH else logging.INFO,
            "%s of %s took %.1f s of a visibility timeout of %g s%s",
            measured.operation_type,
            measured.container_name,
            measured.duration_ms / 1000.0,
            measured.visibility_timeout,
            _of_items(measured),
            extra={
                "container": measured.container_name,
                "operation": measured.operation_type,
                "duration_ms": measured.duration_ms,
                "visibility_timeout": measured.visibility_timeout,
                "timeout_risk": str(risk),
                "succeeded": measured.succeeded,
                "items": measured.items,
                "item_duration_ms": measured.item_duration_ms,
            },
        )
        if self._report is not None:
            self._report(measured)

    async def __aenter__(self) -> Measurement:
        """Start the clock."""
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """End, log and report."""
        self.__exit__(kind, *rest)


def _of_items(measured: Measurement) -> str:
    if measured.item_duration_ms is None:
        return ""
    return f" for {measured.items} items, {measured.item_duration_ms / 1000.0:.2f} s each"
