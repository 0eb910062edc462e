"""The announcer: killed between any two steps, it makes one delivery of each ending, in order."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.webhooks.world import OK, QUEUE, SETTINGS, WENT_WRONG, World, ids_of

from tenure.announcement import READ_LIMIT, Announcement
from tenure.broker import Refused, Sent
from tenure.errors import BrokerUnavailable
from tenure.key_value import KeyValue
from tenure.message import MessageState, Outgoing
from tenure.record import Record
from tenure.settlement import DeadLetter
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.honest_state import HonestKeyValues, HonestRecords, HonestState
from tenure.testing.virtual import run_virtual
from tenure.verdict import Reason
from tenure.webhooks.announcer import LOOK_SECONDS, Announcer
from tenure.webhooks.assembly import Webhooks
from tenure.webhooks.target_kind import NOTHING, Made
from tenure.webhooks.transport import Answer
from tenure.webhooks.window import MOST

T = TypeVar("T")


class Killed(BaseException):
    """The process is gone."""


class Death:
    """Kills at a given step: before it takes effect, or after."""

    def __init__(self, step: int, *, late: bool, error: type[BaseException] = Killed) -> None:
        self.step = step
        self.late = late
        self.error = error
        self.taken = 0

    def before(self) -> None:
        self.taken += 1
        if self.taken == self.step and not self.late:
            raise self.error("before")

    def after(self) -> None:
        if self.taken == self.step and self.late:
            raise self.error("after")


class MortalBroker(HonestBroker):
    """Each verb of the announcer is a step."""

    death: Death

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        return await self._step(self.inner.announcements(after, limit))

    async def announced(self, batch: Sequence[Announcement]) -> None:
        await self._step(self.inner.announced(batch))

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        return await self._step(self.inner.send(batch))

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        await self._step(self.inner.put_aside(batch))

    async def _step(self, act: Coroutine[Any, Any, T]) -> T:
        try:
            self.death.before()
        except BaseException:
            act.close()
            raise
        answer = await act
        self.death.after()
        return answer


class MortalKeyValues(HonestKeyValues):
    """A write is a step."""

    death: Death

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        self.death.before()
        value = await self.inner.put(kind, name, data, expect=expect, expires_at=expires_at)
        self.death.after()
        return value


def mortal(world: World, death: Death) -> Announcer:
    """An announcer of a process that dies."""
    broker = MortalBroker(world.broker, world.clock)
    values = MortalKeyValues(world.state, world.clock)
    broker.death = values.death = death
    hooks = Webhooks(broker, HonestState(world.state, values), world.clock, world.settings)
    return hooks.announcer(broker.send)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, 12))
async def test_killed_at_any_step_each_ending_is_delivered_once(world: World, step: int, late: bool) -> None:
    await world.add("first")
    await world.add("second")
    await world.hooks.endpoints.disable("second", "maintenance")
    world.hooks.reader.forget()
    made = await world.end_many(3, "webhook:first")
    both = await world.end("webhook:first", "webhook:second")
    await world.end("webhook:missing")
    death = Death(step, late=late)
    try:
        await world.announce(mortal(world, death))
    except Killed:
        await world.deliver()
        await world.deliver()
    assert death.taken >= min(step, 6)
    await world.run(5)
    await world.hooks.endpoints.enable("second")
    await world.run(70)
    urls = ["https://first.example.com/hook", "https://second.example.com/hook"]
    assert sorted(world.transport.tasks(urls[0])) == sorted([*ids_of(made), both.id])
    assert world.transport.tasks(urls[1]) == [both.id]
    assert set(world.transport.ids().values()) == {1}
    assert [code for code, _ in await world.dead_deliveries()] == ["webhook_endpoint_missing"]
    assert await world.pending() == 0


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, 7))
async def test_while_the_store_is_away_nothing_is_lost_or_doubled(world: World, step: int, late: bool) -> None:
    await world.add()
    made = await world.end_many(5)
    announcer = mortal(world, Death(step, late=late, error=BrokerUnavailable))
    try:
        await world.announce(announcer)
    except BrokerUnavailable:
        await world.announce(announcer)  # the same process goes on
    await world.run(5)
    assert sorted(world.transport.tasks()) == sorted(ids_of(made))
    assert set(world.transport.ids().values()) == {1}
    assert await world.pending() == 0


async def test_the_endings_of_one_message_go_out_in_order_of_their_generations(world: World) -> None:
    url = await world.add()
    await world.hooks.endpoints.disable("orders", "maintenance")
    message = await world.end(ending=MessageState.DEAD)
    await world.announce()
    for _ in range(2):
        await world.broker.redrive([message.id])
        lease = await world.lease_one(world.worker)
        await world.broker.dead_letter([DeadLetter(lease, WENT_WRONG)])
        await world.announce()
    await world.hooks.endpoints.enable("orders")
    for _ in range(20):
        await world.announce()
        await world.deliver(want=1)
        await asyncio.sleep(1)
    assert [body["generation"] for to, _, body in world.transport.got if to == url] == [0, 1, 2]
    assert len(world.transport.ids()) == 3


async def test_at_most_100_deliveries_of_one_endpoint_exist(world: World) -> None:
    await world.add()
    await world.end_many(350)
    for _ in range(5):
        await world.announce()
        assert await world.waiting() == MOST
        await asyncio.sleep(1)
    await world.announce(world.new_announcer())  # another process knows them too
    assert await world.waiting() == MOST
    while await world.deliver():
        await world.announce()
        assert await world.waiting() <= MOST
        await asyncio.sleep(1)
    assert await world.pending() == 0
    assert len(world.transport.ids()) == 350


class VagueRecords(HonestRecords):
    """Knows a message only once it has ended, as some stores do."""

    async def get(self, id: str, queue: str | None = None) -> Record | None:
        record = await self.inner.get(id, queue)
        return record if record is not None and record.is_finished else None


async def test_a_delivery_that_no_record_knows_keeps_its_place(world: World) -> None:
    await world.add()
    await world.end_many(150)
    state = HonestState(world.state, VagueRecords(world.state, world.clock))
    announcer = Webhooks(world.broker, state, world.clock, world.settings).announcer(world.broker.send)
    for _ in range(5):
        await world.announce(announcer)
        assert await world.waiting() == MOST
        await asyncio.sleep(LOOK_SECONDS)
    while await world.deliver():
        await asyncio.sleep(30)
        await world.announce(announcer)
    assert len(world.transport.ids()) == 150


async def test_two_announcers_at_once_do_no_harm(world: World) -> None:
    await world.add()
    made = await world.end_many(150)
    one, other = world.new_announcer(), world.new_announcer()
    for _ in range(20):
        await asyncio.gather(one.run_once(), other.run_once())
        assert await world.waiting() <= MOST
        await world.deliver()
        await asyncio.sleep(LOOK_SECONDS / 4)
    assert sorted(world.transport.tasks()) == sorted(ids_of(made))
    assert set(world.transport.ids().values()) == {1}


async def test_while_an_endpoint_rests_one_delivery_at_a_time_goes_out(world: World) -> None:
    url = await world.add()
    world.transport.answers[url] = Answer(status=500)
    await world.end_many(10)
    await world.run(600)
    tried = world.transport.tried[url]
    await world.end_many(200)
    await world.run(600)
    assert await world.waiting() == 10
    assert await world.pending() == 200
    assert world.transport.tried[url] - tried < 10
    world.transport.answers[url] = OK
    await world.run(700)
    assert len(world.transport.ids()) == 210


async def test_a_target_that_is_not_known_waits_for_a_newer_tenure(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.add()
    await world.end("group:a", "webhook:orders")
    await world.run(200)
    assert await world.pending() == 1
    assert len(world.transport.got) == 1
    assert caplog.text.count("group:…") == 1


async def test_another_kind_of_target_is_one_more_object(world: World) -> None:
    class Group:
        def __init__(self) -> None:
            self.told: list[tuple[str, str]] = []

        async def begin(self, endings: Sequence[tuple[Announcement, str]]) -> None:
            self.shown = [(ending.id, target) for ending, target in endings]

        async def lane(self, ending: Announcement, target: str) -> str | None:
            return None

        async def room(self, lane: str) -> int:
            raise AssertionError

        async def make(self, ending: Announcement, target: str) -> Made:
            self.told.append((ending.id, target))
            return NOTHING

        async def reserve(self, lane: str, ids: Sequence[str]) -> None:
            raise AssertionError

        async def is_reserved(self, lane: str, id: str) -> bool:
            raise AssertionError

    group = Group()
    announcer = world.hooks.announcer(world.broker.send, {"group": group})
    message = await world.end("group:a 7")
    answer = await announcer.run_once()
    assert group.told == group.shown == [(message.id, "group:a 7")]
    assert (answer.done, answer.sent) == (1, 0)
    assert await world.pending() == 0


async def test_what_the_broker_refuses_after_all_becomes_a_dead_letter(world: World) -> None:
    await world.add()

    async def refuse(batch: Sequence[Outgoing]) -> list[Sent]:
        return [Sent(one.message.id, refusal=Reason("full", "no room")) for one in batch]

    await world.end()
    answer = await world.hooks.announcer(refuse).run_once()
    assert answer.aside == 1
    assert await world.dead_deliveries() == [("full", "no room")]


@pytest.fixture
def linking() -> World:
    """With an address of the server, and a broker that takes little."""
    return World(msgspec.structs.replace(SETTINGS, public_url="https://tenure.example.com"), body_limit=2_000)


async def test_a_result_that_the_broker_does_not_take_becomes_a_link(linking: World) -> None:
    await linking.add()
    message = await linking.end(result=b'"' + b"x" * 3_000 + b'"')
    await linking.run(5)
    ((_, _, body),) = linking.transport.got
    assert body["result"] is None
    assert body["result_size"] == 3_002
    assert body["result_url"] == f"https://tenure.example.com/api/v1/messages/{message.id}"


#: What happens to a world: endings, deliveries that run, receivers that fail, operators, time, and deaths.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("end"), st.sampled_from(["a", "b", "a b"]), st.integers(1, 130)),
        st.tuples(st.just("down"), st.sampled_from("ab"), st.booleans()),
        st.tuples(st.just("disable"), st.sampled_from("ab"), st.booleans()),
        st.tuples(st.just("run"), st.just(""), st.integers(1, 400)),
        st.tuples(st.just("deliver"), st.just(""), st.integers(1, 40)),
        st.tuples(st.just("die"), st.sampled_from(["before", "after"]), st.integers(1, 9)),
    ),
    max_size=14,
)


@given(STEPS)
@example([("end", "a", 100), ("die", "before", 3)])  # a window full of deliveries that were never sent
@settings(max_examples=60)
def test_whatever_happens_each_ending_arrives_once_at_each_target(steps: list[tuple[str, str, Any]]) -> None:
    world = World()
    run_virtual(_play(world, steps), world.clock)


async def _play(world: World, steps: list[tuple[str, str, Any]]) -> None:
    async with world:
        urls = {name: await world.add(name) for name in "ab"}
        expected: dict[str, list[str]] = {"a": [], "b": []}
        for kind, name, number in steps:
            if kind == "end":
                targets = name.split()
                made = ids_of(await world.end_many(number, *(f"webhook:{one}" for one in targets)))
                for one in targets:
                    expected[one] += made
            else:
                await _ACTS[kind](world, name, number)
            for lane in "ab":
                found = await world.browse(QUEUE) + await world.browse(QUEUE, MessageState.DELAYED)
                own = [one for one in found if f'"endpoint":"{lane}"'.encode() in one.envelope]
                assert len(own) <= MOST
        for name, url in urls.items():
            world.transport.answers[url] = OK
            await world.hooks.endpoints.enable(name)
        for _ in range(60):
            await world.run(60, step=5)
            if not await world.pending() and not await world.waiting():
                break
        for name, url in urls.items():
            assert sorted(world.transport.tasks(url)) == sorted(expected[name])
        assert set(world.transport.ids().values()) <= {1}
        assert await world.dead_deliveries() == []


async def _down(world: World, name: str, number: int) -> None:
    world.transport.answers[f"https://{name}.example.com/hook"] = Answer(status=500) if number else OK


async def _disable(world: World, name: str, number: int) -> None:
    endpoints = world.hooks.endpoints
    await (endpoints.disable(name, "test") if number else endpoints.enable(name))


async def _run(world: World, _name: str, number: int) -> None:
    await world.run(number)


async def _deliver(world: World, _name: str, number: int) -> None:
    await world.deliver(number)


async def _die(world: World, when: str, number: int) -> None:
    try:
        await mortal(world, Death(number, late=when == "after")).run_once()
    except Killed:
        world.announcer = world.new_announcer()


_ACTS = {"down": _down, "disable": _disable, "run": _run, "deliver": _deliver, "die": _die}


async def test_it_looks_soon_for_room_and_ever_later_while_nothing_is_delivered(world: World) -> None:
    await world.add()
    await world.end_many(2 * MOST)
    assert (await world.announce()).again_seconds < 0.05
    pauses = [(await world.announcer.run_once()).again_seconds for _ in range(10)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 1.0, "nothing is delivered: it need not look all the time"


async def test_a_fast_receiver_is_kept_busy(world: World) -> None:
    url = await world.add()
    await world.end_many(10 * MOST)
    began = world.clock.now
    call_at = began
    while len(world.transport.tasks(url)) < 10 * MOST:
        if world.clock.now >= call_at:
            call_at = world.clock.now + (await world.announcer.run_once()).again_seconds
        await world.deliver(16)
        await asyncio.sleep(0.01)
    assert world.clock.now - began < 0.8, "1,600 a second take 0.63 s"


async def test_many_deliveries_are_looked_up_a_few_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = most = 0
    get = type(world.state.records).get

    async def counted(*args: Any) -> Record | None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.001)
        at_once -= 1
        return await get(*args)

    await world.add()
    await world.end_many(2 * MOST)
    await world.announce()
    monkeypatch.setattr(type(world.state.records), "get", counted)
    await asyncio.sleep(60)
    await world.announcer.run_once()
    assert 0 < most <= 8, "more would open connections that no pool keeps"


async def test_what_others_get_makes_no_one_look_at_a_disabled_endpoint_all_the_time(world: World) -> None:
    await world.add("other")
    await world.add()
    await world.hooks.endpoints.disable("orders", "maintenance")
    await world.end_many(10)
    answer = await world.announce()
    for _ in range(10):
        await world.end("webhook:other")
        answer = await world.announcer.run_once()
        assert answer.sent == 1
    assert answer.again_seconds == 1.0
