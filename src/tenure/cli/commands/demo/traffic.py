"""The demo's producer: a steady stream of small work, and now and then something difficult."""

import asyncio
import os
import random
from typing import Any

from tenure.app import Tenure
from tenure.errors import BrokerUnavailable
from tenure.tasks.call import Call

_TICK_SECONDS = 0.1
#: How many a second of each, at the usual rate; the rest is `resize`.
_DIFFICULT = {"transcode": 0.4, "notify": 0.6, "fax": 0.4, "report": 2.0, "keyed": 1.0}
_USUAL_RATE = 60.0
_EXPLODE_FIRST_SECONDS, _EXPLODE_EVERY_SECONDS = 8.0, 20.0

_PEOPLE = ("Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Alan", "Radia")


class Traffic:
    """Sends until it is stopped, and remembers the id of everything that was accepted."""

    def __init__(self, app: Tenure, rate: float, duration_seconds: float | None) -> None:
        """Send about `rate` messages a second; a short demo meets its disasters earlier."""
        self._app = app
        self._rate = rate
        self._stopping = False
        self._credit: dict[str, float] = dict.fromkeys(_DIFFICULT, 0.5)
        self._credit["resize"] = 0.0
        self._next_explosion = min(_EXPLODE_FIRST_SECONDS, 0.3 * (duration_seconds or 60.0))
        self._chance = random.Random()  # noqa: S311 - variety, not secrecy
        self._run_name = os.urandom(3).hex()
        self._number = 0
        #: Everything that `submit` said yes to.
        self.sent: list[str] = []
        #: Submits of a key that had been sent: answered with the first message's id, nothing stored.
        self.recognised = 0
        #: Submits that the broker could not take; nothing was promised about those.
        self.refused = 0

    def stop(self) -> None:
        """Stop sending."""
        self._stopping = True

    async def run(self) -> None:
        """Send for ever, tick by tick."""
        clock = self._app.clock
        start = last = clock.monotonic()
        while not self._stopping:
            await asyncio.sleep(_TICK_SECONDS)
            now = clock.monotonic()
            try:
                await self._send(now - last, now - start)
            except BrokerUnavailable:
                self.refused += 1
                await asyncio.sleep(1.0)
            last = now

    async def _send(self, passed: float, since_start: float) -> None:
        calls, keyed = self._due(passed, since_start)
        handles = await self._app.submit_many(calls)
        self.sent += [handle.id for handle in handles]
        for _ in range(keyed):
            await self._send_twice()

    async def _send_twice(self) -> None:
        """Send a message twice, like a producer that did not get the first answer."""
        call, key = self._call("resize"), f"{self._run_name}-{self._number}"
        first = await self._app.submit(call, key=key)
        second = await self._app.submit(call, key=key)
        self.sent.append(first.id)
        if second.duplicate:
            self.recognised += 1
        else:
            self.sent.append(second.id)

    def _due(self, passed: float, since_start: float) -> tuple[list[Call[Any]], int]:
        """Return what to send at this tick: calls, and how many keyed pairs."""
        scale = min(1.0, self._rate / _USUAL_RATE)
        rates = {name: rate * scale for name, rate in _DIFFICULT.items()}
        rates["resize"] = max(0.0, self._rate - sum(rates.values()))
        due = {name: self._take(name, rate * passed) for name, rate in rates.items()}
        keyed = due.pop("keyed")
        calls = [self._call(name) for name, number in due.items() for _ in range(number)]
        if since_start >= self._next_explosion:
            self._next_explosion += _EXPLODE_EVERY_SECONDS
            calls.append(self._call("explode"))
        return calls, keyed

    def _take(self, name: str, more: float) -> int:
        self._credit[name] += more
        whole = int(self._credit[name])
        self._credit[name] -= whole
        return whole

    def _call(self, name: str) -> Call[Any]:
        self._number += 1
        task, number = self._app.tasks[name], self._number
        match name:
            case "resize":
                # The busier, the quicker each: two workers keep up with any rate that the database takes.
                typical = min(0.25, 15.0 / self._rate)
                return task.bind(f"holiday-{number}.png", round(typical * self._chance.uniform(0.2, 1.8), 3))
            case "transcode":
                return task.bind(f"film-{number}.mov")
            case "notify":
                return task.bind(self._chance.choice(_PEOPLE))
            case "fax":
                return task.bind(f"555-{number:04d}")
            case "report":
                return task.bind(f"2026-{number % 12 + 1:02d}")
        return task.bind("not-an-image.png")
