"""What goes over the wire, and how often: timeouts of touches, lives of messages, looks at an empty queue."""

import asyncio
import os
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.conformance.azure_harness import AzureHarness

from tenure.adapters import azure
from tenure.adapters.azure.ledger import AzureLedger
from tenure.adapters.azure.naming import POISON
from tenure.adapters.azure.text import read
from tenure.claim import ClaimRequest, Done, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.lease import LeaseState
from tenure.message import Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.testing.harness import BROKEN, QUEUE

HOUR = 3600.0


class WatchedHarness(AzureHarness):
    """Every request is written down."""

    def __init__(self) -> None:
        """None so far."""
        super().__init__()
        self.requests: list[tuple[str, str, dict[str, list[str]]]] = []
        #: What was sent along with touches.
        self.touched_with: list[Any] = []

    def _tell_time(self, request: Any) -> None:
        super()._tell_time(request)
        parts = urlsplit(request.url)
        self.requests.append((request.method, parts.path, parse_qs(parts.query)))
        if request.method == "PUT" and "/messages/" in parts.path:
            self.touched_with.append(request.data)

    def asked(self, method: str, words: str) -> list[dict[str, list[str]]]:
        """The options of the requests of this kind."""
        return [query for verb, path, query in self.requests if verb == method and words in path]


@pytest.fixture
def harness() -> WatchedHarness:
    """In virtual time."""
    return WatchedHarness()


async def test_a_touch_always_says_for_how_long_and_a_message_never_that_it_shall_expire(
    harness: WatchedHarness,
) -> None:
    owner = harness.stranger()
    await harness.put(delay_seconds=3)
    await harness.put_many(3)
    await harness.advance(4)
    leases = await harness.lease_all(owner)
    await harness.advance(5)
    assert {lease.state for lease in await harness.broker.touch(leases)} == {LeaseState.HELD}
    await harness.broker.nack([Nack(leases[0], 0.0, BROKEN)])
    await harness.broker.give_back([GiveBack(leases[1], 5.0)])
    await harness.broker.dead_letter([DeadLetter(leases[2], BROKEN)])
    await harness.broker.redrive([leases[2].id])
    touches = harness.asked("PUT", f"{QUEUE}/messages/")
    assert len(touches) >= 6
    assert all(query["visibilitytimeout"] for query in touches)
    assert not any(harness.touched_with), "the body is not sent again"
    puts = harness.asked("POST", "/messages")
    assert [query["messagettl"] for query in puts] == [["-1"]] * len(puts)
    assert len(puts) >= 6


async def test_a_beat_of_a_whole_batch_and_its_end_read_nothing_of_the_ledger(harness: WatchedHarness) -> None:
    """The heartbeat has a ledger of its own, on another loop: it knows what the worker's claimed, and the other way."""
    await harness.put_many(8)
    leases = await harness.lease_all(harness.stranger())
    messages = [decode(lease.envelope) for lease in leases]
    requests = [ClaimRequest(Scope.of(one), one.id, leases[0].owner, 30.0, digest(one)) for one in messages]
    tokens = [answer.token for answer in await harness.state.ledger.claim(requests) if isinstance(answer, Fresh)]
    assert len(tokens) == 8
    beside = harness._store.twin()
    await beside.open()
    harness.requests.clear()
    assert await AzureLedger(beside).renew(tokens) == [True] * 8
    assert await harness.state.ledger.seal([Seal(token, b"1") for token in tokens]) == [True] * 8
    assert [method for method, _, _ in harness.requests] == ["POST", "POST"]
    await beside.close()


async def test_an_idle_worker_looks_seldom_and_soon_again_once_there_was_something(harness: WatchedHarness) -> None:
    async def idle(seconds: float) -> int:
        del harness.requests[:]
        end = harness.clock.monotonic() + seconds
        while harness.clock.monotonic() < end:
            assert await harness.lease(harness.stranger()) == []
            await harness.broker.wait([QUEUE], 5.0)
        return len(harness.asked("GET", f"{QUEUE}/messages"))

    await idle(60)
    assert await idle(600) <= 600 * 1.3  # one look a second, and what is leased in vain
    await harness.leased(harness.stranger())
    looks = await idle(1)
    assert looks >= 5


async def test_what_another_process_sent_is_found_within_the_longest_pause(harness: WatchedHarness) -> None:
    broker, _ = azure.connect(harness._options, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    for _ in range(20):
        await harness.broker.wait([QUEUE], 5.0)
    message = harness.message()
    before = harness.clock.monotonic()
    waiting = asyncio.ensure_future(harness.broker.wait([QUEUE], 5.0))
    await asyncio.sleep(0.3)
    await broker.send([Outgoing(message)])
    await waiting
    assert harness.clock.monotonic() - before <= 1.4
    assert (await harness.lease_one(harness.stranger())).id == message.id
    await broker.close()


async def test_the_depth_tells_what_is_held_from_what_is_ready(harness: WatchedHarness) -> None:
    await harness.put_many(7)
    await harness.put(delay_seconds=HOUR)
    leases = await harness.lease(harness.stranger(), 3)
    await harness.broker.dead_letter([DeadLetter(leases[0], BROKEN)])
    depth = await harness.depth()
    assert (depth.ready, depth.leased, depth.delayed, depth.dead, depth.estimated) == (4, 2, 1, 1, True)


async def test_results_and_checkpoints_larger_than_a_row_are_kept_whole_and_dropped_with_it(
    harness: WatchedHarness,
) -> None:
    lease = await harness.leased(harness.stranger())
    large, larger = os.urandom(600_000), os.urandom(2_500_000)
    assert await harness.state.records.checkpoint(lease, large)
    assert await harness.state.records.load_checkpoint(lease.id) == large
    assert not harness.asked("PUT", "tenure/")  # it fits, in pieces
    assert await harness.state.records.checkpoint(lease, larger)
    assert await harness.state.records.load_checkpoint(lease.id) == larger
    # Also where rows are listed.
    assert [one.id for one in await harness.broker.held(lease.owner)] == [lease.id]
    message = decode(lease.envelope)
    request = ClaimRequest(Scope.of(message), message.id, lease.owner, 30.0, digest(message))
    (fresh,) = await harness.state.ledger.claim([request])
    assert isinstance(fresh, Fresh)
    assert await harness.state.ledger.seal([Seal(fresh.token, larger)]) == [True]
    assert await harness.state.ledger.claim([request]) == [Done(larger)]
    assert (await harness.record(lease.id)).result == larger
    assert len(await _blobs(harness)) == 2
    await harness.broker.ack([Ack(lease, larger)])
    await harness.advance(2 * HOUR, sweeping=False)
    await harness.state.journal.prune(HOUR)
    assert len(await _blobs(harness)) == 1, "the life is gone, and its checkpoint with it; the result is not"
    assert (await harness.record(lease.id)).result == larger
    await harness.advance(8 * 24 * HOUR, sweeping=False)
    await harness.state.journal.prune(HOUR)
    assert await _blobs(harness) == []


async def test_a_large_value_that_somebody_removed_is_missed_and_holds_nothing_up(harness: WatchedHarness) -> None:
    lease = await harness.leased(harness.stranger())
    assert await harness.state.records.checkpoint(lease, os.urandom(800_000))
    (name,) = await _blobs(harness)
    container = harness._store.clients.blob_service.get_container_client(harness._options.table)
    await harness._store.call("removing", lambda: container.delete_blob(name))
    assert await harness.state.records.load_checkpoint(lease.id) is None
    assert [one.id for one in await harness.broker.held(lease.owner)] == [lease.id]
    (settlement,) = await harness.broker.ack([Ack(lease)])
    assert settlement.outcome == Outcome.DELETED


async def _blobs(harness: WatchedHarness) -> list[str]:
    container = harness._store.clients.blob_service.get_container_client(harness._options.table)

    async def names() -> list[str]:
        return [name async for name in container.list_blob_names()]

    found: list[str] = await harness._store.call("looking", names)
    return found


async def test_a_body_with_control_characters_comes_back_as_it_was(harness: WatchedHarness) -> None:
    text = "".join(map(chr, range(32))) + "\x7f\x85\ufffe\U0001f600"
    message = await harness.put(body={"text": text})
    lease = await harness.lease_one(harness.stranger())
    assert decode(lease.envelope) == message
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    client = harness._store.queue(QUEUE, POISON)
    (shown,) = await harness._store.call("looking", lambda: client.peek_messages(max_messages=5))
    assert read(shown.content) == lease.envelope
