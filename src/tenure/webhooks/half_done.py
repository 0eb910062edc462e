"""Endings that some of their targets have and others still wait for.

Rare: a message with several targets, one of which rests. Without a note the first target would get its delivery again
at every look, and after some days, when the broker has forgotten the id, a second one. Kept in the store, because an
endpoint may rest for longer than a process lives.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from tenure.announcement import Announcement
from tenure.key_value import KeyValue
from tenure.state import State

KIND = "webhook-half-done"
#: No ending waits for so long: its note may go.
_KEPT_SECONDS = 400 * 86_400.0


class HalfDone:
    """The notes of one announcer."""

    def __init__(self, state: State, *, namespace: str | None = None) -> None:
        """Read nothing before it is asked for."""
        self._state = state
        self._prefix = "" if namespace is None else f"{namespace}/"
        self._known: dict[str, frozenset[str]] | None = None

    def read_again(self) -> None:
        """Ask the store the next time: another announcer may have noted something."""
        self._known = None

    async def targets(self, ending: Announcement) -> frozenset[str]:
        """The targets that have it. Asks nothing for an ending with one target."""
        if len(ending.targets) == 1:
            return frozenset()
        return (await self._notes()).get(self._name(ending), frozenset())

    async def note(self, ending: Announcement, targets: Sequence[str]) -> None:
        """These have it now."""
        notes, name = await self._notes(), self._name(ending)
        values, until = self._state.key_values, self._state.wall() + _KEPT_SECONDS
        while True:
            value = await values.get(KIND, name)
            had = frozenset() if value is None else _read(value)
            notes[name] = had.union(notes.get(name, ()), targets)
            data, expect = msgspec.json.encode(sorted(notes[name])), None if value is None else value.version
            if await values.put(KIND, name, data, expect=expect, expires_at=until) is not None:
                return

    async def forget(self, endings: Sequence[Announcement]) -> None:
        """All of their targets have them."""
        for ending in endings:
            if len(ending.targets) > 1:
                notes, name = await self._notes(), self._name(ending)
                if notes.pop(name, None) is not None:
                    await self._state.key_values.remove(KIND, name)

    async def _notes(self) -> dict[str, frozenset[str]]:
        if self._known is None:
            found = await self._state.key_values.list(KIND)
            self._known = {one.name: _read(one) for one in found}
        return self._known

    def _name(self, ending: Announcement) -> str:
        parts = "\x1f".join(map(str, ending.key)).encode("utf-8", "surrogatepass")
        return f"{self._prefix}{hashlib.sha256(parts).hexdigest()[:40]}"


def _read(value: KeyValue) -> frozenset[str]:
    return frozenset(msgspec.json.decode(value.data, type=list[str]))
