"""The client: many calls at once, and apps that share a place."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tenure import BadArgument, BrokerUnavailable, KeyConflict, MessageNotFound, MessageState, PartlySent, Tenure
from tenure.broker import Broker, Sent
from tenure.errors import BadSetting, BadTask, BodyTooLarge
from tenure.message import Outgoing
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.virtual import VirtualClock
from tenure.testing.wire import Wire


def make_app(url: str = "memory://", *, namespace: str | None = None, clock: VirtualClock | None = None) -> Tenure:
    app = Tenure(url, namespace=namespace, clock=clock or VirtualClock())

    @app.task
    async def deliver(to: str) -> str:
        return f"{namespace}:{to}"

    return app


# --- the store's time -----------------------------------------------------------------------------------


async def test_the_stores_time_is_asked_again_after_a_minute_and_only_for_messages_with_a_time() -> None:
    clock = VirtualClock()
    app = make_app(clock=clock)
    wire = Wire(app.broker, app.state)
    deliver = app.tasks["deliver"]
    with app._elsewhere(wire.broker, wire.state, clock):
        await app.submit(deliver.bind("a"), expires=60)
        clock.now += 61
        await app.submit(deliver.bind("b"), priority=9)
        assert wire.said.count("board.read") == 0
        await app.submit(deliver.bind("c"), expires=60)
        await app.submit(deliver.bind("d").having(expires=60))
        assert wire.said.count("board.read") == 1
        clock.now += 61
        await app.submit_many([deliver.bind("e"), deliver.bind("f").having(expires=60)])
        assert wire.said.count("board.read") == 2


async def test_a_message_is_sent_though_the_stores_time_cannot_be_asked() -> None:
    clock = VirtualClock()
    app = make_app(clock=clock)
    wire = Wire(app.broker, app.state)
    with app._elsewhere(wire.broker, wire.state, clock):
        await app.submit(app.tasks["deliver"].bind("a"))
        wire.away("board.*")
        clock.now += 61
        await app.submit(app.tasks["deliver"].bind("b"), expires=60)
    assert (await app.broker.depth())[0].ready == 2


# --- many -----------------------------------------------------------------------------------------------


async def test_calls_that_are_refused_do_not_hold_up_the_others() -> None:
    app = make_app()
    deliver = app.tasks["deliver"]
    async with app:
        await app.submit(deliver.bind("ada"), key="k")
        calls = [
            deliver.bind("a"),
            deliver.bind("x" * 2_000_000),
            deliver.bind("b").having(key="k"),
            deliver.bind("c").having(priority=11),
            deliver.bind("d"),
        ]
        with pytest.raises(PartlySent) as caught:
            await app.submit_many(calls)
        error = caught.value
        assert {place: type(refusal) for place, refusal in error.refusals.items()} == {
            1: BodyTooLarge,
            2: KeyConflict,
            3: BadArgument,
        }
        assert [handle is None for handle in error.handles] == [False, True, True, True, False]
        assert "3 of 5 messages were not sent, 2 were; the first that was not is number 1" in str(error)
        assert [(await handle.status()).state for handle in error.handles if handle] == [MessageState.READY] * 2


class SecondBatchFails(HonestBroker):
    """Away from the second batch on."""

    sends = 0

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        self.sends += 1
        if self.sends > 1:
            msg = "away"
            raise BrokerUnavailable(msg, outcome_unknown=True)
        return await super().send(batch)


async def test_a_broker_that_goes_away_in_the_middle_leaves_an_account_of_what_was_sent() -> None:
    app = make_app()
    clock = VirtualClock()
    broker: Broker = SecondBatchFails(app.broker, clock)
    limit = broker.traits.batch_limit
    with app._elsewhere(broker, app.state, clock):
        calls = [app.tasks["deliver"].bind(str(number)) for number in range(limit + 2)]
        with pytest.raises(PartlySent) as caught:
            await app.submit_many(calls)
    assert set(caught.value.refusals) == {limit, limit + 1}
    assert isinstance(caught.value.refusals[limit], BrokerUnavailable)
    assert sum(handle is not None for handle in caught.value.handles) == limit


async def test_a_mistake_in_what_holds_for_all_of_them_sends_nothing() -> None:
    app = make_app()
    async with app:
        with pytest.raises(BadArgument):
            await app.submit_many([app.tasks["deliver"].bind("a")], delay=-1)
        assert await app.broker.depth() == []


async def test_many_of_nothing_is_nothing() -> None:
    assert await make_app().submit_many([]) == []


async def test_each_call_of_many_may_have_its_own_key() -> None:
    app = make_app()
    deliver = app.tasks["deliver"]
    async with app:
        calls = [deliver.bind(to).having(key=to) for to in ("a", "b", "a")]
        handles = await app.submit_many(calls)
        assert [handle.duplicate for handle in handles] == [False, False, True]
        assert handles[2].id == handles[0].id


# --- namespaces -----------------------------------------------------------------------------------------


async def test_apps_with_different_namespaces_share_a_place_and_nothing_else(virtual_clock: VirtualClock) -> None:
    blue = make_app("memory://shared-place", namespace="blue", clock=virtual_clock)
    red = make_app("memory://shared-place", namespace="red", clock=virtual_clock)
    async with blue, red:
        mine = await blue.submit("deliver", {"to": "ada"}, id="7", key="k")
        theirs = await red.submit("deliver", {"to": "bob"}, id="7", key="k")
        assert not theirs.duplicate
        assert (mine.id, theirs.id) == ("blue/7", "red/7")
        async with red.worker():
            assert await theirs.result(timeout=5) == "red:bob"
            await asyncio.sleep(10)
        assert (await mine.status()).state is MessageState.READY
        assert (await blue.handle("7").status()).id == "blue/7"
        with pytest.raises(MessageNotFound, match="belongs to namespace 'blue', this app to 'red'"):
            await red.handle("blue/7").status()
        with pytest.raises(MessageNotFound):
            await red.handle("blue/7").cancel()
        assert (await mine.status()).state is MessageState.READY


async def test_an_app_without_a_namespace_sees_every_queue() -> None:
    everything, blue = make_app(), make_app(namespace="blue")
    assert (everything.queue, blue.queue) == ("default-tasks", "blue/default-tasks")
    assert everything.sees("blue/default-tasks")
    assert blue.sees("blue/mail")
    assert not blue.sees("mail")
    assert not blue.sees("blueish/mail")


def test_a_namespace_comes_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_NAMESPACE", "blue")
    assert Tenure("memory://").queue == "blue/default-tasks"


@pytest.mark.parametrize("namespace", ["Blue", "a/b", "", "a b"])
def test_a_namespace_that_cannot_be_part_of_a_queues_name_is_refused(namespace: str) -> None:
    with pytest.raises(BadSetting, match="namespace"):
        Tenure("memory://", namespace=namespace)


@pytest.mark.parametrize("queue", ["", "a/b", " mail", "a\nb", "Bad Queue!"])
def test_a_queue_that_cannot_be_named_is_refused(queue: str) -> None:
    app = Tenure("memory://")
    with pytest.raises(BadTask, match="cannot name a queue"):

        @app.task(queue=queue)
        async def deliver(to: str) -> None: ...


async def test_somebody_elses_id_does_not_hide_ones_own(virtual_clock: VirtualClock) -> None:
    mine = make_app("memory://hidden-id", namespace="blue", clock=virtual_clock)
    other = make_app("memory://hidden-id", clock=virtual_clock)
    async with mine, other:
        await mine.submit("deliver", {"to": "ada"}, id="order-1")
        await other.submit("deliver", {"to": "bob"}, id="order-1")
        assert (await mine.handle("order-1").status()).id == "blue/order-1"
        assert await mine.handle("order-1").cancel() is True
        assert (await other.handle("order-1").status()).state is MessageState.READY


async def test_one_id_for_many_is_refused() -> None:
    app = make_app()
    deliver = app.tasks["deliver"]
    async with app:
        with pytest.raises(BadArgument, match="give all of them one id"):
            await app.submit_many([deliver.bind("a"), deliver.bind("b")], id="x")
        assert await app.broker.depth() == []


@pytest.mark.parametrize("calls", ["deliver", 5, [5], None])
async def test_what_is_no_list_of_calls_is_refused(calls: Any) -> None:
    with pytest.raises(BadArgument, match="takes a list of"):
        await make_app().submit_many(calls)


async def test_a_single_call_is_no_list_either() -> None:
    app = make_app()
    with pytest.raises(BadArgument, match="takes a list of"):
        await app.submit_many(app.tasks["deliver"].bind("a"))  # type: ignore[arg-type]


async def test_a_broker_that_is_away_from_the_start_says_so_itself() -> None:
    app = make_app()
    clock = VirtualClock()
    broker = SecondBatchFails(app.broker, clock)
    broker.sends = 1
    with app._elsewhere(broker, app.state, clock), pytest.raises(BrokerUnavailable):
        await app.submit_many([app.tasks["deliver"].bind("a")])


async def test_what_may_have_been_sent_is_told_apart() -> None:
    app = make_app()
    clock = VirtualClock()
    broker = SecondBatchFails(app.broker, clock)
    limit = broker.traits.batch_limit
    with app._elsewhere(broker, app.state, clock), pytest.raises(PartlySent) as caught:
        await app.submit_many([app.tasks["deliver"].bind(str(number)) for number in range(2 * limit + 1)])
    assert f"({limit} of them perhaps: no answer came)" in str(caught.value)
    assert "not tried" in str(caught.value.refusals[2 * limit])


async def test_an_open_that_is_given_up_is_not_opened_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    opened: list[int] = []

    async def slow() -> None:
        await asyncio.sleep(1)
        opened.append(1)

    monkeypatch.setattr(app.broker, "open", slow)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await app.open()
    await app.open()
    await app.open()
    assert opened == [1]


async def test_a_call_can_be_sent_by_itself() -> None:
    app = make_app()
    async with app:
        handle = await app.tasks["deliver"].bind("ada").having(key="k").submit(delay=60)
        assert (await handle.status()).state is MessageState.DELAYED
