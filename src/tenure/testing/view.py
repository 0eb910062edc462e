"""The view: what a kit knows about messages, at once and without a worker.

Everything is asked of the in-memory store itself, which answers without waiting; only what the store forgets (the
arguments of completed messages, who was sent) is noted when it is heard on a wire.

Used by `kit.py`.
"""

import functools
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from tenure import envelope
from tenure.app import Tenure
from tenure.broker import Broker, Browsed, Query
from tenure.client.browse_all import browse_all
from tenure.errors import BodyUndecodable
from tenure.event import Event
from tenure.group import GROUP_TARGET
from tenure.message import Message, MessageState
from tenure.record import Record
from tenure.settlement import Ack
from tenure.state import State
from tenure.verdict import Reason

T = TypeVar("T")

#: A tick is sent within this many seconds.
_TICK_SECONDS = 2.0
#: More than any test sends.
_ALL = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A message as a kit saw it."""

    #: The message's id.
    id: str
    #: The task's name. Empty: the message cannot be read.
    task: str
    #: The payload, by parameter.
    arguments: dict[str, Any]
    #: What the handler returned, as JSON. None: it is not completed.
    result_json: bytes | None = None
    #: Handlers of it that returned or failed; those that were interrupted by a fault do not count.
    attempts: int = 0
    #: Handlers of it that were begun.
    runs: int = 0
    #: Why the last attempt failed, or why it is dead.
    reason: Reason | None = None
    #: Everything the sender said. None: it cannot be read.
    message: Message | None = field(default=None, repr=False)
    #: Makes the handler's own type of its result.
    read: Callable[[bytes], Any] = field(default=msgspec.json.decode, repr=False, compare=False)

    @functools.cached_property
    def result(self) -> Any:
        """Decode the handler's result as its own type. None: there is no result, or the message is not completed.

        Raises `ResultInvalid` for one that is not of that type, as `handle.result()` does.
        """
        return None if self.result_json is None else self.read(self.result_json)


class View:
    """An app's messages and events in one store."""

    def __init__(self, app: Tenure, broker: Broker, state: State, runs: Mapping[str, int]) -> None:
        """Look at `broker` and `state` as they are, whatever faults a test has armed."""
        self._app = app
        self._broker = broker
        self._state = state
        self._runs = runs
        self._sent: dict[str, Message] = {}
        self._completed: list[Seen] = []

    def heard(self, name: str, arguments: tuple[Any, ...], answer: Any) -> None:
        """Take note of what a store carried out. Never raises: the worker would take it for the store's own trouble."""
        if name == "broker.send":
            self._note_sent(
                out.message for out, sent in zip(arguments[0], answer, strict=True) if sent.id == out.message.id
            )
        elif name == "broker.ack":
            for ack, settlement in zip(arguments[0], answer, strict=True):
                if settlement.took_effect:
                    self._note_sent(out.message for out in ack.handoffs)
                    self._completed.append(self._acked(ack))

    def _acked(self, ack: Ack) -> Seen:
        attempts = ack.lease.counters.attempts + 1
        try:
            message = envelope.decode(ack.lease.envelope)
        except BodyUndecodable:
            return Seen(id=ack.lease.id, task="", arguments={}, attempts=attempts, result_json=ack.result)
        task = self._app.tasks.get(message.task)
        read = msgspec.json.decode if task is None else task.signature.decode_result
        return self._seen(message, attempts=attempts, result_json=ack.result, read=read)

    def _note_sent(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._sent.setdefault(message.id, message)

    # -- for tests ---------------------------------------------------------------------------------

    def sent(self) -> list[Seen]:
        """Everything that was ever sent, by any sender."""
        return [self._seen(message) for message in self._sent.values()]

    def completed(self) -> list[Seen]:
        """Everything that is done, in the order in which it was."""
        return self._completed

    def dead(self) -> list[Seen]:
        """Return all dead letters."""
        return [self._browsed(one) for one in self._browse(MessageState.DEAD)]

    def waiting(self) -> list[Seen]:
        """Everything that is ready or delayed now."""
        return [self._browsed(one) for one in self._browse(MessageState.READY, MessageState.DELAYED)]

    def events(self) -> list[Event]:
        """Return all events so far."""
        return [stored.event for stored in at_once(self._state.journal.read(limit=_ALL))]

    # -- for the kit -------------------------------------------------------------------------------

    def in_motion(self) -> list[Browsed]:
        """Return the messages that a worker has still to do: not those delayed by their sender or in a paused queue."""
        return [one for one in self._open(*_MOVING) if one.state is not MessageState.DELAYED or one.counters.deliveries]

    def is_announcing(self) -> bool:
        """Whether a member of a group has ended that is not entered there: its last message may follow."""
        return any(
            target.startswith(GROUP_TARGET) for one in at_once(self._broker.announcements()) for target in one.targets
        )

    def idle_seconds(self) -> float:
        """Return the seconds until something happens by itself: a delayed message is due, or a schedule ticks."""
        waits = [one.due_in or 0.0 for one in self._open(*_MOVING)]
        # A tick of a moment ago may not have been sent yet: workers look once a second.
        wall, recent = self._app.clock.wall(), _TICK_SECONDS
        waits += [schedule.moments.next_after(wall - recent) - wall for schedule in self._app.schedules.values()]
        return min(waits, default=float("inf"))

    def record(self, id: str) -> Record | None:
        """Everything known about a message."""
        return at_once(self._state.records.get(id))

    # -- looking -----------------------------------------------------------------------------------

    def _open(self, *states: MessageState) -> Iterator[Browsed]:
        paused = {pause.queue for pause in at_once(self._state.board.read()).paused}
        served = {task.queue for task in self._app.tasks.values()} - paused
        return (one for one in self._browse(*states) if one.queue in served)

    def _browse(self, *states: MessageState) -> Iterator[Browsed]:
        for depth in at_once(self._broker.depth()):
            for state in states if self._app.sees(depth.queue) else ():
                yield from at_once(_all_of(self._broker, Query(states=(state,), queues=(depth.queue,), limit=_ALL)))

    def _browsed(self, one: Browsed) -> Seen:
        try:
            message = envelope.decode(one.envelope)
        except BodyUndecodable:
            return Seen(id=one.id, task="", arguments={}, attempts=one.counters.attempts, reason=one.reason)
        return self._seen(message, attempts=one.counters.attempts, reason=one.reason)

    def _seen(self, message: Message, **more: Any) -> Seen:
        try:
            body = msgspec.json.decode(message.body)
        except msgspec.DecodeError:
            body = None  # the worker that runs it says what is wrong with it
        arguments = body if isinstance(body, dict) else {}
        return Seen(
            id=message.id,
            task=message.task,
            arguments=arguments,
            message=message,
            runs=self._runs.get(message.id, 0),
            **more,
        )


async def _all_of(broker: Broker, query: Query) -> list[Browsed]:
    return [one async for one in browse_all(broker, query)]


_MOVING = (MessageState.READY, MessageState.LEASED, MessageState.DELAYED)


def at_once(asked: Coroutine[Any, Any, T]) -> T:
    """Return a coroutine's result without a loop: an in-memory store waits for nothing outside."""
    while True:
        try:
            waits_for = asked.send(None)
        except StopIteration as answer:
            value: T = answer.value
            return value
        if waits_for is not None:
            asked.close()
            msg = "only a store that answers without waiting can be looked at like this"
            raise RuntimeError(msg)
