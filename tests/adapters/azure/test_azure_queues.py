"""Many queues: which are asked when, what an idle worker costs, and the list that patterns are compared with."""

from typing import Any

import msgspec
import pytest
from tests.adapters.azure.test_azure_calls import WatchedHarness

from tenure.adapters import azure
from tenure.adapters.azure.known_queues import REFRESH_SECONDS
from tenure.adapters.azure.polling import Polling, longest_pause
from tenure.message import Outgoing
from tenure.settlement import Ack
from tenure.testing.harness import QUEUE

MINUTE = 60.0


@pytest.fixture
def harness() -> WatchedHarness:
    """In virtual time; every request is written down."""
    return WatchedHarness()


@pytest.fixture
def polling() -> Polling:
    """Nothing was asked yet."""
    return Polling()


def _answer(polling: Polling, queue: str, now: float, got: int, want: int = 4) -> float:
    """When a queue that was asked at `now` is asked again."""
    polling.answered(queue, polling.ask(queue, now), now, got=got, want=want, longest=10.0)
    due = polling.next_due([queue])
    assert due is not None
    return due - now


def test_the_longest_pause_grows_with_the_number_of_queues_up_to_thirty_times() -> None:
    assert [longest_pause(1.0, count) for count in (1, 10, 100, 300, 5000)] == [1.0, 1.0, 10.0, 30.0, 30.0]


def test_a_full_answer_is_followed_by_the_next_request_and_an_empty_one_by_longer_and_longer_pauses(
    polling: Polling,
) -> None:
    assert _answer(polling, "a", 0.0, 4) == 0.0
    assert _answer(polling, "a", 0.0, 2) == pytest.approx(0.05)
    pauses = [_answer(polling, "a", 0.0, 0) for _ in range(20)]
    assert pauses[0] < 0.1
    assert all(pause <= 10.0 for pause in pauses)
    assert min(pauses[-5:]) >= 8.0


def test_what_comes_in_while_a_queue_is_asked_is_asked_for_again(polling: Polling) -> None:
    stirs = polling.ask("a", 5.0)
    polling.stir("a")
    polling.answered("a", stirs, 5.0, got=0, want=1, longest=10.0)
    assert polling.due(["a"], 5.0) == ["a"]


def test_the_queue_that_has_waited_longest_is_asked_first(polling: Polling) -> None:
    for number, queue in enumerate(("b", "a"), 1):
        _answer(polling, queue, float(number), 4)
    assert polling.due(["a", "b", "c"], 9.0) == ["c", "b", "a"]


async def _idle(harness: WatchedHarness, queues: tuple[str, ...], seconds: float) -> float:
    """Requests a second of a worker that has nothing to do, as `runtime/path/intake.py` asks."""
    for _ in range(2):  # at first it looks more often
        harness.requests.clear()
        end = harness.clock.monotonic() + seconds
        while harness.clock.monotonic() < end:
            assert await harness.lease(harness.stranger(), 8, queues=queues) == []
            await harness.broker.wait(queues, 5.0)
    return len([path for _, path, _ in harness.requests if path.endswith("/messages")]) / seconds


@pytest.mark.parametrize(("count", "most"), [(1, 1.25), (10, 12.5), (40, 12.5)])
async def test_an_idle_worker_on_many_queues_makes_few_requests(
    harness: WatchedHarness, count: int, most: float
) -> None:
    queues = tuple(f"q{number}" for number in range(count))
    assert await _idle(harness, queues, MINUTE) <= most


async def test_an_idle_pattern_costs_as_much_as_its_names_and_a_list_every_twenty_seconds(
    harness: WatchedHarness,
) -> None:
    for number in range(12):
        lease = await harness.leased(harness.stranger(), queue=f"q{number}-tasks")
        await harness.broker.ack([Ack(lease)])
    assert await _idle(harness, ("*-tasks",), MINUTE) <= 12.5
    lists = [query for query in harness.asked("GET", "tenure") if "q:" in str(query.get("$filter"))]
    assert len(lists) <= MINUTE / REFRESH_SECONDS + 1


async def test_a_queue_of_another_process_is_served_within_the_refresh(harness: WatchedHarness) -> None:
    other, _ = azure.connect(harness._options, clock=harness.clock, hook=harness._tell_time)
    await other.open()
    assert await harness.lease(harness.stranger(), queues=("*-tasks",)) == []
    message = harness.message(queue="new-tasks")
    await other.send([Outgoing(message)])
    took = await harness.took(harness.broker.wait(("*-tasks",), MINUTE))
    assert took <= REFRESH_SECONDS + 0.1
    assert (await harness.lease_one(harness.stranger(), queues=("*-tasks",))).id == message.id
    await other.close()


async def test_one_slot_budget_is_shared_by_the_queues_that_are_asked_side_by_side(harness: WatchedHarness) -> None:
    queues = tuple(f"q{number}" for number in range(5))
    for queue in queues:
        await harness.put_many(10, queue=queue)
    harness.requests.clear()
    leases = await harness.lease(harness.stranger(), 16, queues=queues)
    assert len(leases) == 16
    asked = [int(query["numofmessages"][0]) for query in harness.asked("GET", "/messages")]
    assert sum(asked) <= 16 + 8
    assert len(leases) == len({lease.id for lease in leases})


async def test_busy_queues_are_asked_for_all_there_is_room_for(harness: WatchedHarness) -> None:
    """So that a drain of many queues takes about as many requests a message as that of one."""
    queues = tuple(f"q{number}" for number in range(3))
    for queue in queues:
        await harness.put_many(64, queue=queue)
    for _ in range(2):
        await harness.lease(harness.stranger(), 32, queues=queues)
    harness.requests.clear()
    leases = await harness.lease(harness.stranger(), 32, queues=queues)
    assert (len(leases), len(harness.asked("GET", "/messages"))) == (32, 1)


async def test_a_listed_queue_that_somebody_removed_holds_up_no_others(harness: WatchedHarness) -> None:
    for queue in ("a-tasks", "b-tasks"):
        await harness.broker.ack([Ack(await harness.leased(harness.stranger(), queue=queue))])
    await harness.remove_queue("a-tasks")
    message = await harness.put(queue="b-tasks")
    assert (await harness.lease_one(harness.stranger(), queues=("*-tasks",))).id == message.id


async def test_a_process_says_that_a_queue_is_in_use_once_in_a_while(harness: WatchedHarness) -> None:
    for _ in range(5):
        await harness.put_many(3)
        await harness.broker.ack([Ack(lease) for lease in await harness.lease_all(harness.stranger())])

    def said() -> int:
        return len([path for method, path, _ in harness.requests if method == "PUT" and "q%3A" in path])

    before = said()
    assert before <= 1
    await harness.advance(901, sweeping=False)
    await harness.put_many(3)
    await harness.put_many(3)
    assert said() - before <= 1


async def test_a_forgotten_queue_to_which_another_process_goes_on_sending_is_served_and_listed_again(
    harness: WatchedHarness,
) -> None:
    other: Any
    other, _ = azure.connect(harness._options, clock=harness.clock, hook=harness._tell_time)
    await other.open()
    await other.send([Outgoing(harness.message(queue="a-tasks"))])
    await harness.broker.ack([Ack(await harness.lease_one(harness.stranger(), queues=("a-tasks",)))])
    assert await harness.broker.forget_queue("a-tasks")
    assert await harness.broker.queues() == []
    message = harness.message(queue="a-tasks")
    await other.send([Outgoing(message)])
    await harness.advance(31, sweeping=False)
    assert (await harness.lease_one(harness.stranger(), queues=("*-tasks",))).id == message.id
    assert await harness.broker.queues() == ["a-tasks"]
    await other.close()


async def test_the_storage_queue_of_a_forgotten_queue_stays(harness: WatchedHarness) -> None:
    await harness.broker.ack([Ack(await harness.leased(harness.stranger()))])
    assert await harness.broker.forget_queue(QUEUE)
    assert harness.asked("DELETE", f"{QUEUE}?") == []
    store = harness._store
    store.options = msgspec.structs.replace(store.options, create=False)
    await harness.put()  # nothing had to be made
    assert await harness.broker.queues() == [QUEUE]


async def test_a_thousand_depths_are_not_asked_for_at_once(harness: WatchedHarness) -> None:
    queues = [f"q{number}" for number in range(60)]
    await harness.put(queue="q7")
    harness.requests.clear()
    depths = await harness.broker.depth(queues)
    assert [depth.ready for depth in depths] == [int(queue == "q7") for queue in queues]
    assert len(harness.requests) <= 1 + 60 + 1 + 59  # one look at the lives, one request each, and one peek
