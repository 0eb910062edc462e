"""Forgetting a client: removes what is kept of it, phase by phase, each in bounded steps.

    messages       what waits, runs or is dead in its queue, and with its name in others; their bodies in the blob store
    announcements  endings that wait to be announced
    deliveries     webhooks that wait or failed
    groups         groups that it sent, or that have members in its queue, with the results that were copied into them
    records        what has ended in its queue: results, checkpoints, histories, ids and keys
    events         what the journal says of its queue

A phase that is begun anew does what is left to do, so an interrupted run is simply repeated. Nothing of it is written
down but one act without content. Used by `operations/forget.py`, which pauses the queue meanwhile.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from tenure.broker import Broker, Erased
from tenure.client.claim_check import ClaimCheck
from tenure.envelope import decode
from tenure.errors import BodyUndecodable
from tenure.groups.header import Headers
from tenure.message import Message, MessageState
from tenure.query import Browsed, Query
from tenure.rules.reserved_queue import reserved_queue
from tenure.state import State

PHASES = ("messages", "announcements", "deliveries", "groups", "records", "events")
_WAITS = (MessageState.READY, MessageState.DELAYED, MessageState.DEAD)
#: Messages of one step.
_PIECE = 200


class Place(msgspec.Struct, frozen=True):
    """How far it came: a phase, and a place in it."""

    phase: str = PHASES[0]
    after: str = ""


class Forgetting:
    """One client of one store."""

    def __init__(
        self, broker: Broker, state: State, check: ClaimCheck | None, *, client: str, queue: str, namespace: str | None
    ) -> None:
        """`queue`: that of the client; `check`: where large bodies are."""
        self._broker = broker
        self._state = state
        self._check = check
        self._client = client
        self._queue = queue
        self._reserved = reserved_queue(namespace)
        #: What was removed, by kind.
        self.removed: Counter[str] = Counter()
        #: Places of bodies that cannot be reached from here.
        self.left_at: set[str] = set()

    async def step(self, place: Place) -> Place | None:
        """Do one step; where to go on. None: nothing is left to do."""
        steps: dict[str, Callable[[str], Awaitable[str | None]]] = {
            "messages": self._messages,
            "announcements": self._announcements,
            "deliveries": self._deliveries,
            "groups": self._groups,
            "records": self._records,
            "events": self._events,
        }
        after = await steps[place.phase](place.after)
        if after is not None:
            return Place(place.phase, after)
        following = PHASES.index(place.phase) + 1
        return None if following == len(PHASES) else Place(PHASES[following])

    async def _messages(self, after: str) -> str | None:
        """What runs first, so that it does not come back; then what waits."""
        if await self._cancel_running():
            return "own"
        if after in ("", "own"):
            found = await self._find((self._queue,), None)
            if found:
                await self._remove(found)
                return "own"
            # A worker that does not know of the pause yet may have leased what would have been found.
            if await self._cancel_running():
                return "own"
        others = [one for one in await self._broker.queues() if one not in (self._queue, self._reserved)]
        for at in range(int(after) if after.isdigit() else 0, len(others)):
            found = await self._find((others[at],), self._client)
            if found:
                await self._remove(found)
                return str(at)
        return None

    async def _cancel_running(self) -> bool:
        held = (await self._broker.leases([self._queue], limit=_PIECE)).leases
        if held:
            await self._take_back([one.id for one in held], "running")
        return bool(held)

    async def _find(self, queues: tuple[str, ...], client: str | None) -> Sequence[Browsed]:
        """Some messages that wait or are dead."""
        for state in _WAITS:
            traits = self._broker.traits
            if client is not None and state in traits.opaque_states:
                continue
            if state not in traits.browsable and state not in traits.scannable:
                continue
            cursor = ""
            while True:
                query = Query(
                    states=(state,), queues=queues, client=client, limit=_PIECE, cursor=cursor,
                    scan=state not in traits.browsable,
                )  # fmt: skip
                page = await self._broker.browse(query)
                if page.messages:
                    return page.messages
                if page.cursor is None:
                    break
                cursor = page.cursor
        return ()

    async def _remove(self, found: Sequence[Browsed]) -> None:
        messages = [message for one in found if (message := _read(one)) is not None and message.ticket is not None]
        dead = [one.id for one in found if one.state is MessageState.DEAD]
        waiting = [one.id for one in found if one.state is not MessageState.DEAD]
        if waiting:
            # What was leased since it was looked at is taken back too.
            await self._take_back(waiting, "waiting")
        if dead:
            self.removed["dead"] += len(await self._broker.delete(dead))
        await self._discard(messages)

    async def _take_back(self, ids: Sequence[str], kind: str) -> None:
        limit = self._broker.traits.batch_limit
        for start in range(0, len(ids), limit):
            met = await self._broker.cancel(ids[start : start + limit])
            self.removed[kind] += sum(one is not None for one in met)

    async def _discard(self, messages: Sequence[Message]) -> None:
        for message in messages:
            ticket = message.ticket
            if ticket is not None and (self._check is None or ticket.place != self._check.blob_store.place):
                self.left_at.add(ticket.place)
        if self._check is not None and messages:
            await self._check.discard(messages)
            self.removed["bodies"] += len(messages)

    async def _announcements(self, after: str) -> str | None:
        found = await self._broker.announcements(after, _PIECE)
        own = [one for one in found if one.queue == self._queue or one.client == self._client]
        await self._broker.announced(own)
        self.removed["announcements"] += len(own)
        return found[-1].place if len(found) == _PIECE else None

    async def _deliveries(self, after: str) -> str | None:  # noqa: ARG002 - each step begins anew
        found = await self._find((self._reserved,), self._client)
        if not found:
            return None
        await self._broker.cancel([one.id for one in found if one.state is not MessageState.DEAD])
        await self._broker.delete([one.id for one in found if one.state is MessageState.DEAD])
        self.removed["deliveries"] += len(found)
        return "more"

    async def _groups(self, after: str) -> str | None:  # noqa: ARG002 - each step begins anew
        headers = Headers(self._state)
        for one in await headers.all():
            if one.client == self._client or self._queue in one.queues:
                await headers.remove(one)
                self.removed["groups"] += 1
        return None

    async def _records(self, after: str) -> str | None:
        return self._note("records", await self._broker.erase(self._queue, after))

    async def _events(self, after: str) -> str | None:
        return self._note("events", await self._state.journal.erase(self._queue, after))

    def _note(self, kind: str, step: Erased) -> str | None:
        self.removed[kind] += step.count
        return step.after


def _read(found: Browsed) -> Message | None:
    """The message, if it can be read."""
    try:
        return decode(found.envelope) if found.envelope else None
    except BodyUndecodable:
        return None
