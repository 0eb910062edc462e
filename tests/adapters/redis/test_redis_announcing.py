"""Announcements on Redis: garbage and lost hints lose none, reading is bounded, and plain messages pay nothing."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.conformance.redis_harness import SINGLE, ClusterHarness, RedisHarness

from tenure.adapters.redis import announcing
from tenure.announcement import RESULT_LIMIT, Announcement, AnnounceRequest
from tenure.claim import ClaimRequest, Scope, digest
from tenure.envelope import decode
from tenure.errors import StoreForeign
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter
from tenure.testing.harness import BROKEN, QUEUE, TASK

TARGETS = ("webhook:orders",)
QUEUES = tuple(f"client{number}-tasks" for number in range(9))
HIGHEST = "18446744073709551615-18446744073709551615"


@pytest.fixture(params=[*SINGLE, ClusterHarness], ids=[*(kind.kind for kind in SINGLE), "cluster"])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


in_cluster = pytest.mark.parametrize("harness", [ClusterHarness], ids=["cluster"], indirect=True)


def _stream(harness: RedisHarness, queue: str = QUEUE) -> str:
    return f"{harness._store.names.beside(queue)}announcements"


async def _cancelled(harness: RedisHarness, queue: str = QUEUE) -> str:
    """A message that ended; its id."""
    message = await harness.put(queue=queue, announce=TARGETS)
    await harness.broker.cancel([message.id], queue)
    return message.id


async def _pages(harness: RedisHarness, limit: int) -> AsyncIterator[list[Announcement]]:
    place = ""
    while page := await harness.broker.announcements(place, limit):
        yield page
        place = page[-1].place


async def _ids(harness: RedisHarness, limit: int = 100) -> list[str]:
    return [one.id async for page in _pages(harness, limit) for one in page]


# --- what it costs ------------------------------------------------------------------------------------------


async def test_a_message_that_does_not_ask_leaves_no_key_and_an_asking_one_none_but_its_announcement(
    harness: RedisHarness,
) -> None:
    def keys() -> set[str]:
        parts = (key.decode().split(":", 2)[2] for key in harness._raw.scan_iter(f"{harness._prefix}:*", count=1000))
        return {part.removeprefix("all:") for part in parts}

    await harness.complete(await harness.leased(harness.stranger()))
    plain = keys()
    assert not any("announc" in key or key.startswith("x:") for key in plain)
    lease = await harness.leased(harness.stranger(), announce=TARGETS)
    await harness.complete(lease, b"9")
    added = {"announcements", "announcing"} if harness._store.link.is_cluster else {"announcements"}
    assert keys() - plain == added
    record = await harness.record(lease.id)
    assert (record.state, record.result, record.counters.deliveries) == (MessageState.COMPLETED, b"9", 1)


async def test_ten_thousand_are_read_in_pages_with_few_in_each_script(harness: RedisHarness) -> None:
    ids: list[str] = []
    for _ in range(10):
        batch = [harness.message(announce=TARGETS) for _ in range(1000)]
        await harness.broker.send([Outgoing(one) for one in batch])
        await harness.broker.cancel([one.id for one in batch], QUEUE)
        ids += [one.id for one in batch]
    store: Any = harness._store
    run_all, sizes = store.run_all, list[int]()

    async def counted(calls: Any, **more: Any) -> list[Any]:
        answers: list[Any] = await run_all(calls, **more)
        sizes.extend(len(values) // 3 for _, values in answers)
        return answers

    store.run_all = store.run_each = counted
    assert await _ids(harness, 1000) == ids
    assert sum(sizes) == len(ids)
    assert max(sizes) <= 250


async def test_large_ones_are_read_few_at_a_time(harness: RedisHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "_BYTES", 4 * RESULT_LIMIT)
    ids = []
    for number in range(12):
        lease = await harness.leased(harness.stranger(), queue=QUEUES[number // 4], announce=TARGETS)
        await harness.complete(lease, b'"%s"' % (b"x" * (RESULT_LIMIT - 2)))
        ids.append(lease.id)
    pages = [page async for page in _pages(harness, 100)]
    assert [one.id for page in pages for one in page] == ids
    assert 2 <= max(map(len, pages)) <= 8


async def test_endings_of_many_queues_are_each_read_once_in_their_order(harness: RedisHarness) -> None:
    ended = [await _cancelled(harness, queue) for _ in range(4) for queue in QUEUES]
    for limit in (1, 2, 7, 100):
        found = await _ids(harness, limit)
        assert sorted(found) == sorted(ended)
        if not harness._store.link.is_cluster:
            assert found == ended


# --- packs: plain messages that are completed together ------------------------------------------------------


async def _packed(harness: RedisHarness, count: int, *, queue: str = QUEUE, same: bool = True) -> list[str]:
    """Messages that were completed in one call; their ids."""
    owner = harness.stranger()
    leases = [await harness.leased(owner, queue=queue, announce=TARGETS) for _ in range(count)]
    await harness.broker.ack([Ack(lease, b"9" if same else b"%d" % n) for n, lease in enumerate(leases)])
    return [lease.id for lease in leases]


@pytest.mark.parametrize("same", [True, False], ids=["one result", "own results"])
async def test_messages_that_are_completed_together_are_one_entry(harness: RedisHarness, *, same: bool) -> None:
    ids = await _packed(harness, 7, same=same)
    assert harness._raw.xlen(_stream(harness)) == 1
    waiting = await harness.broker.announcements()
    assert [(one.id, one.result) for one in waiting] == [(id, b"9" if same else b"%d" % n) for n, id in enumerate(ids)]
    await harness.broker.announced(waiting)
    assert harness._raw.xlen(_stream(harness)) == 0


async def test_a_pack_has_a_bounded_size(harness: RedisHarness) -> None:
    ids = await _packed(harness, 250)
    assert harness._raw.xlen(_stream(harness)) == 3
    assert await _ids(harness) == ids
    owner = harness.stranger()
    leases = [await harness.leased(owner, announce=TARGETS) for _ in range(9)]
    await harness.broker.ack([Ack(lease, b'"%s"' % (b"x" * (RESULT_LIMIT - 2))) for lease in leases])
    assert harness._raw.xlen(_stream(harness)) == 3 + 5


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_a_pack_is_read_from_any_place(harness: RedisHarness, limit: int) -> None:
    ended = [
        *await _packed(harness, 5), await _cancelled(harness), *await _packed(harness, 3, queue=QUEUES[0]),
        *await _packed(harness, 4, same=False),
    ]  # fmt: skip
    pages = [page async for page in _pages(harness, limit)]
    assert [one.id for page in pages for one in page] == ended
    assert max(map(len, pages)) == min(limit, len(ended))


async def test_those_of_a_pack_are_announced_one_by_one(harness: RedisHarness) -> None:
    ids = await _packed(harness, 5)
    waiting = await harness.broker.announcements()
    for one in (waiting[3], waiting[0], waiting[0], waiting[4]):
        await harness.broker.announced([one])
        ids = [id for id in ids if id != one.id]
        assert await _ids(harness, 2) == ids
    for other in ({"id": "other"}, {"generation": 1}, {"queue": "other"}, {"place": "1-1/1/5"}):
        await harness.broker.announced([msgspec.structs.replace(waiting[1], **other)])
        assert await _ids(harness) == ids
    await harness.broker.announced(waiting[1:3])
    assert await _ids(harness) == []
    assert not harness._raw.exists(f"{_stream(harness)}:had")


async def test_a_pack_that_was_changed_by_hand_is_passed_over(harness: RedisHarness) -> None:
    ids = await _packed(harness, 2)
    raw, key = harness._raw, _stream(harness)
    ((_, fields),) = raw.xrange(key, "-", "+")
    names = [*fields]
    for name, value in ((b"q", b"other"), (b"p", b"soon"), (names[3], b"zz"), (names[3], b"50|1|a\x1f0|[{]")):
        raw.xadd(key, fields | {name: value})
    raw.xadd(key, {b"q": fields[b"q"], b"p": fields[b"p"], b"s": b""})
    last = await _cancelled(harness)
    found = await _ids(harness, 3)
    assert (found[:2], found[-1]) == (ids, last)
    assert set(found[2:-1]) <= set(ids)


async def test_a_task_may_be_called_anything(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger(), task="a|b|c", announce=TARGETS)
    assert (await harness.record(lease.id)).task == "a|b|c"
    await harness.complete(lease)
    (one,) = await harness.broker.announcements()
    assert one.task == "a|b|c"


# --- garbage ------------------------------------------------------------------------------------------------


async def test_entries_that_are_not_ours_are_passed_over(harness: RedisHarness) -> None:
    first = await _cancelled(harness)
    raw, key = harness._raw, _stream(harness)
    for fields in ({"q": "x"}, {"q": harness._store.names.queue(QUEUE), "i": b"\xff", "e": "C"}, {"a": "{", "b": "1"}):
        raw.xadd(key, fields)
    (entry,) = raw.xrange(key, "-", "+", count=1)
    hows = (b"0|Z|1.0||a", b"0|X|soon||a", b"x|X|1.0||a", b"0|X|1.0|z|a", b"0|X")
    for field, value in ((b"a", b"{"), (b"i", b"\xff"), (b"q", b"other"), *((b"h", how) for how in hows)):
        raw.xadd(key, entry[1] | {field: value})
    second = await _cancelled(harness)
    for limit in (1, 2, 100):
        assert await _ids(harness, limit) == [first, second]


async def test_after_an_entry_with_the_highest_number_endings_are_still_announced(harness: RedisHarness) -> None:
    first = await _cancelled(harness)
    harness._raw.xadd(_stream(harness), {"somebody": "else's"}, HIGHEST)
    assert await _ids(harness, 1) == [first]
    second, third = await _cancelled(harness), await _cancelled(harness)
    waiting = await harness.broker.announcements()
    assert [one.id for one in waiting] == [first, second, third]
    await harness.broker.announced(waiting)
    assert await _ids(harness) == []


async def test_a_request_that_cannot_be_read_does_not_stop_the_ack(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger(), announce=TARGETS)
    other = await harness.leased(harness.stranger(), announce=TARGETS)
    records = f"{harness._store.names.queue(QUEUE)}m"
    for one, text in ((lease, b"zz"), (other, b"0|[{]")):
        record = harness._raw.hget(records, one.id).partition(b"\x1f")[0]
        harness._raw.hset(records, one.id, record + b"\x1f" + text)
    await harness.broker.ack([Ack(lease), Ack(other)])
    assert await harness.state_of(lease.id) == MessageState.COMPLETED
    assert await _ids(harness) == []


async def test_with_another_kind_of_key_a_message_does_not_end_and_ends_once_it_is_gone(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger(), announce=TARGETS)
    plain = await harness.leased(harness.stranger())
    harness._raw.set(_stream(harness), "somebody else's")
    for act in (
        lambda: harness.broker.ack([Ack(lease)]),
        lambda: harness.broker.dead_letter([DeadLetter(lease, BROKEN)]),
        lambda: harness.broker.cancel([lease.id], QUEUE),
    ):
        with pytest.raises(StoreForeign):
            await act()
        assert await harness.state_of(lease.id) == MessageState.LEASED
    await harness.complete(plain)
    harness._raw.delete(_stream(harness))
    await harness.complete(lease)
    assert await _ids(harness) == [lease.id]


async def test_a_message_whose_envelope_is_gone_is_announced_as_dead(harness: RedisHarness) -> None:
    message, prefix = await harness.put(announce=TARGETS), harness._store.names.queue(QUEUE)
    harness._raw.delete(f"{prefix}s5")
    await harness.sweep()
    assert await harness.state_of(message.id) == MessageState.DEAD
    (one,) = await harness.broker.announcements()
    assert (one.id, one.ending, one.targets) == (message.id, MessageState.DEAD, TARGETS)
    assert one.reason is not None
    assert one.reason.code == "malformed_entry"


async def test_an_announcement_is_ended_by_its_place_and_its_message_together(harness: RedisHarness) -> None:
    ended = await _cancelled(harness)
    (one,) = await harness.broker.announcements()
    for other in ({"id": "other"}, {"generation": 1}, {"queue": "other"}, {"place": "1-1"}):
        await harness.broker.announced([msgspec.structs.replace(one, **other)])
        assert await _ids(harness) == [ended]


async def test_a_dead_letter_of_a_version_that_announces_nothing_is_deleted_in_silence(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger(), announce=TARGETS)
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    await harness.broker.announced(await harness.broker.announcements())
    details = f"{harness._store.names.queue(QUEUE)}x:{lease.id}"
    assert harness._raw.hdel(details, "an") == 1
    assert await harness.broker.delete([lease.id], QUEUE) == [lease.id]
    assert await _ids(harness) == []


# --- what is asked for later, or refused --------------------------------------------------------------------


async def test_a_message_that_tenure_did_not_send_asks_by_its_claim(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger(), key="order-7")
    message = decode(lease.envelope)
    asked = AnnounceRequest(TARGETS, "acme")
    claim = ClaimRequest(
        Scope.of(message), lease.id, lease.owner, harness.lease_seconds, digest(message), announce=asked
    )
    await harness.state.ledger.claim([claim])
    await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    (one,) = await harness.broker.announcements()
    assert (one.id, one.ending, one.client, one.task) == (lease.id, MessageState.DEAD, "acme", TASK)


async def test_a_hand_off_whose_key_is_taken_is_announced_as_dead(harness: RedisHarness) -> None:
    await harness.put(key="order-7", body={"n": 1})
    refused = harness.message(key="order-7", body={"n": 2}, announce=TARGETS)
    lease = await harness.leased(harness.stranger(), queue="first")
    await harness.broker.ack([Ack(lease, b"1", (Outgoing(refused),))])
    (one,) = await harness.broker.announcements()
    assert (one.id, one.ending, one.queue) == (refused.id, MessageState.DEAD, QUEUE)


async def test_of_acks_in_one_call_only_the_duplicates_are_silent(harness: RedisHarness) -> None:
    leases = [
        await harness.leased(harness.stranger(), queue=queue, announce=TARGETS)
        for queue in (QUEUE, QUEUE, QUEUE, "other", "other")
    ]
    duplicates = {leases[1].id, leases[3].id}
    await harness.broker.ack([Ack(lease, b"1", is_duplicate=lease.id in duplicates) for lease in leases])
    assert {*await _ids(harness)} == {lease.id for lease in leases} - duplicates
    assert {await harness.state_of(lease.id) for lease in leases} == {MessageState.COMPLETED}


# --- large results, and queues that are forgotten -----------------------------------------------------------


async def test_a_queue_with_a_large_result_that_waits_is_not_forgotten(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger(), announce=TARGETS)
    result = b'"%s"' % (b"x" * RESULT_LIMIT)
    await harness.complete(lease, result)
    await harness.advance(harness._options.keep_seconds * 2, sweeping=False)
    for _ in range(2):
        await harness.sweep()
        await harness.advance(7200.0, sweeping=False)
    assert not await harness.broker.forget_queue(QUEUE)
    record = await harness.record(lease.id)
    assert (record.result, record.counters.deliveries) == (result, 1)
    await harness.broker.announced(await harness.broker.announcements())
    assert await harness.state.records.get(lease.id) is None
    assert await harness.broker.forget_queue(QUEUE)
    assert not harness._raw.exists(f"{harness._store.names.queue(QUEUE)}large")


# --- in a cluster -------------------------------------------------------------------------------------------


@in_cluster
async def test_a_set_of_queues_that_was_lost_is_made_anew_by_the_next_sweep(harness: ClusterHarness) -> None:
    ended = [await _cancelled(harness, queue) for queue in QUEUES]
    harness._raw.delete(harness._store.names.announcing)
    other = await harness.elsewhere()
    assert await other.announcements() == []
    await harness.sweep()
    assert sorted(one.id for one in await other.announcements()) == sorted(ended)


@in_cluster
async def test_the_set_names_a_queue_before_a_message_is_stored_there(harness: ClusterHarness) -> None:
    store: Any = harness._store
    run_all, known = store.run_all, []

    async def watched(calls: Any, **more: Any) -> list[Any]:
        known.append(harness._raw.smembers(store.names.announcing))
        return await run_all(calls, **more)  # type: ignore[no-any-return]

    message = harness.message(queue="first", announce=TARGETS)
    lease = await harness.leased(harness.stranger(), queue="third")
    store.run_all = watched
    await harness.broker.send([Outgoing(message)])
    assert b"first" in known[0]
    known.clear()
    handoff = harness.message(queue="second", announce=TARGETS)
    await harness.broker.ack([Ack(lease, b"1", (Outgoing(handoff),))])
    assert b"second" in known[0]


@in_cluster
async def test_one_queue_with_another_kind_of_key_does_not_hide_the_others(
    harness: ClusterHarness, caplog: pytest.LogCaptureFixture
) -> None:
    ended = [await _cancelled(harness, queue) for queue in QUEUES]
    harness._raw.delete(_stream(harness, QUEUES[0]))
    harness._raw.set(_stream(harness, QUEUES[0]), "somebody else's")
    for _ in range(2):
        assert await _ids(harness, 3) != []
        assert sorted(await _ids(harness)) == sorted(ended[1:])
    await harness.sweep()
    told = [record for record in caplog.records if f"queue {QUEUES[0]} is left out" in record.getMessage()]
    assert len(told) == 1


@in_cluster
async def test_a_queue_that_is_forgotten_is_taken_off_the_set_and_comes_back(harness: ClusterHarness) -> None:
    await _cancelled(harness)
    assert not await harness.broker.forget_queue(QUEUE)
    await harness.broker.announced(await harness.broker.announcements())
    assert await harness.broker.forget_queue(QUEUE)
    assert not harness._raw.exists(_stream(harness), harness._store.names.announcing)
    ended = await _cancelled(harness)
    assert await _ids(harness) == [ended]


@in_cluster
async def test_a_queue_that_another_process_forgot_meanwhile_is_found_by_the_next_sweep(
    harness: ClusterHarness,
) -> None:
    await _cancelled(harness)
    await harness.broker.announced(await harness.broker.announcements())
    other = await harness.elsewhere()
    assert await other.forget_queue(QUEUE)
    ended = await _cancelled(harness)  # this process noted the queue a moment ago, and does not again
    await harness.sweep()
    assert await _ids(harness) == [ended]


@in_cluster
async def test_of_several_queues_those_that_were_ended_before_a_crash_are_not_told_again(
    harness: ClusterHarness,
) -> None:
    ended = [await _cancelled(harness, queue) for queue in QUEUES[:3]]
    waiting = await harness.broker.announcements()
    await harness.broker.announced(waiting[:1])
    assert await _ids(harness) == ended[1:]
    await harness.broker.announced(waiting)
    assert await _ids(harness) == []
