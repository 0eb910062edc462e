"""The client: an open broker and state as one event loop uses them, to send messages and read their state.

An app has one for async code, and a second one, with connections of its own, for code that is not
(`blocking.py`). Nothing is opened before it is needed.

Used by `app.py`; what is sent here is leased by `runtime/path/intake.py`.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tenure.broker import Broker, Sent
from tenure.client.claim_check import BodyGone, ClaimCheck
from tenure.client.claim_check import send as send_checked
from tenure.client.open_once import OpenOnce
from tenure.client.operator import Operator, this_user
from tenure.client.send_quotas import SendQuotas
from tenure.client.signing import Signing
from tenure.client.watch_link import WatchGrant, expires_at, watch_address, watch_token
from tenure.client.watching import Watching
from tenure.client.webhook_targets import WebhookTargets
from tenure.clock import Clock
from tenure.config import Settings
from tenure.errors import (
    BadArgument,
    BadMessage,
    BrokerError,
    BrokerUnavailable,
    MessageNotFound,
    PartlySent,
    TenureError,
    WebhookRefused,
)
from tenure.message import Message, Outgoing, new_id
from tenure.monitoring.telemetry import Telemetry
from tenure.quota import Quota
from tenure.record import Record
from tenure.rules.rejections import error_of
from tenure.state import State
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Call, Options
from tenure.tasks.handle import Handle, Read
from tenure.text.plural import plural
from tenure.webhooks.targets import with_context

if TYPE_CHECKING:
    from tenure.webhooks.assembly import Webhooks

R = TypeVar("R")

#: Options that are moments, or become moments.
_TIMES = frozenset({"at", "expires"})
#: For this long the store's time is known well enough: clocks drift by milliseconds a minute.
_TIME_KNOWN_SECONDS = 60.0

_read_plain: Read = msgspec.json.Decoder().decode


class Client:
    """Sends messages, and reads their state. Implements `tenure.tasks.handle.Asker`."""

    def __init__(
        self,
        broker: Broker,
        state: State,
        clock: Clock,
        *,
        client: str,
        namespace: str | None,
        claim_check: ClaimCheck | None = None,
        settings: Settings | None = None,
        telemetry: Callable[[], Telemetry | None] = lambda: None,
    ) -> None:
        """Use this broker and state, opened when first needed. `claim_check` sends what is too large for the broker.

        `settings` decide which webhooks may be called. `telemetry`: what follows the messages that are sent, if any.
        """
        self._telemetry = telemetry
        self.broker = broker
        self.state = state
        self.clock = clock
        self._client = client
        self._namespace = namespace
        self._claim_check = claim_check
        self._settings = settings or Settings()
        self._quotas = SendQuotas(state, clock, broker.traits, _quota_of(self._settings))
        self._targets = WebhookTargets(broker, state, clock, self._settings, namespace=namespace)
        self._once = OpenOnce(self._open)
        self._watching = Watching(broker, state, clock)
        self._signing = Signing(state, clock, self._settings)
        #: When the store's time was last asked for, monotonic.
        self._asked_at = 0.0

    def twin(self) -> "Client":
        """A second client for another thread's event loop."""
        broker, state = self.broker.twin(), self.state.twin()
        check = None if self._claim_check is None else self._claim_check.twin()
        return Client(
            broker, state, self.clock, client=self._client, namespace=self._namespace, claim_check=check,
            settings=self._settings, telemetry=self._telemetry,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """Who sends, unless a message says otherwise."""
        return self._client

    @property
    def namespace(self) -> str | None:
        """The namespace of the app. None: it has none."""
        return self._namespace

    @property
    def webhook_targets(self) -> WebhookTargets:
        """What messages ask to be told when they end."""
        return self._targets

    @property
    def webhooks(self) -> "Webhooks":
        """The webhook endpoints of this store."""
        return self._targets.webhooks

    @property
    def claim_check(self) -> ClaimCheck | None:
        """Where bodies go that are too large for the broker."""
        return self._claim_check

    # -- sending -----------------------------------------------------------------------------------

    async def submit(self, call: Call[R], options: Options) -> Handle[R]:
        """Send one call; returns when it cannot be lost any more."""
        if not self._once.is_open:
            await self.open()
        if options or call.options:
            await self._ask_the_time((options, call.options))
        wall = self.state.wall()
        id = new_id(wall)
        out = outgoing(call, options, id=id, client=self._client, sent_at=wall)
        if out.message.announce:
            out = await self._targets.resolve(out)
        (sent,) = await self._send((out,), (id,))
        if sent.refusal is not None:
            raise _refused(sent)
        return Handle(self, sent.id, reader(call), duplicate=sent.duplicate, queue=out.message.queue)

    async def submit_many(self, calls: Sequence[Call[R]], options: Options) -> list[Handle[R]]:
        """Send many calls; those that are refused do not hold up the others, and are reported in one `PartlySent`."""
        if "id" in options:
            msg = "id= would give all of them one id; give each its own with call.having(id=…). Nothing was sent"
            raise BadArgument(msg)
        await self.open()
        await self._ask_the_time((options, *(call.options for call in calls)))
        batch, refusals, new = self._prepare(calls, options)
        await self._resolve(batch, refusals)
        handles: list[Handle[R] | None] = [None] * len(calls)
        limit = self.broker.traits.batch_limit
        places = list(batch)
        for start in range(0, len(places), limit):
            own = places[start : start + limit]
            try:
                ready = [batch[place] for place in own]
                answers = await self._send(ready, new)
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

    async def send_made(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send messages that are made and checked; one answer each. At most as many as the broker takes."""
        return await self._send(batch, ())

    async def _send(self, batch: Sequence[Outgoing], new: Collection[str]) -> list[Sent]:
        telemetry = self._telemetry()
        if telemetry is None:
            return await self._send_limited(batch, new)
        with telemetry.sending(batch) as followed:
            return await self._send_limited(list(map(with_context, followed)), new)

    def _prepare(
        self, calls: Sequence[Call[R]], options: Options
    ) -> tuple[dict[int, Outgoing], dict[int, TenureError], set[str]]:
        """Make messages of calls. Returns messages and rejections by index, and the ids that were made for them."""
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

    async def _resolve(self, batch: dict[int, Outgoing], refusals: dict[int, TenureError]) -> None:
        """Find the endpoints of the messages that ask for webhooks; move those that are refused."""
        for place in [place for place, out in batch.items() if out.message.announce]:
            try:
                batch[place] = await self._targets.resolve(batch[place])
            except WebhookRefused as error:
                del batch[place]
                refusals[place] = error

    async def _ask_the_time(self, options: Sequence[Options]) -> None:
        """Read the store's time before a message whose options name a time, because it is judged by that time.

        It was read when the store was opened, and is read again after a minute at the earliest. While the store is away
        the last value is used: the send that follows reports the outage.
        """
        now = self.clock.monotonic()
        if now - self._asked_at > _TIME_KNOWN_SECONDS and any(_TIMES & one.keys() for one in options):
            self._asked_at = now
            with contextlib.suppress(BrokerUnavailable):
                await self.state.board.read()

    async def _send_limited(self, batch: Sequence[Outgoing], new: Collection[str] = ()) -> list[Sent]:
        """Send within the quotas of the clients; one answer each, in order. At most as many as the broker takes."""
        ready, refused = await self._quotas.apply(batch)
        if len(refused) == len(batch):
            return [refused[place] for place in range(len(batch))]
        sending = send_checked(self.broker, self._claim_check, ready, new)
        answers = await self._quotas.refreshing(batch, sending)
        if not refused:
            return answers
        rest = iter(answers)
        return [refused.get(place) or next(rest) for place in range(len(batch))]

    async def send(self, batch: Sequence[Outgoing], *, within_quota: bool = True) -> list[Sent]:
        """Send raw messages; one answer each, refusals included. `within_quota=False`: an operator's act."""
        await self.open()
        send = self._send_limited if within_quota else self._send_checked
        limit = self.broker.traits.batch_limit
        sent: list[Sent] = []
        for start in range(0, len(batch), limit):
            some = [self._dated(one) for one in batch[start : start + limit]]
            if any(one.message.announce for one in some):
                some, refused = await self._targets.resolve_all(some)
                answers = iter(await send(some) if some else ())
                sent += [refused.get(place) or next(answers) for place in range(len(some) + len(refused))]
            else:
                sent += await send(some)
        return sent

    def forget_quota(self, queue: str) -> None:
        """The quota of the client with this queue was changed here: it counts from the next send on."""
        self._quotas.forget(queue)

    async def _send_checked(self, batch: Sequence[Outgoing]) -> list[Sent]:
        return await send_checked(self.broker, self._claim_check, batch)

    def _dated(self, out: Outgoing) -> Outgoing:
        """Stamp the message with the moment of this send, if it has none: it distinguishes later sends of an id."""
        if out.message.sent_at:
            return out
        message = msgspec.structs.replace(out.message, sent_at=self.clock.wall())
        return msgspec.structs.replace(out, message=message)

    async def whole(self, message: Message) -> Message:
        """The message with its body, also where that was too large for the broker. Raises `BodyGone`, `BodyDamaged`."""
        if message.ticket is None:
            return message
        if self._claim_check is None:
            msg = f"its body is stored at {message.ticket.place}, and this app has no claim_check; set it"
            raise BodyGone(msg, elsewhere=True)
        return await self._claim_check.fetch(message)

    # -- asking ------------------------------------------------------------------------------------

    async def record(self, id: str, queue: str | None = None) -> Record | None:
        """Everything known about a message of this namespace. None: nothing. `queue`: where to look first."""
        await self.open()
        record = None
        for name in self._names(id):
            record = record or await self.state.records.get(name, queue)
        return self._own(record, id)

    async def follow(self, id: str, queue: str | None = None) -> AsyncGenerator[Record | None]:
        """Yield what is known about a message now and after each change, until it has ended (`watching.py`)."""
        await self.open()
        async with contextlib.aclosing(self._watching.follow(self._names(id), queue)) as records:
            async for record in records:
                yield self._own(record, id)

    async def watch_url(self, id: str, *, expires: float | timedelta, result: bool, server: str | None) -> str:
        """Make a link that opens one message for reading (`watch_link.py`). The message is not looked for."""
        await self.open()
        grant = WatchGrant(id, expires_at(self.state.wall(), expires), result)
        watch_address(self._settings, server, id, "")  # a setting that lacks is said before anything is signed
        return watch_address(self._settings, server, id, await watch_token(self._signing, grant))

    def _names(self, id: str) -> tuple[str, ...]:
        """The ids under which a message may be stored, in this order."""
        if self._namespace is None or id.startswith(f"{self._namespace}/"):
            return (id,)
        # As it was given to `submit(id=…)`; a message of that name from another app must not hide it.
        return (f"{self._namespace}/{id}", id)

    def _own(self, record: Record | None, id: str) -> Record | None:
        """The record, if its message is of this namespace. Raises `MessageNotFound` if it is of another one."""
        if record is not None and self._namespace is not None and not record.queue.startswith(f"{self._namespace}/"):
            where = record.queue.rpartition("/")[0]
            other = f"namespace {where!r}" if where else "no namespace"
            msg = f"message {id} belongs to {other}, this app to {self._namespace!r}; use an app of that namespace"
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
        """An operator who acts on messages and queues here."""
        return Operator(self.broker, self.state, self.clock, by=by, triggered_by=triggered_by, source=source)

    def deadline_in(self, timeout: float | timedelta | None) -> float | None:
        """Return the moment `timeout` from now, on the monotonic clock."""
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
        return self._once.is_open

    async def open(self) -> None:
        """Connect, once; everything that needs it does so by itself."""
        await self._once.open()

    async def _open(self) -> None:
        await self.broker.open()
        try:
            await self.state.open()
        except BaseException:
            await self.broker.close()
            raise
        self._asked_at = self.clock.monotonic()

    async def close(self) -> None:
        """Disconnect; it can be opened again."""
        self._watching.close()
        if self._once.was_open():
            await self.state.close()
            await self.broker.close()
            if self._claim_check is not None:
                await self._claim_check.close()


def _quota_of(settings: Settings) -> Quota:
    """The quota of every client, by the settings."""
    return Quota(
        waiting=settings.quota_waiting,
        running=settings.quota_running,
        per_second=settings.quota_per_second,
        payload_bytes=settings.quota_payload,
    )


def reader(call: Call[Any]) -> Read:
    """Return a reader for the result of this call."""
    signature = getattr(call.task, "signature", None)
    return _read_plain if signature is None else signature.decode_result


def plain_reader() -> Read:
    """Return a reader for results of unknown tasks: as plain JSON values."""
    return _read_plain


def _refused(sent: Sent) -> BadMessage:
    """Why the broker did not take a message."""
    if sent.refusal is None:
        msg = f"{sent.id} was not refused"
        raise RuntimeError(msg)
    return error_of(sent.refusal)


def _perhaps(refusals: dict[int, TenureError]) -> str:
    """Say how many may have been sent anyway: only with an id or a key is it safe to send again."""
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
