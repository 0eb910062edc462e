"""Turns that are shared, and samples that are not."""

from collections.abc import Sequence

from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES
from tenure.testing.faulty.honest_state import HonestBoard, HonestJournal


class EverybodysTurn(HonestBoard):
    """Lets everybody go ahead."""

    caught_by = ("Turns",)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Answer that every caller has the turn."""
        await self.inner.take_turn(name, token, seconds)
        return True


class TurnsNeverEnd(HonestBoard):
    """Waits for the first holder of the turn, dead or not."""

    caught_by = ("Turns",)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Take the turn for an endless time."""
        return await self.inner.take_turn(name, token, seconds + 1e6)


class NobodyRenews(HonestBoard):
    """Takes the holder of the turn for another process."""

    caught_by = ("Turns",)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Take the turn under a new token each time."""
        return await self.inner.take_turn(name, f"{token} at {self.clock.monotonic()}", seconds)


class OneTurnForAll(HonestBoard):
    """Refuses every other turn while one is held."""

    caught_by = ("Turns",)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Take one turn for all names."""
        del name
        return await self.inner.take_turn("", token, seconds)


class KeepsTheFirstSamples(HonestJournal):
    """Takes no more when it has enough."""

    caught_by = ("Samples",)

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Store samples only until there are enough."""
        for one in batch:
            if len(await self.inner.samples(one.queue, one.task)) < KEPT_SAMPLES:
                await self.inner.sample([one])


class MixesTasks(HonestJournal):
    """Keeps samples by queue alone."""

    caught_by = ("Samples",)

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Store samples without their task."""
        await self.inner.sample([Sample(one.queue, "", one.seconds, one.at) for one in batch])

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """Return the samples of all tasks."""
        del task
        return await self.inner.samples(queue, "", after=after, limit=limit)


class ReadsSamplesAgain(HonestJournal):
    """Does not mind from where it was to go on."""

    caught_by = ("Samples",)

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """Return the samples from the beginning."""
        del after
        return await self.inner.samples(queue, task, limit=limit)
