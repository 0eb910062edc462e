"""The findings of one app, as its store keeps them: one key-value each, changed by compare-and-set.

The evaluator (`runtime/alerting.py`) writes what it judges, people write acks and silences; who comes second reads
again. Apps of different namespaces share no findings.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

import msgspec

from tenure.key_value import KeyValue, name_of
from tenure.monitoring.alerting.finding import EVALUATOR_KIND, KEPT_SECONDS, KIND, AlertState, Evaluator
from tenure.state import State

logger = logging.getLogger("tenure.alerting")

T = TypeVar("T")
_EVALUATOR = "alerts"
#: Two who change one finding at the same moment; more are a fault.
_MOST_TRIES = 10


class Kept(msgspec.Struct, frozen=True):
    """One finding, and its version."""

    state: AlertState
    version: str | None = None


class FindingStore:
    """Reads and writes findings."""

    def __init__(self, state: State, *, namespace: str | None = None) -> None:
        """Read nothing before it is asked for."""
        self._state = state
        self._prefix = "" if namespace is None else f"{namespace}/"

    async def list(self) -> dict[str, Kept]:
        """Every finding by name: pending, firing, and those that cleared within a day."""
        found: dict[str, Kept] = {}
        for value in await self._state.key_values.list(KIND):
            state = _decoded(value, AlertState)
            if state is not None and value.name == self._key(state.name):
                found[state.name] = Kept(state, value.version)
        return found

    async def get(self, name: str) -> Kept | None:
        """One finding. None: there is none of that name."""
        value = await self._state.key_values.get(KIND, self._key(name))
        state = None if value is None else _decoded(value, AlertState)
        return None if value is None or state is None else Kept(state, value.version)

    async def put(self, state: AlertState, expect: str | None) -> bool:
        """Write it if it has this version. False: it was changed meanwhile."""
        until = None
        if not state.is_firing and state.cleared_at is not None:
            until = max(state.cleared_at + KEPT_SECONDS, state.silenced_until or 0.0)
        data, key = msgspec.json.encode(state), self._key(state.name)
        return await self._state.key_values.put(KIND, key, data, expect=expect, expires_at=until) is not None

    async def change(self, name: str, decide: Callable[[AlertState], AlertState]) -> AlertState | None:
        """Change one as `decide` says, which may be asked several times. None: there is none of that name."""
        for _ in range(_MOST_TRIES):
            kept = await self.get(name)
            if kept is None:
                return None
            changed = decide(kept.state)
            if changed == kept.state or await self.put(changed, kept.version):
                return changed
        logger.warning("finding %s is being changed by others all the time; it was not changed", name)
        return None

    async def remove(self, name: str, expect: str | None) -> None:
        """Forget one, in this version."""
        await self._state.key_values.remove(KIND, self._key(name), expect=expect)

    async def evaluator(self) -> Evaluator:
        """What the evaluator keeps of itself."""
        value = await self._state.key_values.get(EVALUATOR_KIND, self._key(_EVALUATOR))
        found = None if value is None else _decoded(value, Evaluator)
        return Evaluator() if found is None else found

    async def note_evaluator(self, evaluator: Evaluator) -> None:
        """Write that it judged. Where two write at once, either is right."""
        key, data = self._key(_EVALUATOR), msgspec.json.encode(evaluator)
        value = await self._state.key_values.get(EVALUATOR_KIND, key)
        await self._state.key_values.put(EVALUATOR_KIND, key, data, expect=None if value is None else value.version)

    def _key(self, name: str) -> str:
        return name_of(self._prefix + name)


def _decoded(value: KeyValue, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(value.data, type=kind)
    except msgspec.MsgspecError as error:
        logger.warning("finding %s cannot be read, and is left alone: %s", value.name, error)
        return None
