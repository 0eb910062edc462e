"""Boards that answer something else than was stored."""

import asyncio

import msgspec

from tenure.notice import Notices, Pause, Tick
from tenure.testing.faulty.honest_state import HonestBoard


class SecondPauseWins(HonestBoard):
    """Writes over who paused a queue, and when."""

    caught_by = ("Board",)

    async def pause(self, pause: Pause) -> bool:
        """Replace the pause that stands."""
        was_paused = await self.inner.resume(pause.queue)
        await self.inner.pause(pause)
        return not was_paused


class EveryPauseIsNew(HonestBoard):
    """Tells everybody that it was they who paused the queue."""

    caught_by = ("Board",)

    async def pause(self, pause: Pause) -> bool:
        """Answer that the pause is new."""
        await self.inner.pause(pause)
        return True


class ResumesEverything(HonestBoard):
    """Lets all queues go on when one is resumed."""

    caught_by = ("Board",)

    async def resume(self, queue: str) -> bool:
        """Resume all queues."""
        was_paused = await self.inner.resume(queue)
        for pause in (await self.inner.read()).paused if was_paused else ():
            await self.inner.resume(pause.queue)
        return was_paused


class TellsPausesInAnyOrder(HonestBoard):
    """Lists what is paused as it comes."""

    caught_by = ("Board",)

    async def read(self) -> Notices:
        """Return the pauses in reverse."""
        notices = await self.inner.read()
        return msgspec.structs.replace(notices, paused=notices.paused[::-1])


class CountsNoCancels(HonestBoard):
    """Never tells a worker that it should look after its leases."""

    caught_by = ("Board",)

    async def read(self) -> Notices:
        """Report no cancels."""
        return msgspec.structs.replace(await self.inner.read(), cancels=0)


class NamesNoCancels(HonestBoard):
    """Counts the cancels and does not say which: every worker would touch all that it holds."""

    caught_by = ("Board",)

    async def read(self) -> Notices:
        """Report the count without the ids."""
        return msgspec.structs.replace(await self.inner.read(), cancelled=())


class TicksGoBackwards(HonestBoard):
    """Takes an older tick for the newest."""

    caught_by = ("Board",)

    async def tick(self, tick: Tick) -> bool:
        """Replace the known tick, even by an older one."""
        known = {one.schedule: one.at for one in await self.inner.ticks()}
        if tick.at < known.get(tick.schedule, tick.at):
            await self.inner.forget(tick.schedule)
        return await self.inner.tick(tick)


class TicksTwice(HonestBoard):
    """Lets everybody send who comes with the tick that is noted."""

    caught_by = ("Board",)

    async def tick(self, tick: Tick) -> bool:
        """Answer that this very tick is new, to each caller."""
        if await self.inner.tick(tick):
            return True
        return any((one.schedule, one.at) == (tick.schedule, tick.at) for one in await self.inner.ticks())


class LooksThenTicks(HonestBoard):
    """Looks whether a tick is newer, and notes it: of two at once, both were."""

    caught_by = ("Board",)

    async def tick(self, tick: Tick) -> bool:
        """Compare and store in two steps."""
        known = {one.schedule: one.at for one in await self.inner.ticks()}
        await asyncio.sleep(0)
        await self.inner.tick(tick)
        return tick.schedule not in known or tick.at > known[tick.schedule]


class TickCorrectsTheSpec(HonestBoard):
    """Writes over what a schedule says, though the tick is noted already."""

    caught_by = ("Board",)

    async def tick(self, tick: Tick) -> bool:
        """Store the latest spec even if the tick is known."""
        if await self.inner.tick(tick):
            return True
        for known in await self.inner.ticks():
            if known.schedule == tick.schedule and known.at == tick.at:
                await self.inner.forget(tick.schedule)
                await self.inner.tick(tick)
        return False


class ForgetsNoSchedule(HonestBoard):
    """Keeps the ticks of schedules that are no more."""

    caught_by = ("Board",)

    async def forget(self, schedule: str) -> bool:
        """Answer whether the schedule is known, and keep it."""
        return schedule in {one.schedule for one in await self.inner.ticks()}
