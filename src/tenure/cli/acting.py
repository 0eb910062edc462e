"""Acting: how commands carry out what changes many messages.

Everything goes through `tenure.client.operator.Operator`, which records each batch before the next begins. Ctrl-C lets
the batch under way end, so that no act is left unrecorded; the command then says how far it came, and ends as
interrupted.
"""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from tenure.app import Tenure
from tenure.cli.failing import Interruption
from tenure.cli.terminal.output import console, say_line
from tenure.client.operator import Operator, this_user
from tenure.client.redrive import in_turn
from tenure.errors import TenureError

#: Below this a bar is gone before it is seen.
_WORTH_A_BAR = 200


def operator(app: Tenure) -> Operator:
    """Acts in the name of the user who runs the command."""
    return Operator(app.broker, app.state, app.clock, by=this_user(), triggered_by="cli")


class Interrupted(Exception):
    """Ctrl-C, raised inside the event loop; outside of it, it is `KeyboardInterrupt` again."""


class Stop:
    """A stop that Ctrl-C asks for."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Ask for no further batch; raises on the second call, which ends this one, too."""
        if self._asked.is_set():
            raise KeyboardInterrupt
        self._asked.set()

    @property
    def is_asked(self) -> bool:
        """Whether to begin nothing more."""
        return self._asked.is_set()

    async def pause(self, seconds: float) -> None:
        """Wait, or return early when asked to stop."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._asked.wait()


@contextlib.contextmanager
def stoppable() -> Iterator[Stop]:
    """Take Ctrl-C over while acts go on."""
    stop, loop = Stop(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, stop.ask)
    try:
        yield stop
    finally:
        loop.remove_signal_handler(signal.SIGINT)


class Meter:
    """The progress of an act: always counted, and shown as a bar on a terminal if it takes a while."""

    def __init__(self, verb: str, total: int | None, *, slow: bool = False, quiet: bool = False) -> None:
        """`total` None: unknown. `slow`: it is paced, so that a bar is worth it for a few too."""
        self.done = 0
        self.total = total
        self._verb = verb
        #: Under `--json`: what is to be said goes with the error.
        self._quiet = quiet
        worth = slow or total is None or total >= _WORTH_A_BAR
        self._shown = worth and not quiet and sys.stderr.isatty()

    @contextlib.contextmanager
    def running(self) -> Iterator[Callable[[int], None]]:
        """Yields what to call after each batch, with its size. Says how far it came if it is interrupted."""
        try:
            with self._bar() as advance:
                yield advance
        except (Interrupted, KeyboardInterrupt):
            if not self._quiet:
                say_line(f"Interrupted: {self._so_far}.", err=True)
            raise Interruption(f"interrupted: {self._so_far}", "interrupted_act") from None
        except TenureError as error:
            if not self.done:  # the error says it all
                raise
            stopped = f"stopped: {self._so_far}; run the same command again for the rest"
            if self._quiet:
                error.add_note(stopped)
            else:
                say_line(f"{stopped.capitalize()}.", err=True)
            raise

    @property
    def _so_far(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        stay = f"; these stay {self._verb}" if self.done else ""
        return f"{self._verb} {self.done:,}{of}{stay}"

    @contextlib.contextmanager
    def _bar(self) -> Iterator[Callable[[int], None]]:
        if not self._shown:
            yield self._count
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console(err=True), transient=True) as progress:
            task = progress.add_task(self._verb, total=self.total)

            def advance(number: int) -> None:
                self._count(number)
                progress.advance(task, number)

            yield advance

    def _count(self, number: int) -> None:
        self.done += number


async def in_batches(
    app: Tenure,
    queue_of: Mapping[str, str],
    act: Callable[[Sequence[str], str], Awaitable[list[str]]],
    *,
    told: Callable[[int], None],
    per_second: float | None = None,
) -> list[str]:
    """Act on messages batch by batch, at most `per_second`; what was moved. Raises `Interrupted` if stopped.

    `queue_of`: their ids, each with its queue, so that no store has to look for them. A batch is of one queue.
    """
    ids, moved = list(queue_of), list[str]()
    limit = app.broker.traits.batch_limit
    with stoppable() as stop:
        async for some in in_turn(ids, app.clock, stop.pause, batch_limit=limit, per_second=per_second):
            if stop.is_asked:
                raise Interrupted
            for queue in dict.fromkeys(queue_of[id] for id in some):
                batch = await act([id for id in some if queue_of[id] == queue], queue)
                told(len(batch))
                moved += batch
    return moved
