"""Turns that are shared, and samples that are not."""

from collections.abc import Sequence

from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES
from tenure.testing.faulty.honest_state import HonestBoard, HonestJournal


class EverybodysTurn(HonestBoard):
    """Lets everybody go ahead."""

    caught_by = ("Turns",)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """You too."""
        await self.inner.take_turn(name, token, seconds)
        return True


class TurnsNeverEnd(HonestBoard):
    """Waits for whoever had the turn first, dead or not."""

    caught_by = ("Turns",)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Until it comes back."""
        return await self.inner.take_turn(name, token, seconds + 1e6)


class NobodyRenews(HonestBoard):
    """Takes whoever has the turn for somebody else."""

    caught_by = ("Turns",)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Each question is a new one."""
        return await self.inner.take_turn(name, f"{token} at {self.clock.monotonic()}", seconds)


class OneTurnForAll(HonestBoard):
    """Lets nobody do one thing while another is done."""

    caught_by = ("Turns",)

    async def take_turn(self, name: str, token: str, seconds: float) -> bool:
        """Whatever it is."""
        del name
        return await self.inner.take_turn("", token, seconds)


class KeepsTheFirstSamples(HonestJournal):
    """Takes no more when it has enough."""

    caught_by = ("Samples",)

    async def sample(self, batch: Sequence[Sample]) -> None:
        """As long as there is room."""
        for one in batch:
            if len(await self.inner.samples(one.queue, one.task)) < KEPT_SAMPLES:
                await self.inner.sample([one])


class MixesTasks(HonestJournal):
    """Keeps samples by queue alone."""

    caught_by = ("Samples",)

    async def sample(self, batch: Sequence[Sample]) -> None:
        """All in one heap."""
        await self.inner.sample([Sample(one.queue, "", one.seconds, one.at) for one in batch])

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """The heap."""
        del task
        return await self.inner.samples(queue, "", after=after, limit=limit)


class ReadsSamplesAgain(HonestJournal):
    """Does not mind from where it was to go on."""

    caught_by = ("Samples",)

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """From the beginning."""
        del after
        return await self.inner.samples(queue, task, limit=limit)
