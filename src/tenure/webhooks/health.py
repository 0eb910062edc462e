"""The health of endpoints, shared by all workers: one small document each, changed by compare-and-set.

Shared, because a failing endpoint must rest in every worker, and because five days of failure outlive every process. A
healthy endpoint costs nothing: a success writes only after a failure, and what was read is believed for a moment.
"""

import logging
from collections.abc import Callable

import msgspec

from tenure.clock import Clock
from tenure.key_value import name_of
from tenure.state import KeyValues, State
from tenure.webhooks.breaker import WELL, Health

KIND = "webhook-health"
#: For so long what the store said is believed.
FRESH_SECONDS = 2.0
#: Several workers may see failures at once. One that is not counted is no loss: there will be others.
_TRIES = 5

logger = logging.getLogger("tenure.webhooks")


class HealthBook:
    """What is known of every endpoint."""

    def __init__(self, state: State, clock: Clock, *, namespace: str | None = None) -> None:
        """Read nothing before it is asked for."""
        self._state = state
        self._clock = clock
        self._prefix = "" if namespace is None else f"{namespace}/"
        self._known: dict[str, tuple[Health, float]] = {}

    async def of(self, endpoint: str, *, fresh: bool = False) -> Health:
        """The health of one endpoint. `fresh`: as the store has it now."""
        known = self._known.get(endpoint)
        if known is not None and not fresh and self._clock.monotonic() - known[1] < FRESH_SECONDS:
            return known[0]
        health, _version = await self._read(endpoint)
        return self._note(endpoint, health)

    async def change(self, endpoint: str, decide: Callable[[Health], Health | None]) -> Health | None:
        """Change it as `decide` says, which may be asked several times. None: `decide` changes nothing."""
        for _ in range(_TRIES):
            health, version = await self._read(endpoint)
            changed = decide(health)
            if changed is None or changed == health:
                self._note(endpoint, health)
                return changed
            data = msgspec.json.encode(changed)
            if await self._values.put(KIND, name_of(self._prefix + endpoint), data, expect=version) is not None:
                return self._note(endpoint, changed)
        logger.debug("health of endpoint %s is written by many at once; this observation was not counted", endpoint)
        return None

    async def _read(self, endpoint: str) -> tuple[Health, str | None]:
        value = await self._values.get(KIND, name_of(self._prefix + endpoint))
        if value is None:
            return WELL, None
        try:
            return msgspec.json.decode(value.data, type=Health), value.version
        except msgspec.MsgspecError as error:
            logger.warning("health of endpoint %s cannot be read, and is begun anew: %s", endpoint, error)
            return WELL, value.version

    def _note(self, endpoint: str, health: Health) -> Health:
        self._known[endpoint] = (health, self._clock.monotonic())
        return health

    @property
    def _values(self) -> KeyValues:
        return self._state.key_values
