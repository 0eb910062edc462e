"""A stage whose workers are scraped as they end, and what stories on it wait for."""

from tenure.event import Event, EventKind
from tenure.testing.harness import Harness
from tenure.testing.workers import Actor, Stage


class Watched(Stage):
    """Scrapes each worker as it ends."""

    def __init__(self, harness: Harness, scrapes: list[str]) -> None:
        super().__init__(harness)
        self._scrapes = scrapes

    async def end(self, actor: Actor) -> None:
        self._scrapes.append(actor.worker.metrics_text())
        await super().end(actor)


async def events_of(harness: Harness) -> list[Event]:
    return [one.event for one in await harness.state.journal.read(limit=10_000)]


async def until_told(stage: Stage, *kinds: EventKind) -> None:
    async def is_told() -> bool:
        return set(kinds) <= {event.kind for event in await events_of(stage.harness)}

    await stage.until(is_told)


async def is_running(stage: Stage, actor: Actor) -> None:
    await stage.until(lambda: bool(actor.worker._path.handling.running))
