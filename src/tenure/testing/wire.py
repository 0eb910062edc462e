"""A wire: everything that one worker says to its broker and state, in the hands of a test.

The test can listen, hold every word up (`freeze`), let words fail (`away`) or their answers get lost
(`lose_replies`), and cut the wire for ever (`cut`, `cut_at`), which is what the world sees of `kill -9`.
Words are named by port and verb: `broker.lease`, `ledger.seal`, `records.checkpoint`.

Used by `workers.py`; each worker has a wire of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from typing import Any, cast

import msgspec

from tenure.blobs import BlobStore
from tenure.broker import Broker, BrokerTraits
from tenure.envelope import encode
from tenure.errors import BrokerUnavailable
from tenure.message import Outgoing
from tenure.rules.rejections import of_size
from tenure.state import State
from tenure.verdict import Reason

#: Called with every call that was carried out: its name, its arguments, and the answer.
Listener = Callable[[str, tuple[Any, ...], Any], None]

#: What a worker says by the clock, whatever it runs; no crash points are counted there.
_NOT_COUNTED = (
    "broker.check", "broker.wait", "broker.sweep", "roster.*", "journal.*", "board.*", "acts.*", "key_values.*",
    "blobs.browse",
)  # fmt: skip


class Wire:
    """Between one worker and its stores."""

    def __init__(self, broker: Broker, state: State, heard: Listener | None = None) -> None:
        """Pass everything on, and call `heard` with what was carried out."""
        self.broker = cast("Broker", _BrokerEnd(self, broker))
        self.state = cast("State", _StateEnd(self, state))
        #: The names of all words that were said, whether they got through or not.
        self.said: list[str] = []
        #: Called with name and arguments just before a call is passed on.
        self.spy: Callable[[str, tuple[Any, ...]], None] = lambda _name, _arguments: None
        #: Set: what the broker is said to take, so that tests need no megabytes.
        self.body_limit: int | None = None
        self.is_cut = asyncio.Event()
        self._heard = heard or (lambda _name, _arguments, _answer: None)
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._away: tuple[str, ...] = ()
        self._unheard: dict[str, int] = {}
        self._cut_at: tuple[int, bool] | None = None
        self._counted = 0

    def room(self, inner: BlobStore) -> BlobStore:
        """A blob store on the same wire; its words are `blobs.fetch` and the like."""
        return cast("BlobStore", _RoomEnd(self, inner))

    # --- what a test does -------------------------------------------------------------------------------

    def freeze(self) -> None:
        """Hold back every call and reply until `thaw`: the worker is stopped, but not dead."""
        self._thawed.clear()

    def thaw(self) -> None:
        """Everything that was held up goes on at once."""
        self._thawed.set()

    def away(self, *names: str) -> None:
        """Let these calls fail before they do anything; patterns as `broker.*`, none: all calls."""
        self._away = names or ("*",)

    def back(self) -> None:
        """End every outage of this wire."""
        self._away = ()

    def lose_replies(self, name: str, times: int = 1) -> None:
        """The next `times` calls of that name are carried out, but their answers do not arrive."""
        self._unheard[name] = times

    def cut(self) -> None:
        """Cut the wire for ever. Calls under way are carried out, but their replies are lost."""
        self.is_cut.set()

    def cut_at(self, number: int, *, after: bool) -> None:
        """Cut the wire just before or just after word number `number` (from 1) is carried out."""
        self._cut_at = (number, after)

    # --- what the ends do -------------------------------------------------------------------------------

    async def carry(self, name: str, verb: Callable[..., Awaitable[Any]], *args: Any, **keywords: Any) -> Any:
        """Carry one call from the worker to a store, and the answer back."""
        await self._pass()
        self.said.append(name)
        number = self._count(name)
        if self._cut_at == (number, False):
            self.cut()
        await self._pass()
        if _is_among(name, self._away):
            msg = f"the test has taken {name} away"
            raise BrokerUnavailable(msg)
        self.spy(name, args)
        answer = await verb(*args, **keywords)
        self._heard(name, args, answer)
        if self._cut_at == (number, True):
            self.cut()
        await self._pass()
        if self._unheard.get(name, 0) > 0:
            self._unheard[name] -= 1
            msg = f"the test has lost the answer to {name}"
            raise BrokerUnavailable(msg, outcome_unknown=True)
        return answer

    def _count(self, name: str) -> int:
        """Count this call and return its number. 0: it does not count."""
        if _is_among(name, _NOT_COUNTED):
            return 0
        self._counted += 1
        return self._counted

    async def _pass(self) -> None:
        await self._thawed.wait()
        if self.is_cut.is_set():
            await asyncio.get_running_loop().create_future()  # until the worker's tasks are ended


def _is_among(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


class _End:
    """The worker's end of one port: every verb goes through the wire."""

    def __init__(self, wire: Wire, port: str, inner: Any) -> None:
        self._wire = wire
        self._port = port
        self._inner = inner

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        name, act = f"{self._port}.{verb}", getattr(self._inner, verb)

        async def say(*args: Any, **keywords: Any) -> Any:
            return await self._wire.carry(name, act, *args, **keywords)

        return say


class _BrokerEnd(_End):
    def __init__(self, wire: Wire, inner: Broker) -> None:
        super().__init__(wire, "broker", inner)

    @property
    def traits(self) -> BrokerTraits:
        traits: BrokerTraits = self._inner.traits
        limit = self._wire.body_limit
        return traits if limit is None else msgspec.structs.replace(traits, body_limit=limit)

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        """Answered here, so nothing goes through the wire."""
        told: Reason | None = self._inner.refusal(outgoing)
        limit = self._wire.body_limit
        if told is not None or limit is None:
            return told
        return of_size(outgoing.message, len(encode(outgoing.message)), limit)

    def twin(self) -> "_BrokerEnd":
        """Return itself: in virtual time there is one loop, and one wire."""
        return self


class _RoomEnd(_End):
    def __init__(self, wire: Wire, inner: BlobStore) -> None:
        super().__init__(wire, "blobs", inner)
        self.place, self.keep_seconds = inner.place, inner.keep_seconds

    async def open(self) -> None:
        await self._inner.open()

    def twin(self) -> "_RoomEnd":
        return self


class _StateEnd:
    def __init__(self, wire: Wire, inner: State) -> None:
        self._inner = inner
        self.ledger = _End(wire, "ledger", inner.ledger)
        self.records = _End(wire, "records", inner.records)
        self.roster = _End(wire, "roster", inner.roster)
        self.journal = _End(wire, "journal", inner.journal)
        self.board = _End(wire, "board", inner.board)
        self.acts = _End(wire, "acts", inner.acts)
        self.key_values = _End(wire, "key_values", inner.key_values)

    def wall(self) -> float:
        return self._inner.wall()

    async def open(self) -> None:
        await self._inner.open()

    async def close(self) -> None:
        await self._inner.close()

    def twin(self) -> "_StateEnd":
        return self
