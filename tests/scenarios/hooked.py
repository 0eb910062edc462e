"""`tenure`, in a process that stands still at one step of a webhook's way, for the test to kill it there.

    python -m scenarios.hooked STEP worker scenarios.served:app …

Only the task that is at the step waits; handlers, heartbeats and everything else go on. Each arrival at the step adds a
byte to the file `at-STEP` in the scenario's folder. The steps, in the order of a webhook's way:

    ended      messages have ended; the announcer has made nothing of that yet
    entered    deliveries are entered into the window of their endpoint, and not sent
    sent       deliveries are sent, and their announcements are not forgotten
    leased     a worker has taken a delivery, and has not posted it
    answered   the receiver has answered, and the delivery is not settled
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

STEPS = ("ended", "entered", "sent", "leased", "answered")


class _Step:
    """Where to stand still."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._arrivals = Path(os.environ["SCENARIO"]) / f"at-{name}"

    async def reach(self, name: str) -> None:
        """Go on, unless this is the step."""
        if name == self._name:
            with self._arrivals.open("a") as file:
                file.write("x")
            await asyncio.Event().wait()

    def before(self, name: str, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """`work`, with the step before it."""

        async def run(*args: Any, **options: Any) -> Any:
            await self.reach(name)
            return await work(*args, **options)

        return run

    def after(self, name: str, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """`work`, with the step after it."""

        async def run(*args: Any, **options: Any) -> Any:
            answer = await work(*args, **options)
            await self.reach(name)
            return answer

        return run


def install(step: _Step) -> None:
    """Put the steps into what makes the announcer and posts deliveries."""
    from tenure.webhooks.announcer import Announcer
    from tenure.webhooks.assembly import Webhooks
    from tenure.webhooks.transport import Transport

    make_announcer, make_deliverer = Webhooks.announcer, Webhooks.deliverer

    def announcer(self: Any, send: Any, *args: Any) -> Any:
        return make_announcer(self, step.before("entered", step.after("sent", send)), *args)

    def deliverer(self: Any, **options: Any) -> Any:
        made: Any = make_deliverer(self, **options)
        made._ask_health = step.before("leased", made._ask_health)
        return made

    places: list[Any] = [Announcer, Webhooks, Transport]  # as values: what is replaced has another type
    places[0].run_once = step.before("ended", Announcer.run_once)
    places[1].announcer, places[1].deliverer = announcer, deliverer
    places[2].post = step.after("answered", Transport.post)


if __name__ == "__main__":
    install(_Step(sys.argv.pop(1)))
    from tenure.cli import main

    main()
