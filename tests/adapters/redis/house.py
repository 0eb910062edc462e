"""A furnished house: a store in which every key of the layout is in use, and every act that there is upon it.

Used by the tests that spoil one thing in it, or repeat one act, and then look at what became of the rest.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tests.adapters.redis.showing import shown_in
from tests.conformance.redis_harness import RedisHarness

from tenure.act import Act as Recorded
from tenure.announcement import RESULT_LIMIT
from tenure.broker import Refused
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, Token, digest
from tenure.envelope import decode
from tenure.event import Event, EventKind
from tenure.lease import Lease
from tenure.message import Message, MessageState, Outgoing, Overrides
from tenure.notice import Pause, Post, PostKind, Tick
from tenure.owner import Owner
from tenure.record import Progress
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack
from tenure.tally import Tally
from tenure.testing.harness import BROKEN, QUEUE

OTHER = "letters"
TARGETS = ("webhook:orders",)

#: What a key holds, as a value that can be compared, whether it goes away by itself, and how it is put back.
Snapshot = dict[bytes, tuple[object, bool, bytes]]


class House:
    """A harness, and the names of what stands in it."""

    def __init__(self, harness: RedisHarness) -> None:
        """Not furnished yet."""
        self.harness = harness
        self.broker: Any = harness.broker
        self.state: Any = harness.state
        self.raw: Any = harness._raw
        self.names = harness._store.names
        #: The prefix of the queue's keys, and of what belongs to no queue.
        self.queue = self.names.queue(QUEUE)
        self.common = self.names.common
        self.message: dict[str, Message] = {}
        self.lease: dict[str, Lease] = {}
        self.token: dict[str, Token] = {}
        self.owner: dict[str, Owner] = {}

    async def furnish(self) -> None:
        """One message of each kind in each state."""
        harness = self.harness
        self.owner["present"] = await harness.owner("present")
        self.owner["other"] = await harness.owner("other")
        gone = await harness.owner("gone")
        await self.broker.retire(gone.id, crashed=True)
        await harness.sweep()
        await self._leave_behind()
        await self._hold()
        await self._let_wait()
        await self.state.board.pause(Pause(QUEUE, 1.0, "ann"))
        await self.state.board.post(Post(kind=PostKind.PAUSED_SCHEDULE, name="nightly", at=1.0, by="ann"))
        await self.state.key_values.put("token", "known", b"{}", expect=None, expires_at=self.state.wall() + 9e6)
        await self.state.board.tick(Tick(schedule="nightly", at=1.0, spec="daily"))
        await self.state.journal.append(_events(harness, "one", "two"))
        await self.state.journal.tally([Tally(10, 20, "a", 1, b"x")])
        await self.state.acts.record([Recorded("paused", 1.0, "ann")])
        await harness.sweep()

    async def _put(self, name: str, *, delay_seconds: float = 0.0, **fields: Any) -> Message:
        self.message[name] = await self.harness.put(delay_seconds=delay_seconds, body={"n": name}, **fields)
        return self.message[name]

    async def _leased(self, name: str, owner: Owner | str, seconds: float = 100.0, **fields: Any) -> Lease:
        message = await self._put(name, **fields)
        lease = await self.harness.lease_one(owner, queues=(message.queue,), seconds=seconds)
        assert lease.id == message.id
        self.lease[name] = lease
        return lease

    async def _leave_behind(self) -> None:
        """Completed, cancelled and dead."""
        owner = self.owner["present"]
        await self.broker.ack([Ack(await self._leased("completed", owner, key="done"), b"1")])
        await self._put("cancelled")
        await self.broker.cancel([self.message["cancelled"].id])
        lease = await self._leased("announced", owner, announce=TARGETS)
        await self.broker.ack([Ack(lease, b"9" * (RESULT_LIMIT + 1))])
        for name in ("dead", "dead keyed", "dead announced"):
            key, announce = name if "keyed" in name else None, TARGETS if "announced" in name else ()
            lease = await self._leased(name, owner, key=key, announce=announce)
            await self.broker.dead_letter([DeadLetter(lease, BROKEN)])

    async def _hold(self) -> None:
        owner = self.owner["present"]
        lease = await self._leased("held before", owner)
        await self.broker.nack([Nack(lease, 0.0, BROKEN)])
        self.lease["held before"] = await self.harness.lease_one(owner, seconds=100.0)
        await self._leased("held", owner)
        await self._leased("held unique", owner, unique="once")
        await self._leased("held limited", owner, overrides=Overrides(lease_seconds=90.0, max_attempts=9))
        await self._leased("held high", owner, priority=9)
        await self._leased("held asking", owner, announce=TARGETS)
        await self._claim("held keyed", await self._leased("held keyed", owner, key="key", announce=TARGETS))
        await self._leased("held elsewhere", owner, queue=OTHER)
        await self._leased("held by another", self.owner["other"])
        await self.broker.touch([self.lease["held"], self.lease["held before"]])
        await self._leased("lapsing", "client/1", seconds=1.0)
        await self._leased(
            "lapsing for good", "client/1", seconds=1.0, overrides=Overrides(max_attempts=1), announce=TARGETS
        )

    async def _claim(self, name: str, lease: Lease) -> None:
        (answer,) = await self.state.ledger.claim([self.claim_of(lease)])
        assert isinstance(answer, Fresh)
        self.token[name] = answer.token

    def claim_of(self, lease: Lease) -> ClaimRequest:
        """What its holder asks the ledger for."""
        message = decode(lease.envelope)
        return ClaimRequest(Scope.of(message), message.id, lease.owner, 100.0, digest(message))

    async def _let_wait(self) -> None:
        lease = await self._leased("given back", self.owner["present"])
        await self._put("delayed", delay_seconds=60.0)
        await self._put("delayed high", delay_seconds=4.0, priority=8)
        await self._put("delayed for a moment", delay_seconds=4.0)
        await self._put("delayed unique", delay_seconds=60.0, unique="later")
        await self._put("ready")
        await self._put("ready high", priority=9)
        await self._put("ready low", priority=1)
        await self._put("ready asking", announce=TARGETS)
        await self._put("ready keyed", key="waits")
        await self._put("ready unique", unique="waits")
        await self._put("ready elsewhere", queue=OTHER)
        await self.broker.give_back([GiveBack(lease, 0.0, BROKEN)])

    # --- what stands there ------------------------------------------------------------------------------

    def keys(self) -> list[bytes]:
        """Every key."""
        return sorted(self.raw.scan_iter(f"{self.harness._prefix}:*", count=1000))

    def snapshot(self) -> Snapshot:
        """What every key holds."""
        keys = self.keys()
        kinds = self._ask([("TYPE", key) for key in keys])
        values = self._ask([_READ[kind.decode()](key) for key, kind in zip(keys, kinds, strict=True)])
        dumps, ends = self._ask([("DUMP", key) for key in keys]), self._ask([("TTL", key) for key in keys])
        groups = {key: self.raw.xinfo_groups(key) for key, kind in zip(keys, kinds, strict=True) if kind == b"stream"}
        for number, key in enumerate(keys):
            if key in groups:
                # When its reader was last there, and other things that only tell, do not count.
                values[number] = values[number], [group["last-delivered-id"] for group in groups[key]]
        return {key: (value, end > 0, dump) for key, value, end, dump in zip(keys, values, ends, dumps, strict=True)}

    def restore(self, snapshot: Snapshot) -> None:
        """As it was."""
        self._ask([("DEL", key) for key in self.keys()])
        self._ask([("RESTORE", key, 1_000_000 if ends else 0, dumped) for key, (_, ends, dumped) in snapshot.items()])

    def _ask(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        with self.raw.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            answers: list[Any] = pipeline.execute()
        return answers


_READ: dict[str, Callable[[bytes], tuple[Any, ...]]] = {
    "stream": lambda key: ("XRANGE", key, "-", "+"),
    "hash": lambda key: ("HGETALL", key),
    "zset": lambda key: ("ZRANGE", key, 0, -1, "WITHSCORES"),
    "set": lambda key: ("SMEMBERS", key),
    "list": lambda key: ("LRANGE", key, 0, -1),
    "string": lambda key: ("GET", key),
}


def _events(harness: RedisHarness, *ids: str) -> list[Event]:
    return [Event(EventKind.COMPLETED, harness.clock.wall(), QUEUE, message_id=id) for id in ids]


Act = Callable[[House], Awaitable[Any]]


async def _send(house: House) -> Any:
    harness, message = house.harness, house.message
    new = [
        harness.message(id="new-1"), harness.message(id="new-2", priority=7), message["ready"], message["completed"],
    ]  # fmt: skip
    return await house.broker.send([Outgoing(one) for one in new])


async def _send_special(house: House) -> Any:
    harness = house.harness
    batch = [
        Outgoing(harness.message(id="new-1")), Outgoing(harness.message(id="new-2"), delay_seconds=60.0),
        Outgoing(harness.message(id="new-3", key="a")), Outgoing(harness.message(id="new-4", unique="b")),
        Outgoing(harness.message(id="new-5", key="waits", body={"n": "ready keyed"})),
        Outgoing(harness.message(id="new-6", unique="waits")), Outgoing(harness.message(id="new-7", key="waits")),
        Outgoing(harness.message(id="new-8", priority=3, overrides=Overrides(max_attempts=1))),
        Outgoing(harness.message(id="new-9", announce=TARGETS)),
    ]  # fmt: skip
    return await house.broker.send(batch)


async def _lease(house: House, want: int, *queues: str) -> Any:
    # Whose turn it is does not depend on what was lent before.
    house.broker._lending = type(house.broker._lending)(house.broker._store, house.broker.traits)
    owner = house.owner["present"]
    leases = await house.broker.lease(
        house.harness.request(owner, want, queues=queues, request_id="asked", seconds=60.0)
    )
    return [(lease.queue, lease.id, lease.envelope, lease.counters, lease.seconds) for lease in leases]


def _holds(house: House) -> list[Lease]:
    return [one for name, one in house.lease.items() if name.startswith("held") and one.queue == QUEUE]


def _handoffs(house: House) -> tuple[Outgoing, ...]:
    harness = house.harness
    return (
        Outgoing(harness.message(id="next-1")),
        Outgoing(harness.message(id="next-2", priority=2, key="next"), delay_seconds=5.0),
        Outgoing(harness.message(id="next-3", queue=OTHER)),
    )


async def _ack_and_hand_off(house: House) -> Any:
    batch = [Ack(lease, b"7", _handoffs(house) if number == 0 else ()) for number, lease in enumerate(_holds(house))]
    return await house.broker.ack(batch)


async def _put_aside(house: House) -> None:
    refused = [house.harness.message(id="new-1"), house.harness.message(id="new-2", announce=TARGETS)]
    await house.broker.put_aside([Refused(one, BROKEN) for one in refused])


async def _announced(house: House) -> None:
    await house.broker.announced(await house.broker.announcements())


async def _put_document(house: House) -> bool:
    expires_at = house.state.wall() + 60.0
    return await house.state.key_values.put("token", "new", b"{}", expect=None, expires_at=expires_at) is not None


async def _sweep(house: House) -> Any:
    return await house.harness.sweep()


#: Each writes for a whole batch.
WRITES: dict[str, Act] = {
    "send": _send,
    "send special": _send_special,
    "put aside": _put_aside,
    "announced": _announced,
    "lease one": lambda house: _lease(house, 1, QUEUE),
    "lease all": lambda house: _lease(house, 100, QUEUE),
    "lease from two": lambda house: _lease(house, 100, QUEUE, OTHER),
    "touch": lambda house: house.broker.touch(_holds(house)),
    "ack": lambda house: house.broker.ack([Ack(lease, b"7") for lease in _holds(house)]),
    "ack and hand off": _ack_and_hand_off,
    "nack": lambda house: house.broker.nack([Nack(lease, 1.0 * n, BROKEN) for n, lease in enumerate(_holds(house))]),
    "give back": lambda house: house.broker.give_back([GiveBack(lease, 0.0, BROKEN) for lease in _holds(house)]),
    "dead letter": lambda house: house.broker.dead_letter([DeadLetter(lease, BROKEN) for lease in _holds(house)]),
    "sweep": _sweep,
    "retire": lambda house: house.broker.retire(house.owner["present"].id, crashed=True),
    "redrive": lambda house: house.broker.redrive([one.id for one in house.message.values()]),
    "cancel": lambda house: house.broker.cancel([one.id for one in house.message.values()]),
    "delete": lambda house: house.broker.delete([one.id for one in house.message.values()]),
    "claim": lambda house: house.state.ledger.claim(
        [
            house.claim_of(one)
            for name, one in house.lease.items()
            if name not in ("completed", "announced") and one.queue == QUEUE
        ]
    ),
    "renew": lambda house: house.state.ledger.renew(list(house.token.values())),
    "release": lambda house: house.state.ledger.release(list(house.token.values())),
    "seal": lambda house: house.state.ledger.seal(
        [Seal(token, b"2", _handoffs(house)) for token in house.token.values()]
    ),
    "forget": lambda house: house.state.ledger.forget([Scope.of(one) for one in house.message.values() if one.key]),
    "progress": lambda house: house.state.records.progress([(one, Progress(1.0)) for one in _holds(house)]),
    "checkpoint": lambda house: house.state.records.checkpoint(house.lease["held"], b"here"),
    "join": lambda house: house.state.roster.join(Owner("new", "1", started_at=1.0)),
    "beat": lambda house: house.state.roster.beat(house.owner["present"]),
    "leave": lambda house: house.state.roster.leave(house.owner["present"]),
    "tally": lambda house: house.state.journal.tally([Tally(10, 20, "a", 1, b"new")]),
    "record": lambda house: house.state.acts.record([Recorded("resumed", 2.0, "bob")]),
    "append": lambda house: house.state.journal.append(_events(house.harness, "three")),
    "pause": lambda house: house.state.board.pause(Pause(OTHER, 2.0)),
    "resume": lambda house: house.state.board.resume(QUEUE),
    "post": lambda house: house.state.board.post(Post(kind=PostKind.STACK, name="held", at=2.0, until=9e11)),
    "withdraw": lambda house: house.state.board.withdraw(PostKind.PAUSED_SCHEDULE, "nightly"),
    "put": _put_document,
    "remove": lambda house: house.state.key_values.remove("token", "known"),
    "tick": lambda house: house.state.board.tick(Tick(schedule="nightly", at=2.0)),
    "forget schedule": lambda house: house.state.board.forget("nightly"),
}


async def _look(house: House) -> Any:
    return [await shown_in(house.broker, QUEUE, state) for state in MessageState]


async def _leases(house: House) -> Any:
    """Without what depends on when it was asked."""
    return [
        (one.queue, one.id, one.owner, one.fence, one.attempt, one.seconds, one.beats)
        for one in (await house.broker.leases()).leases
    ]


async def _records(house: House) -> Any:
    return [await house.state.records.get(one.id) for one in house.message.values()]


#: Each only looks.
READS: dict[str, Act] = {
    "browse": _look,
    "leases": _leases,
    "find": lambda house: house.broker.find(
        house.message["held"].id, house.owner["present"].id, house.lease["held"].fence, QUEUE
    ),
    "depth": lambda house: house.broker.depth(),
    "announcements": lambda house: house.broker.announcements(),
    "held": lambda house: house.broker.held(house.owner["present"].id),
    "records": _records,
    "checkpoint": lambda house: house.state.records.load_checkpoint(house.message["held"].id),
    "members": lambda house: house.state.roster.members(),
    "journal": lambda house: house.state.journal.read(),
    "about": lambda house: house.state.journal.about("one"),
    "last": lambda house: house.state.journal.last(),
    "first": lambda house: house.state.journal.first(),
    "tallies": lambda house: house.state.journal.tallies(10, 0.0, 1e12),
    "acts": lambda house: house.state.acts.read(),
    "board": lambda house: house.state.board.read(),
    "get": lambda house: house.state.key_values.get("token", "known"),
    "list": lambda house: house.state.key_values.list("token"),
    "ticks": lambda house: house.state.board.ticks(),
}
