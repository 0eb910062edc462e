"""Workers for the tests of them: of an app in virtual time, and with parts that break."""

from typing import Any

from tenure import Context, Tenure
from tenure.errors import ConfigurationError
from tenure.runtime.processes.import_path import Locator
from tenure.runtime.worker import Worker, WorkerOptions
from tenure.testing.virtual import VirtualClock
from tenure.testing.workers import Actor


def nowhere(_task: object) -> Locator:
    raise ConfigurationError


def break_at(actor: Actor, word: str) -> None:
    """From now on that word fails in a way that is no outage."""

    def spy(name: str, _arguments: tuple[Any, ...]) -> None:
        if name in word.split("+"):
            msg = f"a bug in {word}"
            raise ZeroDivisionError(msg)

    actor.wire.spy = spy


def app_with(clock: VirtualClock, **options: Any) -> Tenure:
    app = Tenure("memory://", clock=clock, **options)

    @app.task
    async def work(ctx: Context) -> object:
        return ctx.state

    return app


def make_worker(broker: Any, state: Any, app: Tenure, clock: VirtualClock, **more: Any) -> Worker:
    async def opening() -> None: ...

    options = WorkerOptions(queues=(app.queue,), own_thread=False)
    return Worker(broker, state, app.tasks, clock, options, opening=opening, locate=nowhere, **more)


class Twinned:
    """A broker (or state) whose twin is a connection of its own."""

    def __init__(self, inner: Any, log: list[str], name: str) -> None:
        self._inner, self._log, self._name = inner, log, name

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._inner, verb)

    def twin(self) -> "Twinned":
        return Twinned(self._inner, self._log, f"{self._name} twin")

    async def open(self) -> None:
        self._log.append(f"{self._name} opened")

    async def close(self) -> None:
        self._log.append(f"{self._name} closed")
