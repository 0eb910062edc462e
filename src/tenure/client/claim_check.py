"""The claim check: a body over the broker's limit goes to a cloakroom, and its message carries a ticket instead.

    send      leave the body, then send the ticket    a crash between leaves a body that nobody asks for
    run       claim, then fetch                       `runtime/fetching.py`
    done      seal, ack, then discard                 a crash between leaves one too
    dead      keep                                    a redrive runs it again

So a body is there for as long as its message can run. What nobody asks for is found by `runtime/tidying.py`. Nothing is
ever truncated; without a cloakroom, what is too large is refused at `send`.
"""

import asyncio
import hashlib
import logging
import os
from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from tenure import envelope
from tenure.broker import BrokerTraits, Sent
from tenure.cloakroom import Cloakroom, name_of
from tenure.errors import TenureError
from tenure.message import ELSEWHERE, Message, Outgoing, Ticket
from tenure.plural import plural
from tenure.rules.sendable import unsendable
from tenure.verdict import Reason

logger = logging.getLogger("tenure.claim_check")

#: The reason of a refusal that a ticket helps against.
_TOO_LARGE = "body_too_large"


class Sender(Protocol):
    """What is needed of a broker to send."""

    @property
    def traits(self) -> BrokerTraits:
        """What it can and cannot do."""
        ...

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages."""
        ...


class Judge(Protocol):
    """What is needed of a broker to know what it would refuse."""

    @property
    def traits(self) -> BrokerTraits:
        """What it can and cannot do."""
        ...

    def refusal(self, outgoing: Outgoing) -> Reason | None:
        """Why `send` would refuse it. None: it would not."""
        ...


class BodyGone(Exception):
    """The cloakroom has no such body. `elsewhere`: it was left at another place than this one, as far as is known."""

    def __init__(self, message: str, *, elsewhere: bool) -> None:
        """Say what was looked for, and where."""
        super().__init__(message)
        self.elsewhere = elsewhere


class BodyDamaged(Exception):
    """What lies in the cloakroom is not what was left there."""


class ClaimCheck:
    """Leaves, fetches and discards bodies. Opened by itself, when it is first needed."""

    def __init__(self, cloakroom: Cloakroom) -> None:
        """Nothing is opened yet."""
        self.cloakroom = cloakroom
        self._opening: asyncio.Task[None] | None = None
        #: The process in which it is open; 0: in none.
        self._pid = 0

    def twin(self) -> "ClaimCheck":
        """For another thread's event loop."""
        return ClaimCheck(self.cloakroom.twin())

    async def open(self) -> None:
        """Connect, once."""
        if self._pid == os.getpid():
            return
        opening = self._opening
        if opening is None or opening.done() or opening.get_loop() is not asyncio.get_running_loop():
            opening = self._opening = asyncio.get_running_loop().create_task(self._open())
        await asyncio.shield(opening)

    async def _open(self) -> None:
        await self.cloakroom.open()
        self._pid = os.getpid()

    async def close(self) -> None:
        """Disconnect; it can be opened again."""
        if self._pid == os.getpid():
            self._pid = 0
            await self.cloakroom.close()

    # -- sending -----------------------------------------------------------------------------------

    async def send(self, broker: Sender, batch: Sequence[Outgoing], new: Collection[str] = ()) -> list[Sent]:
        """Send a batch that is not longer than the broker takes; bodies over its limit by claim check.

        A queue may have a limit of its own that only the broker knows of: what is refused for its size is left in the
        cloakroom and sent once more. `new`: ids that were made for this very send.
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
        """The same messages, those over `limit` with tickets: their bodies are kept when this returns."""
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
        await self.cloakroom.leave(bodies)
        return out

    def ticketed(self, message: Message) -> Message:
        """The message as it would be sent with a ticket; nothing is left yet."""
        body = _payload(message)
        ticket = Ticket(self.cloakroom.place, len(body), hashlib.sha256(body).hexdigest())
        return msgspec.structs.replace(message, body=ELSEWHERE, ticket=ticket)

    async def _forget(self, batch: Sequence[Outgoing], answers: Sequence[Sent], new: Collection[str]) -> None:
        """Discard what was left for messages that were not stored, where their ids are `new`.

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
        """The message with its body. Raises `BodyGone` and `BodyDamaged`, and what the cloakroom raises."""
        ticket = message.ticket
        if ticket is None:
            return message
        await self.open()
        name = name_of(message, ticket.digest)
        (body,) = await self.cloakroom.fetch([name])
        here = self.cloakroom.place
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
        """Keep the bodies of these no longer. That it fails does no harm: they are found later, and discarded then."""
        names = [name_of(message, message.ticket.digest) for message in messages if message.ticket is not None]
        if not names:
            return
        try:
            await self.open()
            await self.cloakroom.discard(names)
        except TenureError as error:
            many = plural(len(names), "body", "bodies")
            logger.warning("could not discard %s at %s for now: %s", many, self.cloakroom.place, error)


def is_over(message: Message, limit: int) -> bool:
    """Whether a message is too large to be sent with its body."""
    return message.ticket is None and len(envelope.encode(message)) > limit


def _payload(message: Message) -> bytes:
    """As it is kept: white space around it would be lost in an envelope, too."""
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
    broker: Sender, check: ClaimCheck | None, batch: Sequence[Outgoing], new: Collection[str] = ()
) -> list[Sent]:
    """Send a batch, by claim check where there is one; `new` as for `ClaimCheck.send`."""
    return await (broker.send(batch) if check is None else check.send(broker, batch, new))


class Post:
    """A broker's `send` by claim check, for whoever knows only how to send."""

    def __init__(self, broker: Sender, check: ClaimCheck | None) -> None:
        """Without a claim check, the broker's own."""
        self._broker = broker
        self._check = check

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Store messages, idempotent by id."""
        return await send(self._broker, self._check, batch)
