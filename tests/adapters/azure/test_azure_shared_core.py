"""Azure under the shared core (`?core=rowstore`): how many requests a message takes, and what users count on."""

import asyncio
import json
import os
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from tests.conformance.azure_harness import RowStoreAzureHarness

from tenure.adapters import azure
from tenure.adapters.azure import log
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.errors import BadSetting, StoreMissing
from tenure.event import Event, EventKind
from tenure.lease import Lease
from tenure.message import MessageState, Outgoing
from tenure.rowstore.row_changes import entry_place
from tenure.settlement import Ack, DeadLetter, Nack
from tenure.testing.harness import BROKEN, QUEUE

HOUR = 3600.0
BATCH = 32


class WatchedHarness(RowStoreAzureHarness):
    """Every request is written down."""

    def __init__(self) -> None:
        """None so far."""
        super().__init__()
        self.requests: list[tuple[str, str, dict[str, list[str]]]] = []

    def _tell_time(self, request: Any) -> None:
        super()._tell_time(request)
        parts = urlsplit(request.url)
        self.requests.append((request.method, parts.path, parse_qs(parts.query)))

    def asked(self, method: str, words: str) -> int:
        """How many requests of this kind there were."""
        return sum(verb == method and words in path for verb, path, _ in self.requests)

    def tables(self) -> int:
        """How many requests the table got; the list begins anew."""
        count = sum(
            ("/messages" not in path and "tenurerows" in path) or "$batch" in path for _, path, _ in self.requests
        )
        self.requests.clear()
        return count

    async def put_text(self, text: str) -> None:
        """Send a text as a producer does that never heard of Tenure."""
        client = self.session.queue(QUEUE)
        await self.session.create(client.create_queue)
        await self.session.call("sending", lambda: client.send_message(text, time_to_live=-1))

    async def shown(self) -> list[str]:
        """The texts that the queue shows."""
        client = self.session.queue(QUEUE)
        found: Any = await self.session.call("looking", lambda: client.peek_messages(max_messages=32))
        return [str(one.content) for one in found]


class PlainHarness(WatchedHarness):
    """Messages that old workers read."""

    options = ("core=rowstore", "wire=plain")


class LoggedHarness(WatchedHarness):
    """With a log for people."""

    #: The account of the tests has one container of logs for all of them.
    folder = f"shop-{os.urandom(4).hex()}"
    options = ("core=rowstore", f"log={folder}")


@pytest.fixture
def harness() -> WatchedHarness:
    """In virtual time."""
    return WatchedHarness()


# --- requests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, BATCH])
async def test_a_batch_from_send_to_ack_takes_five_requests_of_the_table(harness: WatchedHarness, count: int) -> None:
    owner = await harness.owner()
    await harness.put_many(count)
    first = await harness.broker.lease(harness.request(owner, BATCH))
    await harness.broker.ack([Ack(lease) for lease in first])
    harness.requests.clear()
    await harness.put_many(count)
    leases = await harness.broker.lease(harness.request(owner, BATCH))
    messages = [decode(lease.envelope) for lease in leases]
    requests = [ClaimRequest(Scope.of(one), one.id, owner.id, 30.0, digest(one)) for one in messages]
    answers = await harness.state.ledger.claim(requests)
    seals = [Seal(answer.token, b"1") for answer in answers if isinstance(answer, Fresh)]
    assert await harness.state.ledger.seal(seals) == [True] * count
    await harness.broker.ack([Ack(lease) for lease in leases])
    assert harness.asked("GET", f"{QUEUE}/messages") == 1
    assert harness.asked("POST", f"{QUEUE}/messages") == harness.asked("DELETE", f"{QUEUE}/messages") == count
    # Entries; entries with their batch, and the ban; the seals; the batch.
    assert harness.tables() == 5


async def test_a_message_that_changed_since_it_was_sent_is_read_before_it_is_lent(harness: WatchedHarness) -> None:
    cancelled, other = await harness.put(), await harness.put()
    broker, _ = azure.connect(harness._options, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    assert await broker.cancel([cancelled.id]) == [MessageState.READY]
    await broker.close()
    (lease,) = await harness.lease_all(harness.stranger())
    assert lease.id == other.id
    assert await harness.shown() == []


async def test_an_idle_worker_looks_once_in_poll_seconds(harness: WatchedHarness) -> None:
    async def idle(seconds: float) -> int:
        harness.requests.clear()
        end = harness.clock.monotonic() + seconds
        while harness.clock.monotonic() < end:
            assert await harness.lease(harness.stranger()) == []
            await harness.broker.wait([QUEUE], 5.0)
        return harness.asked("GET", f"{QUEUE}/messages")

    await idle(60)
    looks = await idle(600)
    assert looks <= 600 * 1.05
    assert harness.tables() <= 600 / 5 * 1.1
    await harness.leased(harness.stranger())
    assert await idle(1) >= 5


async def test_what_another_process_sent_is_found_within_the_longest_pause(harness: WatchedHarness) -> None:
    broker, _ = azure.connect(harness._options, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    for _ in range(20):
        await harness.broker.wait([QUEUE], 5.0)
    message, before = harness.message(), harness.clock.monotonic()
    waiting = asyncio.ensure_future(harness.broker.wait([QUEUE], 5.0))
    await asyncio.sleep(0.3)
    await broker.send([Outgoing(message)])
    await waiting
    assert harness.clock.monotonic() - before <= 1.4
    assert (await harness.lease_one(harness.stranger())).id == message.id
    await broker.close()


async def test_messages_never_expire_and_each_hide_says_for_how_long(harness: WatchedHarness) -> None:
    await harness.put(delay_seconds=3)
    await harness.advance(4)
    lease = await harness.lease_one(harness.stranger())
    await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
    lease = await harness.lease_one(harness.stranger())
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    await harness.broker.redrive([lease.id])
    puts = [query for method, path, query in harness.requests if method == "POST" and "/messages" in path]
    assert len(puts) >= 2
    assert [query["messagettl"] for query in puts] == [["-1"]] * len(puts)
    hides = [query for method, path, query in harness.requests if method == "PUT" and "/messages/" in path]
    assert hides
    assert all(query["visibilitytimeout"] for query in hides)


# --- depths -----------------------------------------------------------------------------------------


async def test_the_depth_tells_what_is_held_from_what_is_ready(harness: WatchedHarness) -> None:
    await harness.put_many(7)
    await harness.put(delay_seconds=HOUR)
    leases = await harness.lease(harness.stranger(), 3)
    await harness.broker.dead_letter([DeadLetter(leases[0], BROKEN)])
    await harness.advance(20.0, sweeping=False)
    depth = await harness.depth()
    assert (depth.ready, depth.leased, depth.delayed, depth.dead, depth.estimated) == (4, 2, 1, 1, True)
    assert depth.oldest_age_seconds is not None
    assert depth.oldest_age_seconds >= 20.0


async def test_of_a_long_queue_it_is_not_known_what_is_delayed(harness: WatchedHarness) -> None:
    await harness.put_many(40)
    await harness.put(delay_seconds=HOUR)
    await harness.lease(harness.stranger(), 3)
    depth = await harness.depth()
    assert (depth.leased, depth.delayed) == (3, None)
    assert depth.ready == 38  # the delayed one too


# --- the account ------------------------------------------------------------------------------------


async def test_a_queue_that_is_missing_is_not_created_unless_asked(harness: WatchedHarness) -> None:
    options = msgspec.structs.replace(harness._options, create=False)
    broker, _ = azure.connect(options, clock=harness.clock, hook=harness._tell_time)
    await broker.open()
    message = harness.message()
    with pytest.raises(StoreMissing):
        await broker.send([Outgoing(message)])
    with pytest.raises(StoreMissing):
        await broker.lease(harness.request(harness.stranger()))
    await harness.put()
    assert [sent.refusal for sent in await broker.send([Outgoing(message)])] == [None]
    await broker.close()


async def test_a_queue_with_a_name_against_the_rules_is_refused_and_nothing_is_stored(harness: WatchedHarness) -> None:
    message = harness.message(queue="No_Such-Name")
    with pytest.raises(BadSetting, match="nothing was sent"):
        await harness.broker.send([Outgoing(message)])
    assert await harness.table.get([entry_place(message.id)]) == [None]


async def test_the_log_has_a_line_for_each_message_that_ended() -> None:
    async with LoggedHarness() as harness:
        at = harness.state.wall()
        ended = [(EventKind.COMPLETED, "m1"), (EventKind.DEAD, "m2"), (EventKind.RETRIED, "m3")]
        await harness.state.journal.append([Event(kind=kind, at=at, queue=QUEUE, message_id=id) for kind, id in ended])
        container = harness.session.clients.blob_service.get_container_client(log.CONTAINER)

        async def lines() -> list[Any]:
            (name,) = [str(one) async for one in container.list_blob_names(name_starts_with=f"{harness.folder}/")]
            return [json.loads(line) for line in (await (await container.download_blob(name)).readall()).splitlines()]

        told = await harness.session.call("reading", lines)
        assert [(one["message_id"], one["outcome"]) for one in told if one["message_id"] in {"m1", "m2", "m3"}] == [
            ("m1", "completed"), ("m2", "dead"),
        ]  # fmt: skip


async def test_what_is_finished_is_forgotten_in_time_and_what_waits_or_is_dead_is_not(harness: WatchedHarness) -> None:
    await harness.put_many(3)
    done, dead, left = await harness.lease(harness.stranger(), 3)
    await harness.broker.ack([Ack(done)])
    await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
    await asyncio.sleep(30 * 24 * HOUR)
    await harness.state.journal.prune(HOUR)
    rows = await harness.table.get([entry_place(one.id) for one in (done, dead)])
    assert [row is None for row in rows] == [True, False]
    assert left.id in {one.id for one in await harness.lease_all(harness.stranger())}
    assert await harness.broker.redrive([dead.id]) == [dead.id]
    assert dead.id in {one.id for one in await harness.lease_all(harness.stranger())}


# --- others -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ['{"image": "a.png"}', "eyJhIjogMX0=", "just words", '{"tenure": "theirs"}'])
async def test_a_foreign_message_keeps_text_and_id_over_death_and_redrive(harness: WatchedHarness, text: str) -> None:
    await harness.put_text(text)
    lease = await harness.lease_one(harness.stranger())
    assert lease.envelope == text.encode()
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert await harness.shown() == []
    assert await harness.broker.redrive([lease.id]) == [lease.id]
    again = await harness.lease_one(harness.stranger())
    assert again.id == lease.id
    assert again.envelope == text.encode() or json.loads(again.envelope) == json.loads(text)


async def test_a_message_keeps_its_plain_form_over_returns_and_redrives() -> None:
    async with PlainHarness() as harness:
        message = await harness.put(body={"image": "a.png"})

        async def is_plain() -> None:
            (text,) = await harness.shown()
            shown = json.loads(text)
            assert shown.pop("tenure")["id"] == message.id
            assert shown == {"image": "a.png"}

        await is_plain()
        lease = await harness.lease_one(harness.stranger())
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        await is_plain()
        lease = await harness.lease_one(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        assert await harness.broker.redrive([lease.id]) == [lease.id]
        await is_plain()
        lease = await harness.lease_one(harness.stranger())
        assert decode(lease.envelope) == msgspec.structs.replace(message, generation=1)


@pytest.mark.parametrize("body", [[1], {"tenure": 1}])
async def test_what_cannot_stand_in_the_plain_form_is_refused(body: Any) -> None:
    async with PlainHarness() as harness:
        (sent,) = await harness.broker.send([Outgoing(harness.message(body=body))])
        assert sent.refusal is not None
        assert "payload" in sent.refusal.text
        assert await harness.lease(harness.stranger()) == []


async def test_a_large_message_that_was_sent_for_later_can_be_made_ready_now(harness: WatchedHarness) -> None:
    message = await harness.put(body={"text": "x" * 40_000}, delay_seconds=HOUR)
    (promoted,) = await harness.broker.promote([message.id])
    assert (promoted.was, promoted.refusal) == (MessageState.DELAYED, "")
    assert (await harness.lease_one(harness.stranger())).id == message.id


async def test_many_queues_are_not_asked_for_more_than_one_lease_call_wants(harness: WatchedHarness) -> None:
    queues = [f"queue-{number}" for number in range(10)]
    for queue in queues:
        await harness.put_many(10, queue=queue)
    owner = await harness.owner()
    leases: list[Lease] = []
    for _ in range(30):
        await harness.broker.wait(queues, 5.0)
        harness.requests.clear()
        leases = await harness.broker.lease(harness.request(owner, 16, queues=tuple(queues)))
        if leases:
            break
    assert leases
    asked = [int(query["numofmessages"][0]) for _, _, query in harness.requests if "numofmessages" in query]
    assert sum(asked) <= 2 * 16
