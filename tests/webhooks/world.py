"""A world in virtual time: a memory store, receivers that answer as they are told, and a worker for deliveries."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec
from tests.client.conftest import MemoryHarness

from tenure.config import Settings
from tenure.envelope import decode
from tenure.event import Event, EventKind
from tenure.lease import Lease
from tenure.message import Message, MessageState
from tenure.rules.reserved_queue import RESERVED_QUEUE as QUEUE
from tenure.runtime.verdicts import judge_error
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack
from tenure.tasks.context import Context, ContextLink
from tenure.verdict import Dead, Reason, Retried, Snoozed
from tenure.webhooks.address import AddressRules
from tenure.webhooks.announcer import Announced, Announcer
from tenure.webhooks.assembly import Webhooks
from tenure.webhooks.deliver import Deliverer, delivery_task
from tenure.webhooks.transport import Answer, Transport

OK = Answer(status=200, seconds=0.01)
WENT_WRONG = Reason("max_attempts", "gave up after 3 of 3 attempts")
SETTINGS = Settings(secret_key="k" * 32)


class FakeTransport(Transport):
    """Answers by URL, and keeps what was posted."""

    def __init__(self) -> None:
        super().__init__(AddressRules())
        self.answers: dict[str, Callable[[], Answer] | Answer] = {}
        #: What arrived, in order: the URL, the webhook-id and the body.
        self.got: list[tuple[str, str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.tried: Counter[str] = Counter()
        self.takes: dict[str, float] = defaultdict(float)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        self.tried[url] += 1
        await asyncio.sleep(self.takes[url])
        answer = self.answers.get(url, OK)
        answer = answer if isinstance(answer, Answer) else answer()
        if answer.is_ok:
            self.got.append((url, headers["webhook-id"], msgspec.json.decode(body)))
            self.headers.append(headers)
        return answer

    def ids(self, url: str | None = None) -> Counter[str]:
        """How often each webhook-id arrived."""
        return Counter(id for to, id, _ in self.got if url in (None, to))

    def tasks(self, url: str | None = None) -> list[str]:
        """The ids of the work, in the order in which they arrived."""
        return [body["task_id"] for to, _, body in self.got if url in (None, to)]


class _Link:
    """What a delivery asks of its worker: to keep its checkpoint."""

    def __init__(self, kept: dict[str, bytes], id: str) -> None:
        self._kept, self._id = kept, id

    async def checkpoint(self, data: bytes) -> None:
        self._kept[self._id] = data

    async def load_checkpoint(self) -> bytes | None:
        return self._kept.get(self._id)


class World(MemoryHarness):
    """A store with webhooks."""

    def __init__(self, settings: Settings = SETTINGS, **changes: Any) -> None:
        super().__init__(**changes)
        self.settings = settings
        self.transport = FakeTransport()
        self.events: list[Event] = []
        self._checkpoints: dict[str, bytes] = {}

    async def _open(self) -> None:
        await super()._open()
        self.hooks = Webhooks(self.broker, self.state, self.clock, self.settings)
        self.deliverer: Deliverer = self.hooks.deliverer(publish=self.events.append, transport=self.transport)
        self.task = delivery_task(self.deliverer, None)
        self.announcer = self.new_announcer()
        self.worker = await self.owner()

    def disabled(self) -> list[Event]:
        """What was published of endpoints that were disabled; the other events are of single deliveries."""
        return [event for event in self.events if event.kind is EventKind.WEBHOOK_DISABLED]

    def new_announcer(self) -> Announcer:
        """That of another process."""
        hooks = Webhooks(self.broker, self.state, self.clock, self.settings)
        return hooks.announcer(self.broker.send)

    async def add(self, name: str = "orders", url: str | None = None, **options: Any) -> str:
        """Register an endpoint; its URL."""
        where = url or f"https://{name}.example.com/hook"
        await self.hooks.endpoints.add(name, where, **options)
        self.hooks.reader.forget()
        return where

    async def end(
        self, *targets: str, ending: MessageState = MessageState.COMPLETED, id: str | None = None, **fields: Any
    ) -> Message:
        """Send a message that asks for these, and let it end."""
        own: dict[str, Any] = {} if id is None else {"id": id}
        result = fields.pop("result", b"null")
        message = await self.put(announce=targets or ("webhook:orders",), queue="mail", **own, **fields)
        if ending is MessageState.CANCELLED:
            await self.broker.cancel([message.id])
            return message
        lease = await self.lease_one(self.worker)
        if ending is MessageState.DEAD:
            await self.broker.dead_letter([DeadLetter(lease, WENT_WRONG)])
        else:
            await self.complete(lease, result)
        return message

    async def end_many(self, count: int, *targets: str) -> list[Message]:
        """Many of them."""
        made = await self.put_many(count, announce=targets or ("webhook:orders",), queue="mail")
        left = count
        while left:
            leases = await self.lease(self.worker, 1_000)
            await self.broker.ack([Ack(lease, b"1") for lease in leases])
            left -= len(leases)
        return made

    async def announce(self, announcer: Announcer | None = None) -> Announced:
        """Announce until nothing more can be done now."""
        one = announcer or self.announcer
        while (answer := await one.run_once()).again_seconds == 0:
            pass
        return answer

    async def deliver(self, want: int = 50) -> int:
        """Run the deliveries that are due, as a worker does; how many."""
        leases = await self.lease(self.worker, want, queues=(QUEUE,))
        await asyncio.gather(*map(self._run, leases))
        return len(leases)

    async def run(self, seconds: float, step: float = 1.0) -> None:
        """Let announcer and worker work for so long."""
        until = self.clock.now + seconds
        while self.clock.now < until:
            await self.announce()
            if not await self.deliver():
                await asyncio.sleep(step)

    async def waiting(self) -> int:
        """Deliveries in the reserved queue that have not ended."""
        depth = await self.depth(QUEUE)
        return (depth.ready or 0) + (depth.delayed or 0) + (depth.leased or 0)

    async def pending(self) -> int:
        """Announcements."""
        place, count = "", 0
        while page := await self.broker.announcements(place):
            place, count = page[-1].place, count + len(page)
        return count

    async def dead_deliveries(self) -> list[tuple[str, str]]:
        """Code and text of each dead delivery."""
        found = await self.browse(QUEUE, MessageState.DEAD)
        records = [await self.record(one.id) for one in found]
        return [(one.reason.code, one.reason.text) for one in records if one.reason is not None]

    async def _run(self, lease: Lease) -> None:
        message = decode(lease.envelope)
        attempt = lease.counters.attempts + 1
        context: Context[Any] = Context(
            message, attempt, lease.fence, cast("ContextLink", _Link(self._checkpoints, lease.id)), None
        )
        positional, keywords = self.task.signature.arguments(message.body)
        try:
            result = await self.task.function(context, *positional, **keywords)
        except Exception as error:  # noqa: BLE001 - as the worker does
            verdict = judge_error(error, self.task.policy, message, attempt, lambda: 0.5)
            match verdict:
                case Retried():
                    await self.broker.nack([Nack(lease, verdict.after_seconds, verdict.reason)])
                case Snoozed():
                    await self.broker.give_back([GiveBack(lease, max(1.0, verdict.after_seconds), verdict.reason)])
                case Dead():
                    await self.broker.dead_letter([DeadLetter(lease, verdict.reason)])
        else:
            await self.broker.ack([Ack(lease, msgspec.json.encode(result))])


def ids_of(messages: Sequence[Message]) -> list[str]:
    """Their ids."""
    return [message.id for message in messages]


__all__ = ["OK", "QUEUE", "FakeTransport", "World", "ids_of"]
