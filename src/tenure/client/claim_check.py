"""The claim check: a body over the broker's limit goes to a blob store, and its message carries a ticket instead.

    send      leave the body, then send the ticket    a crash between leaves a body without a message
    run       claim, then fetch                       `runtime/ownership/blob_fetch.py`
    done      seal, ack, then discard                 a crash between leaves one too
    dead      keep                                    a redrive runs it again

So a body is there for as long as its message can run. A body without a message is found by
`runtime/background/blob_gc.py`. Nothing is ever truncated; without a blob store, what is too large is refused at
`send`.
"""

import hashlib
import logging
from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from tenure import envelope
from tenure.blobs import BlobStore, name_of
from tenure.broker import BrokerTraits, Sent
from tenure.client.open_once import OpenOnce
from tenure.client.send_log import log_sent
from tenure.errors import TenureError
from tenure.message import ELSEWHERE, Message, Outgoing, Ticket
from tenure.rules.sendable import unsendable
from tenure.text.plural import plural
from tenure.verdict import Reason

logger = logging.getLogger("tenure.claim_check")

#: The reason of a refusal that a ticket helps against.
_TOO_LARGE = "body_too_large"


class SendingBroker(Protocol):
    """The part of a broker that is needed to send."""

    @property
    def traits(self) -> BrokerTraits:
        """The broker's traits."""
        ...

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages."""
        ...


class Judge(Protocol):
    """The part of a broker that says what it would refuse."""

    @property
    def traits(self) -> BrokerTraits:
        """The broker's traits."""
        ...

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        """Why `send` would refuse it. None: it would not."""
        ...


class BodyGone(Exception):
    """The blob store has no such body.

    `elsewhere`: it was stored at another place than this one, as far as is known.
    """

    def __init__(self, message: str, *, elsewhere: bool) -> None:
        """Say what was looked for, and where."""
        super().__init__(message)
        self.elsewhere = elsewhere


class BodyDamaged(Exception):
    """The body in the blob store is not the one that was stored."""


class ClaimCheck:
    """Stores, fetches and discards bodies. It opens the blob store when it is first needed."""

    def __init__(self, blob_store: BlobStore) -> None:
        """Use this blob store; it is opened when it is first needed."""
        self.blob_store = blob_store
        self._once = OpenOnce(blob_store.open)

    def twin(self) -> "ClaimCheck":
        """Return a claim check for another thread's event loop."""
        return ClaimCheck(self.blob_store.twin())

    async def open(self) -> None:
        """Connect, once."""
        await self._once.open()

    async def close(self) -> None:
        """Disconnect; it can be opened again."""
        if self._once.was_open():
            await self.blob_store.close()

    # -- sending -----------------------------------------------------------------------------------

    async def send(self, broker: SendingBroker, batch: Sequence[Outgoing], new: Collection[str] = ()) -> list[Sent]:
        """Send a batch that is not longer than the broker takes; bodies over its limit by claim check.

        A queue may have a limit of its own that only the broker knows of: what is refused for its size is left in the
        blob store and sent once more. `new`: ids that were made for this very send.
        """
        if not broker.traits.takes_tickets:
            return await broker.send(batch)
        out = await self.check_in(batch, broker.traits.body_limit)
        answers = await broker.send(out)
        refused = [at for at, sent in enumerate(answers) if _is_too_large(sent) and out[at].message.ticket is None]
        if refused:
            again = await self._leave([out[at] for at in refused], range(len(refused)))
            for at, outgoing, sent in zip(refused, again, await broker.send(again), strict=True):
                out[at], answers[at] = outgoing, sent
        await self._forget(out, answers, new)
        return answers

    async def check_in(self, batch: Sequence[Outgoing], limit: int) -> list[Outgoing]:
        """Return the messages, those over `limit` with tickets: their bodies are kept when this returns."""
        # What cannot be sent has no size: the broker says why.
        large = [place for place, out in enumerate(batch) if unsendable(out) is None and is_over(out.message, limit)]
        return await self._leave(batch, large) if large else list(batch)

    async def _leave(self, batch: Sequence[Outgoing], places: Sequence[int]) -> list[Outgoing]:
        await self.open()
        out = list(batch)
        bodies: list[tuple[str, bytes]] = []
        for place in places:
            message = batch[place].message
            ticketed = self.ticketed(message)
            if ticketed.ticket is not None:
                bodies.append((name_of(message, ticketed.ticket.digest), _payload(message)))
            out[place] = msgspec.structs.replace(batch[place], message=ticketed)
        await self.blob_store.leave(bodies)
        return out

    def ticketed(self, message: Message) -> Message:
        """Return the message with a ticket instead of its body. The body is not stored yet."""
        body = _payload(message)
        ticket = Ticket(self.blob_store.place, len(body), hashlib.sha256(body).hexdigest())
        return msgspec.structs.replace(message, body=ELSEWHERE, ticket=ticket)

    async def _forget(self, batch: Sequence[Outgoing], answers: Sequence[Sent], new: Collection[str]) -> None:
        """Discard the bodies of messages that were not stored, if their ids are `new`.

        An id that its sender chose may have been sent before, and that message needs the body.
        """
        tickets = [
            out.message
            for out, sent in zip(batch, answers, strict=True)
            if out.message.ticket is not None and out.message.id in new and (sent.refusal or sent.id != out.message.id)
        ]
        await self.discard(tickets)

    # -- running -----------------------------------------------------------------------------------

    async def fetch(self, message: Message) -> Message:
        """The message with its body. Raises `BodyGone` and `BodyDamaged`, and what the blob store raises."""
        ticket = message.ticket
        if ticket is None:
            return message
        await self.open()
        name = name_of(message, ticket.digest)
        (body,) = await self.blob_store.fetch([name])
        here = self.blob_store.place
        if body is None:
            elsewhere = ticket.place != here
            where = f"{ticket.place}, and this worker looks at {here}" if elsewhere else here
            msg = f"its body ({ticket.size} bytes) is not there: {name} at {where}"
            raise BodyGone(msg, elsewhere=elsewhere)
        if len(body) != ticket.size or hashlib.sha256(body).hexdigest() != ticket.digest:
            msg = f"its body is not what was sent: {name} at {here} has {len(body)} bytes, {ticket.size} were left"
            raise BodyDamaged(msg)
        return msgspec.structs.replace(message, body=msgspec.Raw(body), ticket=None)

    async def discard(self, messages: Sequence[Message]) -> None:
        """Discard the bodies of these. If that fails, `runtime/background/blob_gc.py` finds and discards them later."""
        names = [name_of(message, message.ticket.digest) for message in messages if message.ticket is not None]
        if not names:
            return
        try:
            await self.open()
            await self.blob_store.discard(names)
        except TenureError as error:
            many = plural(len(names), "body", "bodies")
            logger.warning("could not discard %s at %s for now: %s", many, self.blob_store.place, error)


def is_over(message: Message, limit: int) -> bool:
    """Whether a message is too large to be sent with its body."""
    return message.ticket is None and len(envelope.encode(message)) > limit


def _payload(message: Message) -> bytes:
    """Return the payload as it is kept: an envelope would drop white space around it, too."""
    return bytes(message.body).strip()


def _is_too_large(sent: Sent) -> bool:
    return sent.refusal is not None and sent.refusal.code == _TOO_LARGE


def refusal(broker: Judge, check: ClaimCheck | None, outgoing: Outgoing) -> Reason | None:
    """Why `send` would refuse it, as far as that can be known without asking anybody; `check` takes a large body."""
    told = broker.refusal(outgoing)
    if told is None or told.code != _TOO_LARGE or check is None or not broker.traits.takes_tickets:
        return told
    return broker.refusal(msgspec.structs.replace(outgoing, message=check.ticketed(outgoing.message)))


async def send(
    broker: SendingBroker, check: ClaimCheck | None, batch: Sequence[Outgoing], new: Collection[str] = ()
) -> list[Sent]:
    """Send a batch, by claim check where there is one; `new` as for `ClaimCheck.send`."""
    answers = await (broker.send(batch) if check is None else check.send(broker, batch, new))
    log_sent(batch, answers)
    return answers


class ClaimCheckSender:
    """A broker's `send` by claim check, for code that only sends."""

    def __init__(self, broker: SendingBroker, check: ClaimCheck | None) -> None:
        """Send to this broker. Without a claim check, its own limit applies."""
        self._broker = broker
        self._check = check

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages, idempotent by id."""
        return await send(self._broker, self._check, batch)
