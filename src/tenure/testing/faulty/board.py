"""Boards that say other things than they were told."""

import asyncio

import msgspec

from tenure.notice import Notices, Pause, Tick
from tenure.testing.faulty.honest_state import HonestBoard


class SecondPauseWins(HonestBoard):
    """Writes over who paused a queue, and when."""

    caught_by = ("Board",)

    async def pause(self, pause: Pause) -> bool:
        """The last word counts."""
        was_paused = await self.inner.resume(pause.queue)
        await self.inner.pause(pause)
        return not was_paused


class EveryPauseIsNew(HonestBoard):
    """Tells everybody that it was they who paused the queue."""

    caught_by = ("Board",)

    async def pause(self, pause: Pause) -> bool:
        """It was you."""
        await self.inner.pause(pause)
        return True


class ResumesEverything(HonestBoard):
    """Lets all queues go on when one is resumed."""

    caught_by = ("Board",)

    async def resume(self, queue: str) -> bool:
        """All of them."""
        was_paused = await self.inner.resume(queue)
        for pause in (await self.inner.read()).paused if was_paused else ():
            await self.inner.resume(pause.queue)
        return was_paused


class TellsPausesInAnyOrder(HonestBoard):
    """Lists what is paused as it comes."""

    caught_by = ("Board",)

    async def read(self) -> Notices:
        """Backwards."""
        notices = await self.inner.read()
        return msgspec.structs.replace(notices, paused=notices.paused[::-1])


class CountsNoCancels(HonestBoard):
    """Never tells a worker that it should look after its leases."""

    caught_by = ("Board",)

    async def read(self) -> Notices:
        """None."""
        return msgspec.structs.replace(await self.inner.read(), cancels=0)


class NamesNoCancels(HonestBoard):
    """Counts the cancels and does not say which: every worker would touch all that it holds."""

    caught_by = ("Board",)

    async def read(self) -> Notices:
        """The count alone."""
        return msgspec.structs.replace(await self.inner.read(), cancelled=())


class TicksGoBackwards(HonestBoard):
    """Takes an older tick for the newest."""

    caught_by = ("Board",)

    async def tick(self, tick: Tick) -> bool:
        """Whatever comes last."""
        known = {one.schedule: one.at for one in await self.inner.ticks()}
        if tick.at < known.get(tick.schedule, tick.at):
            await self.inner.forget(tick.schedule)
        return await self.inner.tick(tick)


class TicksTwice(HonestBoard):
    """Lets everybody send who comes with the tick that is noted."""

    caught_by = ("Board",)

    async def tick(self, tick: Tick) -> bool:
        """You too."""
        if await self.inner.tick(tick):
            return True
        return any((one.schedule, one.at) == (tick.schedule, tick.at) for one in await self.inner.ticks())


class LooksThenTicks(HonestBoard):
    """Looks whether a tick is newer, and notes it: of two at once, both were."""

    caught_by = ("Board",)

    async def tick(self, tick: Tick) -> bool:
        """In two steps."""
        known = {one.schedule: one.at for one in await self.inner.ticks()}
        await asyncio.sleep(0)
        await self.inner.tick(tick)
        return tick.schedule not in known or tick.at > known[tick.schedule]


class TickCorrectsTheSpec(HonestBoard):
    """Writes over what a schedule says, though the tick is noted already."""

    caught_by = ("Board",)

    async def tick(self, tick: Tick) -> bool:
        """The latest spec."""
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
        """Only say so."""
        return schedule in {one.schedule for one in await self.inner.ticks()}
