"""The door: many calls at once, and apps that share a place."""

import asyncio
from collections.abc import Sequence

import pytest

from tenure import BadArgument, BrokerUnavailable, KeyConflict, MessageNotFound, MessageState, PartlySent, Tenure
from tenure.broker import Broker, Sent
from tenure.errors import BadSetting, BadTask, BodyTooLarge
from tenure.message import Outgoing
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.virtual import VirtualClock


def make_app(url: str = "memory://", *, namespace: str | None = None, clock: VirtualClock | None = None) -> Tenure:
    app = Tenure(url, namespace=namespace, clock=clock or VirtualClock())

    @app.task
    async def deliver(to: str) -> str:
        return f"{namespace}:{to}"

    return app


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
    with app.elsewhere(broker, app.state, clock):
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
        with pytest.raises(MessageNotFound, match="belongs to namespace 'blue', and this app to 'red'"):
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


@pytest.mark.parametrize("queue", ["", "a/b", " mail", "a\nb"])
def test_a_queue_that_cannot_be_named_is_refused(queue: str) -> None:
    app = Tenure("memory://")
    with pytest.raises(BadTask, match="cannot name a queue"):

        @app.task(queue=queue)
        async def deliver(to: str) -> None: ...
