"""The door: an open broker and state as one event loop uses them, for sending and asking.

An app has one for async code, and a second one, with connections of its own, for code that is not
(`portal.py`). Nothing is opened before it is needed.

Used by `app.py`; what is sent here is leased by `runtime/intake.py`.
"""

import asyncio
import contextlib
import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeVar

import msgspec

from tenure.broker import Broker, Sent
from tenure.call import Call, Options
from tenure.claim_check import BodyGone, ClaimCheck
from tenure.claim_check import send as send_checked
from tenure.clock import Clock
from tenure.errors import (
    BadArgument,
    BadMessage,
    BrokerError,
    BrokerUnavailable,
    MessageNotFound,
    PartlySent,
    TenureError,
)
from tenure.handle import Handle, Read
from tenure.message import Message, Outgoing, new_id
from tenure.operating import Operator, this_user
from tenure.outgoing import outgoing
from tenure.plural import plural
from tenure.record import Record
from tenure.refusal import error_of
from tenure.state import State

R = TypeVar("R")

#: Options that are moments, or become moments.
_TIMES = frozenset({"at", "expires"})
#: For so long the store's time is known well enough: clocks drift by milliseconds a minute.
_TIME_KNOWN_SECONDS = 60.0

_read_plain: Read = msgspec.json.Decoder().decode


class Door:
    """Sends, and asks about what was sent. Satisfies `tenure.handle.Asker`."""

    def __init__(
        self, broker: Broker, state: State, clock: Clock, *, client: str, namespace: str | None,
        claim_check: ClaimCheck | None = None,
    ) -> None:  # fmt: skip
        """Nothing is opened yet. With `claim_check`, what is too large for the broker can be sent all the same."""
        self.broker = broker
        self.state = state
        self.clock = clock
        self._client = client
        self._namespace = namespace
        self._claim_check = claim_check
        self._opening: asyncio.Task[None] | None = None
        #: When the store's time was last asked for, monotonic.
        self._asked_at = 0.0
        #: The process in which it is open; 0: in none. A forked child must open it again.
        self._pid = 0

    def twin(self) -> "Door":
        """A second door for another thread's event loop."""
        broker, state = self.broker.twin(), self.state.twin()
        check = None if self._claim_check is None else self._claim_check.twin()
        return Door(broker, state, self.clock, client=self._client, namespace=self._namespace, claim_check=check)

    # -- sending -----------------------------------------------------------------------------------

    async def submit(self, call: Call[R], options: Options) -> Handle[R]:
        """Send one call; returns when it cannot be lost any more."""
        if self._pid != os.getpid():
            await self.open()
        if options or call.options:
            await self._ask_the_time((options, call.options))
        wall = self.state.wall()
        id = new_id(wall)
        out = outgoing(call, options, id=id, client=self._client, sent_at=wall)
        (sent,) = await send_checked(self.broker, self._claim_check, (out,), (id,))
        if sent.refusal is not None:
            raise _refused(sent)
        return Handle(self, sent.id, reader(call), duplicate=sent.duplicate, queue=out.message.queue)

    async def submit_many(self, calls: Sequence[Call[R]], options: Options) -> list[Handle[R]]:
        """Send many calls; those that are refused do not hold up the others, and are told in one `PartlySent`."""
        if "id" in options:
            msg = "id= would name all of them alike; give each its own with call.having(id=…). Nothing was sent"
            raise BadArgument(msg)
        await self.open()
        await self._ask_the_time((options, *(call.options for call in calls)))
        batch, refusals, new = self._prepare(calls, options)
        handles: list[Handle[R] | None] = [None] * len(calls)
        limit = self.broker.traits.batch_limit
        places = list(batch)
        for start in range(0, len(places), limit):
            own = places[start : start + limit]
            try:
                ready = [batch[place] for place in own]
                answers = await send_checked(self.broker, self._claim_check, ready, new)
            except BrokerError as error:
                if start == 0 and not refusals:
                    raise  # nothing was sent, as far as is known: the error says it all
                refusals.update(dict.fromkeys(own, error))
                # Later batches would meet the same: they are not tried, and nothing is sent twice.
                rest = BrokerUnavailable("not tried, because the messages before it could not be sent")
                refusals.update(dict.fromkeys(places[start + limit :], rest))
                break
            for place, sent in zip(own, answers, strict=True):
                if sent.refusal is not None:
                    refusals[place] = _refused(sent)
                else:
                    read, queue = reader(calls[place]), batch[place].message.queue
                    handles[place] = Handle(self, sent.id, read, duplicate=sent.duplicate, queue=queue)
        if refusals:
            raise _partly(handles, refusals)
        return [handle for handle in handles if handle is not None]

    def _prepare(
        self, calls: Sequence[Call[R]], options: Options
    ) -> tuple[dict[int, Outgoing], dict[int, TenureError], set[str]]:
        """What each call becomes, and why some become nothing, by place; and the ids that were made for them."""
        wall = self.state.wall()
        if options and calls:
            # A mistake in what holds for all of them is the caller's, and nothing is sent.
            outgoing(Call(calls[0].task, calls[0].body), options, id="", client=self._client, sent_at=wall)
        batch: dict[int, Outgoing] = {}
        refusals: dict[int, TenureError] = {}
        new: set[str] = set()
        for place, call in enumerate(calls):
            id = new_id(wall)
            new.add(id)
            try:
                batch[place] = outgoing(call, options, id=id, client=self._client, sent_at=wall)
            except TenureError as error:
                refusals[place] = error
        return batch, refusals, new

    async def _ask_the_time(self, options: Sequence[Options]) -> None:
        """Before a message whose options name a time: know the store's, by which it is judged.

        It was learned when the place was opened, and nothing is asked again within a minute. While the store is away
        what is known stands: the send that follows tells of the outage.
        """
        now = self.clock.monotonic()
        if now - self._asked_at > _TIME_KNOWN_SECONDS and any(_TIMES & one.keys() for one in options):
            self._asked_at = now
            with contextlib.suppress(BrokerUnavailable):
                await self.state.board.read()

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send raw messages; one answer each, refusals included."""
        await self.open()
        limit = self.broker.traits.batch_limit
        sent: list[Sent] = []
        for start in range(0, len(batch), limit):
            some = [self._dated(one) for one in batch[start : start + limit]]
            sent += await send_checked(self.broker, self._claim_check, some)
        return sent

    def _dated(self, out: Outgoing) -> Outgoing:
        """With the moment of this send, where the message does not say: later sends of its id are told apart by it."""
        if out.message.sent_at:
            return out
        message = msgspec.structs.replace(out.message, sent_at=self.clock.wall())
        return msgspec.structs.replace(out, message=message)

    async def whole(self, message: Message) -> Message:
        """The message with its body, also where that was too large for the broker. Raises `BodyGone`, `BodyDamaged`."""
        if message.ticket is None:
            return message
        if self._claim_check is None:
            msg = f"its body lies at {message.ticket.place}, and this app has no claim_check; set it"
            raise BodyGone(msg, elsewhere=True)
        return await self._claim_check.fetch(message)

    # -- asking ------------------------------------------------------------------------------------

    async def record(self, id: str, queue: str | None = None) -> Record | None:
        """Everything known about a message of this namespace. None: nothing. `queue`: where to look first."""
        await self.open()
        record = None
        if self._namespace is not None and not id.startswith(f"{self._namespace}/"):
            # As it was given to `submit(id=…)`; somebody else's of that name must not hide it.
            record = await self.state.records.get(f"{self._namespace}/{id}", queue)
        if record is None:
            record = await self.state.records.get(id, queue)
        if record is not None and self._namespace is not None and not record.queue.startswith(f"{self._namespace}/"):
            where = record.queue.rpartition("/")[0]
            other = f"namespace {where!r}" if where else "no namespace"
            msg = f"message {id} belongs to {other}, and this app to {self._namespace!r}; ask an app of that one"
            raise MessageNotFound(msg)
        return record

    async def cancel(self, id: str, queue: str | None = None) -> bool:
        """Take a message back, also from a worker that runs it; recorded. False: it was finished or dead already."""
        record = await self.record(id, queue)
        if record is None:
            msg = f"no message {id} is known here: it was never sent to this place, or its record has expired"
            raise MessageNotFound(msg)
        (cancelled,) = await self.operator(by=this_user()).cancel([record.id], record.queue)
        return cancelled.was is not None

    def operator(self, *, by: str, triggered_by: str = "api", source: str = "") -> Operator:
        """Somebody who acts on messages and queues here."""
        return Operator(self.broker, self.state, self.clock, by=by, triggered_by=triggered_by, source=source)

    def deadline_in(self, timeout: float | timedelta | None) -> float | None:
        """So long from now, on the monotonic clock."""
        if timeout is None:
            return None
        return self.clock.monotonic() + (timeout.total_seconds() if isinstance(timeout, timedelta) else timeout)

    async def pause_until(self, deadline: float | None, seconds: float) -> bool:
        """Wait a little. False: `deadline` has come."""
        left = float("inf") if deadline is None else deadline - self.clock.monotonic()
        if left <= 0:
            return False
        await asyncio.sleep(min(seconds, left))
        return True

    # -- opening and closing -----------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether it is open in this process."""
        return self._pid == os.getpid()

    async def open(self) -> None:
        """Connect, once; everything that needs it does so by itself."""
        if self._pid == os.getpid():
            return
        opening = self._opening
        # One that a caller gave up on goes on, and serves the next; one that failed, or whose loop is gone, does not.
        if opening is None or opening.done() or opening.get_loop() is not asyncio.get_running_loop():
            opening = self._opening = asyncio.get_running_loop().create_task(self._open())
        await asyncio.shield(opening)

    async def _open(self) -> None:
        await self.broker.open()
        try:
            await self.state.open()
        except BaseException:
            await self.broker.close()
            raise
        self._asked_at = self.clock.monotonic()
        self._pid = os.getpid()

    async def close(self) -> None:
        """Disconnect; it can be opened again."""
        if self._pid == os.getpid():
            self._pid = 0
            await self.state.close()
            await self.broker.close()
            if self._claim_check is not None:
                await self._claim_check.close()


def reader(call: Call[Any]) -> Read:
    """How the result of this call is read."""
    signature = getattr(call.task, "signature", None)
    return _read_plain if signature is None else signature.decode_result


def plain_reader() -> Read:
    """How a result is read where the task is not known: as plain JSON values."""
    return _read_plain


def _refused(sent: Sent) -> BadMessage:
    """Why the broker did not take a message."""
    if sent.refusal is None:
        msg = f"{sent.id} was not refused"
        raise RuntimeError(msg)
    return error_of(sent.refusal)


def _perhaps(refusals: dict[int, TenureError]) -> str:
    """How many of them may have been sent all the same: only an id or a key makes it safe to send these again."""
    unknown = sum(isinstance(error, BrokerUnavailable) and error.outcome_unknown for error in refusals.values())
    return f" ({unknown} of them perhaps: no answer came)" if unknown else ""


def _partly(handles: Sequence[Handle[Any] | None], refusals: dict[int, TenureError]) -> PartlySent:
    first = min(refusals)
    sent = len(handles) - len(refusals)
    msg = (
        f"{len(refusals)} of {plural(len(handles), 'message')} were not sent{_perhaps(refusals)}, {sent} were; "
        f"the first that was not is number {first} (counted from 0): {refusals[first]}. See .refusals and .handles"
    )
    return PartlySent(msg, handles, refusals)
