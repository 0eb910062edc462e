"""Calls that go wrong on the way to the service and back, and how each must end."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.conformance.azure_harness import AzureHarness
from tests.servers.azure import shared_azure
from tests.servers.proxy_http import Call, HttpProxy

from tenure.adapters import azure
from tenure.adapters.azure.naming import POISON
from tenure.adapters.azure.text import read
from tenure.broker import Sent
from tenure.claim import ClaimRequest, Done, Fresh, Running, Scope, Seal, digest
from tenure.envelope import decode
from tenure.errors import BrokerUnavailable
from tenure.lease import Lease, LeaseState
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE
from tenure.testing.workers import Stage


class ProxiedHarness(AzureHarness):
    """Azurite behind two proxies."""

    def __init__(self, queue: HttpProxy, table: HttpProxy) -> None:
        """Everything passes at first."""
        super().__init__()
        url = self._server.url(f"t{os.urandom(6).hex()}", queue=queue.port, table=table.port)
        self._options = azure.read_options(url, urlsplit(url), {})
        self.queue, self.table = queue, table

    async def shown(self, ending: str = "") -> list[bytes]:
        """What the queue shows, by its bytes."""
        client = self._store.queue(QUEUE, ending)
        found: Any = await self._store.call("looking", lambda: client.peek_messages(max_messages=32))
        return [read(one.content) for one in found]

    async def claimed(self, lease: Lease) -> Any:
        """What the ledger says to the holder."""
        (answer,) = await self.state.ledger.claim([_request(lease)])
        return answer


def _request(lease: Lease) -> ClaimRequest:
    message = decode(lease.envelope)
    return ClaimRequest(Scope.of(message), message.id, lease.owner, 30.0, digest(message))


@pytest.fixture
def queue_proxy() -> Iterator[HttpProxy]:
    """Before the queues."""
    with HttpProxy(shared_azure().ports["queue"]) as proxy:
        yield proxy


@pytest.fixture
def table_proxy() -> Iterator[HttpProxy]:
    """Before the table."""
    with HttpProxy(shared_azure().ports["table"]) as proxy:
        yield proxy


@pytest.fixture
def harness(queue_proxy: HttpProxy, table_proxy: HttpProxy) -> ProxiedHarness:
    """In virtual time."""
    return ProxiedHarness(queue_proxy, table_proxy)


def _is(method: str, *words: str) -> Any:
    def matches(call: Call) -> bool:
        return call.method == method and all(word in call.path for word in words)

    return matches


#: Receive, peek, delete and touch, as the service's paths tell them apart.
RECEIVE = _is("GET", "/messages?", "visibilitytimeout")
DELETE = _is("DELETE", "/messages/")
TOUCH = _is("PUT", "/messages/")
PUT = _is("POST", "/messages")
CHANGE = _is("POST", "batch")


async def test_the_lost_reply_to_a_delete_is_found_out(harness: ProxiedHarness) -> None:
    lease = await harness.leased(harness.stranger())
    fresh = await harness.claimed(lease)
    assert isinstance(fresh, Fresh)
    assert await harness.state.ledger.seal([Seal(fresh.token, b"1")]) == [True]
    harness.queue.rule(DELETE, harness.queue.drop_reply, times=1)
    (settlement,) = await harness.broker.ack([Ack(lease, b"1")])
    assert (settlement.outcome, settlement.attempts) == (Outcome.ALREADY_GONE, 2)
    await harness.lapse()
    assert await harness.lease_all(harness.stranger()) == []
    assert (await harness.record(lease.id)).state == MessageState.COMPLETED


async def test_the_lost_reply_to_a_touch_makes_the_lease_uncertain_and_the_work_is_done_once(
    harness: ProxiedHarness,
) -> None:
    lease = await harness.leased(harness.stranger())
    fresh = await harness.claimed(lease)
    await harness.advance(5.0)
    harness.queue.rule(TOUCH, harness.queue.drop_reply, times=1)
    (touched,) = await harness.broker.touch([lease])
    assert touched.state == LeaseState.UNCERTAIN
    assert await harness.state.ledger.seal([Seal(fresh.token, b"1")]) == [True]
    (settlement,) = await harness.broker.ack([Ack(touched, b"1")])
    # Our receipt is dead, so the message is still there. It is shown once more, and only deleted.
    assert settlement.outcome == Outcome.UNKNOWN
    await harness.advance(harness.lease_seconds + 1)
    again = await harness.lease_one(harness.stranger())
    assert again.id == lease.id
    assert await harness.claimed(again) == Done(b"1")
    (settlement,) = await harness.broker.ack([Ack(again, b"1")])
    assert settlement.outcome == Outcome.DELETED
    await harness.lapse()
    assert await harness.lease_all(harness.stranger()) == []


async def test_an_uncertain_lease_is_kept_though_the_queue_shows_its_message(harness: ProxiedHarness) -> None:
    lease = await harness.leased(harness.stranger())
    await harness.advance(5.0)
    harness.queue.rule(TOUCH, harness.queue.drop_reply, times=1)
    (lease,) = await harness.broker.touch([lease])
    for _ in range(8):
        await harness.advance(harness.lease_seconds / 3)
        (lease,) = await harness.broker.touch([lease])
        assert lease.state != LeaseState.LOST
        # Whoever is shown the message hides it for its holder, who gets its receipt by that.
        assert await harness.lease(harness.stranger()) == []
    assert lease.state == LeaseState.HELD
    (settlement,) = await harness.broker.ack([Ack(lease)])
    assert settlement.outcome == Outcome.DELETED


async def test_what_a_receive_hid_whose_reply_was_lost_comes_back_after_one_lease_uncounted(
    harness: ProxiedHarness,
) -> None:
    message = await harness.put()
    await harness.sweep()
    harness.queue.rule(RECEIVE, harness.queue.drop_reply, times=1)
    request = harness.request(harness.stranger())
    with pytest.raises(BrokerUnavailable) as caught:
        await harness.broker.lease(request)
    assert caught.value.outcome_unknown
    assert await harness.broker.held(request.owner, request.request_id) == []
    assert await harness.lease(harness.stranger()) == []
    await harness.lapse()
    lease = await harness.lease_one(harness.stranger())
    assert (lease.id, lease.counters.attempts, lease.counters.lost) == (message.id, 0, 0)


async def test_what_was_entered_though_the_reply_was_lost_is_found_by_its_request(harness: ProxiedHarness) -> None:
    messages = await harness.put_many(3)
    await harness.sweep()
    harness.table.rule(CHANGE, harness.table.drop_reply, times=1)
    request = harness.request(harness.stranger(), 3)
    with pytest.raises(BrokerUnavailable) as caught:
        await harness.broker.lease(request)
    assert caught.value.outcome_unknown
    leases = await harness.broker.held(request.owner, request.request_id)
    assert sorted(lease.id for lease in leases) == [message.id for message in messages]
    assert {one.outcome for one in await harness.broker.ack([Ack(lease) for lease in leases])} == {Outcome.DELETED}


async def test_a_claim_whose_reply_was_lost_is_granted_at_once(harness: ProxiedHarness) -> None:
    leases = [await harness.leased(harness.stranger()) for _ in range(3)]
    requests = [_request(lease) for lease in leases]
    harness.table.rule(CHANGE, harness.table.drop_reply, times=1)
    answers = await harness.state.ledger.claim(requests)
    tokens = [answer.token for answer in answers if isinstance(answer, Fresh)]
    assert len(tokens) == 3
    assert isinstance(await harness.claimed(leases[0]), Running)
    assert await harness.state.ledger.renew(tokens) == [True] * 3
    assert await harness.state.ledger.release(tokens[:1]) == [True]
    harness.table.rule(CHANGE, harness.table.drop_reply, times=2)  # it was claimed before; and one more that is refused
    (again,) = await harness.state.ledger.claim(requests[:1])
    assert isinstance(again, Fresh)
    assert again.token.fence > tokens[0].fence
    assert await harness.state.ledger.seal([Seal(again.token, b"1")]) == [True]


async def test_a_claim_that_never_arrived_is_made_again_and_one_that_stays_unknown_is_told(
    harness: ProxiedHarness,
) -> None:
    lease = await harness.leased(harness.stranger())
    harness.table.rule(CHANGE, harness.table.cut, times=1)
    assert isinstance(await harness.claimed(lease), Fresh)
    other = await harness.leased(harness.stranger())
    harness.table.rule(CHANGE, harness.table.drop_reply, times=1)
    harness.table.rule(_is("GET", "k00"), harness.table.cut, times=1)
    with pytest.raises(BrokerUnavailable) as caught:
        await harness.claimed(other)
    assert caught.value.outcome_unknown


async def test_a_run_whose_claim_got_no_answer_does_not_wait_for_the_claim_to_end(harness: ProxiedHarness) -> None:
    async with Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        is_claim = lambda call: CHANGE(call) and b'"Scope"' in call.body  # noqa: E731
        rule = harness.table.rule(is_claim, harness.table.drop_reply, times=1)
        id = await stage.submit(work.bind())
        await stage.start()
        record = await stage.ended(id, within=harness.lease_seconds / 2)
        assert (record.state, rule.used) == (MessageState.COMPLETED, 1)


async def test_a_send_repeated_after_a_lost_reply_is_run_once(harness: ProxiedHarness) -> None:
    message = harness.message()
    assert await harness.lease_all(harness.stranger()) == []  # the queue is there now
    harness.queue.rule(PUT, harness.queue.drop_reply, times=1)
    with pytest.raises(BrokerUnavailable):
        await harness.broker.send([Outgoing(message)])
    assert await harness.broker.send([Outgoing(message)]) == [Sent(message.id, duplicate=True)]
    assert len(await harness.shown()) == 2
    lease = await harness.lease_one(harness.stranger())
    assert await harness.lease_all(harness.stranger()) == []
    (settlement,) = await harness.broker.ack([Ack(lease)])
    assert settlement.outcome == Outcome.DELETED
    await harness.lapse()
    assert await harness.shown() == []


async def test_a_send_that_never_reached_the_queue_is_made_good_by_its_repeat(harness: ProxiedHarness) -> None:
    message = harness.message()
    harness.queue.rule(PUT, harness.queue.cut, times=1)
    with pytest.raises(BrokerUnavailable):
        await harness.broker.send([Outgoing(message)])
    assert await harness.lease_all(harness.stranger()) == []
    await harness.broker.send([Outgoing(message)])
    assert (await harness.lease_one(harness.stranger())).id == message.id


async def test_throttled_calls_change_nothing_and_say_so(harness: ProxiedHarness) -> None:
    message = await harness.put()
    await harness.sweep()
    for status in (503, 429):
        harness.queue.rule(RECEIVE, harness.queue.answer(status), times=1)
        with pytest.raises(BrokerUnavailable) as caught:
            await harness.lease(harness.stranger())
        assert not caught.value.outcome_unknown
    harness.queue.rule(RECEIVE, harness.queue.answer(500), times=1)
    with pytest.raises(BrokerUnavailable) as caught:
        await harness.lease(harness.stranger())
    assert caught.value.outcome_unknown
    assert (await harness.lease_one(harness.stranger())).id == message.id


async def test_a_delete_is_tried_again_while_the_service_is_busy(harness: ProxiedHarness) -> None:
    lease = await harness.leased(harness.stranger())
    harness.queue.rule(DELETE, harness.queue.answer(503), times=2)
    (settlement,) = await harness.broker.ack([Ack(lease)])
    assert (settlement.outcome, settlement.attempts) == (Outcome.DELETED, 3)


async def test_a_dead_letter_that_did_not_reach_the_poison_queue_is_brought_there_by_a_sweep(
    harness: ProxiedHarness,
) -> None:
    lease = await harness.leased(harness.stranger())
    harness.queue.rule(_is("POST", f"{POISON}/messages"), harness.queue.cut, times=1)
    (settlement,) = await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert settlement.outcome == Outcome.DEAD
    await harness.lapse()
    assert await harness.shown(POISON) == [lease.envelope]
    # And what is still in its own queue is taken from there by the next who is shown it.
    assert await harness.lease_all(harness.stranger()) == []
    await harness.lapse()
    assert await harness.shown() == []
    assert await harness.broker.redrive([lease.id]) == [lease.id]
    assert await harness.shown(POISON) == []


async def test_a_redrive_that_was_cut_off_is_finished_by_a_sweep(harness: ProxiedHarness) -> None:
    lease = await harness.leased(harness.stranger())
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    harness.queue.rule(PUT, harness.queue.cut, times=1)
    with pytest.raises(BrokerUnavailable):
        await harness.broker.redrive([lease.id])
    assert (await harness.record(lease.id)).state == MessageState.READY
    await harness.sweep()
    again = await harness.lease_one(harness.stranger())
    assert (again.id, decode(again.envelope).generation) == (lease.id, 1)


async def test_a_nack_whose_message_cannot_be_shown_comes_back_when_its_lease_ends(harness: ProxiedHarness) -> None:
    lease = await harness.leased(harness.stranger())
    harness.queue.rule(TOUCH, harness.queue.cut, times=1)
    (settlement,) = await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
    assert settlement.outcome == Outcome.RETURNED
    await harness.lapse()
    again = await harness.lease_one(harness.stranger())
    assert (again.id, again.counters.attempts) == (lease.id, 1)


async def test_a_minute_of_throttling_makes_a_worker_slower_and_loses_nothing(harness: ProxiedHarness) -> None:
    async with Stage(harness) as stage:
        runs: list[int] = []

        @stage.task
        async def work(number: int) -> None:
            runs.append(number)
            await asyncio.sleep(20)

        ids = [await stage.submit(work.bind(number)) for number in range(4)]
        await stage.start(concurrency=2)
        await stage.until(lambda: len(runs) >= 2)
        until = harness.clock.monotonic() + 60
        busy = [
            proxy.rule(lambda _call: harness.clock.monotonic() < until, proxy.answer(503, Retry_After="5"))
            for proxy in (harness.queue, harness.table)
        ]
        await asyncio.sleep(61)
        for id in ids:
            assert (await stage.ended(id, within=600)).state is MessageState.COMPLETED
        # Who is told to come back in five seconds does so; a handful of calls may be under way at once.
        assert 5 <= sum(rule.used for rule in busy) <= 150
    assert sorted(runs) == [0, 1, 2, 3]
    await harness.lapse()
    assert await harness.shown() == []


@pytest.mark.parametrize("lost", [1, 3])
async def test_a_handler_goes_on_and_settles_though_replies_to_its_beats_were_lost(
    harness: ProxiedHarness, lost: int
) -> None:
    async with Stage(harness) as stage:
        runs: list[str] = []

        @stage.task
        async def work() -> str:
            runs.append("begun")
            await asyncio.sleep(4 * harness.lease_seconds)
            runs.append("ended")
            return "done"

        rule = harness.queue.rule(TOUCH, harness.queue.drop_reply, times=lost)
        id = await stage.submit(work.bind())
        await stage.start()
        await stage.start()
        assert (await stage.ended(id, within=600)).state is MessageState.COMPLETED
        await asyncio.sleep(4 * harness.lease_seconds)
        assert rule.used == lost
        assert await harness.shown() == []
    assert runs == ["begun", "ended"]


@pytest.mark.parametrize("fault", ["500", "503", "cut", "drop_reply"])
async def test_every_call_of_a_run_may_go_wrong_once(harness: ProxiedHarness, fault: str) -> None:
    async with Stage(harness) as stage:
        runs: list[str] = []

        @stage.task
        async def work(word: str) -> None:
            runs.append(word)

        await stage.submit(work.bind("first"))
        await stage.start()
        await stage.until(lambda: runs == ["first"])
        seen: set[str] = set()

        def is_new(call: Call) -> bool:
            """Not what is the same call with another message, row or receipt."""
            kind = f"{call.method} {call.path.partition('(')[0].partition('?')[0].partition('/messages/')[0]}"
            is_known = kind in seen
            seen.add(kind)
            return not is_known

        for proxy in (harness.queue, harness.table):
            proxy.rule(is_new, proxy.answer(int(fault)) if fault.isdecimal() else getattr(proxy, fault))
        message = harness.message(task="work", body={"word": "second"})
        while True:  # as an app does it
            try:
                await harness.broker.send([Outgoing(message)])
                break
            except BrokerUnavailable:
                await asyncio.sleep(1)
        id = message.id
        assert (await stage.ended(id, within=600)).state is MessageState.COMPLETED
        assert len(seen) >= 5
    assert runs == ["first", "second"]


@pytest.mark.parametrize("verb", ["ack", "nack"])
async def test_a_settlement_waits_for_the_touch_that_is_under_way(harness: ProxiedHarness, verb: str) -> None:
    """Else it would use the receipt that the touch has just made worthless."""
    lease = await harness.leased(harness.stranger())
    await harness.advance(5.0)
    rule = harness.queue.rule(TOUCH, harness.queue.delay(0.3), times=1)
    touch = asyncio.ensure_future(harness.broker.touch([lease]))
    while not rule.used:  # noqa: ASYNC110 - by the proxy's own thread
        await asyncio.sleep(0)
    if verb == "ack":
        (settlement,) = await harness.broker.ack([Ack(lease)])
        assert settlement.outcome == Outcome.DELETED
        assert await harness.shown() == []
    else:
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        assert await harness.shown() == [lease.envelope], "it need not wait for the end of its lease"
    ((touched,),) = await asyncio.gather(touch)
    assert touched.state == LeaseState.HELD
    (late,) = await harness.broker.touch([touched])
    assert late.state == LeaseState.LOST
