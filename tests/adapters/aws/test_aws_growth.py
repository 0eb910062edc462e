"""What must not grow: rows, memory, and calls with the number of workers and messages."""

import asyncio
import collections
import os
from collections.abc import Sequence

import pytest
from tests.conformance.aws_harness import SqsHarness

from tenure.adapters import aws
from tenure.broker import SweepRequest
from tenure.claim import ClaimRequest, Fresh, Scope, Seal
from tenure.event import Event, EventKind
from tenure.lease import LeaseRequest, LeaseState
from tenure.message import MessageState, Outgoing
from tenure.owner import Owner
from tenure.rowstore.journal import RowStoreJournal
from tenure.rowstore.row_changes import RowChanges, entry_place
from tenure.rowstore.store import Store
from tenure.settlement import Ack
from tenure.table import Write
from tenure.tasks.context import Context
from tenure.testing.workers import Stage
from tenure.verdict import Retry


@pytest.fixture
def house() -> SqsHarness:
    return SqsHarness()


def _store(house: SqsHarness) -> Store:
    return house._store


def _owner(number: int) -> Owner:
    return Owner(
        name=f"w{number}", nonce="0", host="h", pid=number + 1, boot_id="b", started_at=1.0, queues=(), concurrency=1,
        tasks=(),
    )  # fmt: skip


async def test_boots_that_are_over_are_not_read_by_every_look_at_the_roster(house: SqsHarness) -> None:
    async with house:
        roster = house.state.roster
        for number in range(30):
            await roster.join(_owner(number))
            await roster.leave(_owner(number))
            await house.broker.retire(_owner(number).id, crashed=False)
        await roster.join(_owner(99))
        assert [member.owner.name for member in await roster.members()] == ["w99"]
        assert len(await _store(house).table.page("roster", limit=1000)) == 1
        for number in range(30):
            assert await _store(house).roster.banned([_owner(number).id])


async def test_a_lost_lease_is_not_remembered(house: SqsHarness) -> None:
    async with house:
        store = _store(house)
        for _ in range(3):
            await house.put()
        lost = await house.lease(owner="one/1", want=2)
        kept = await house.lease(owner="two/1", want=1)
        await house.broker.retire("one/1", crashed=True)
        touched = await house.broker.touch(lost)
        assert [lease.state for lease in touched] == [LeaseState.LOST] * 2
        assert list(store.memory._held) == [kept[0].id]
        assert list(store.memory._batches) == [("two/1", store.memory._held[kept[0].id].batch)]


async def test_what_is_lent_to_the_same_worker_again_is_remembered_once(house: SqsHarness) -> None:
    async with house:
        store = _store(house)
        await house.put()
        for _ in range(3):
            (lease,) = await house.lease(owner="one/1")
            await house.broker.sweep(SweepRequest(interval_seconds=1000.0))
            await asyncio.sleep(lease.seconds + 1)
            await house.broker.sweep(SweepRequest(interval_seconds=1000.0, max_attempts=9))
        (lease,) = await house.lease(owner="one/1")
        assert len(store.memory._batches) == 1
        await house.broker.ack([Ack(lease)])
        assert not store.memory._batches
        assert not await store.table.page("o#one/1")


async def test_a_run_whose_claim_was_lost_is_not_remembered(house: SqsHarness) -> None:
    async with house:
        message = await house.put()
        (lease,) = await house.lease(owner="one/1")
        request = ClaimRequest(Scope.of(message), message.id, "one/1", lease.seconds, "")
        (answer,) = await house.state.ledger.claim([request])
        assert isinstance(answer, Fresh)
        await house.broker.retire("one/1", crashed=True)
        assert await house.state.ledger.seal([Seal(answer.token, b"1", ())]) == [False]
        assert not _store(house).memory._held


async def test_the_lot_of_a_call_stays_until_the_last_of_its_messages_is_settled(house: SqsHarness) -> None:
    async with house:
        done = await house.put()
        (lease,) = await house.lease(owner="one/1")
        request = ClaimRequest(Scope.of(done), done.id, "one/1", lease.seconds, "")
        (answer,) = await house.state.ledger.claim([request])
        assert isinstance(answer, Fresh)
        assert await house.state.ledger.seal([Seal(answer.token, b"1", ())]) == [True]
        await house.broker.retire("one/1", crashed=True)  # before it could delete it
        await house.put()
        leases = await house.lease(owner="two/1", want=2)
        assert len(leases) == 2
        (sealed,) = [one for one in leases if one.id == done.id]
        await house.broker.ack([Ack(sealed)])
        assert len(await house.broker.held("two/1")) == 1


async def test_a_run_may_hand_on_very_many_small_messages() -> None:
    house = SqsHarness()
    house.in_dynamo = True
    async with house:
        message = await house.put()
        (lease,) = await house.lease(owner="one/1")
        request = ClaimRequest(Scope.of(message), message.id, "one/1", lease.seconds, "")
        (answer,) = await house.state.ledger.claim([request])
        assert isinstance(answer, Fresh)
        handoffs = tuple(Outgoing(house.message(headers={"why": "x" * 200})) for _ in range(1000))
        assert await house.state.ledger.seal([Seal(answer.token, b"1", handoffs)]) == [True]
        (row,) = await _store(house).table.get([entry_place(message.id)])
        assert row is not None
        assert len(row.text) < 400_000, "DynamoDB takes no more"
        assert len((await house.state.ledger.claim([request]))[0].handoffs) == 1000  # type: ignore[union-attr]


async def test_rows_of_messages_that_are_done_are_not_kept_in_memory(house: SqsHarness) -> None:
    async with house:
        message = await house.put()
        (lease,) = await house.lease(owner="one/1")
        request = ClaimRequest(Scope.of(message), message.id, "one/1", lease.seconds, "")
        (answer,) = await house.state.ledger.claim([request])
        assert isinstance(answer, Fresh)
        await house.state.ledger.seal([Seal(answer.token, b"x" * 50_000, ())])
        await house.broker.ack([Ack(lease)])
        assert not _store(house).memory.wrote


async def test_a_sweep_reads_no_message_whose_lease_cannot_have_ended(house: SqsHarness) -> None:
    async with house:
        await house.broker.sweep(SweepRequest(interval_seconds=house.sweep_interval_seconds))
        await house.put_many(20)
        for _ in range(2):
            await house.lease(owner="one/1", want=10)
        table = _store(house).table
        read: list[str] = []
        get = table.get

        async def counted(places: list[object]) -> object:
            read.extend(str(place) for place in places)
            return await get(places)  # type: ignore[arg-type]

        table.get = counted  # type: ignore[method-assign, assignment]
        await asyncio.sleep(house.sweep_interval_seconds / 2)
        await house.broker.sweep(SweepRequest(interval_seconds=house.sweep_interval_seconds))
        assert not [place for place in read if "m#" in place]
        table.get = get  # type: ignore[method-assign]
        swept: list[str] = []
        for _ in range(30):
            swept += (await house.broker.sweep(SweepRequest(interval_seconds=house.sweep_interval_seconds))).returned
            await asyncio.sleep(house.sweep_interval_seconds / 2)
        assert len(swept) == 20


async def test_holders_of_nothing_who_are_not_heard_any_more_are_not_asked_for_ever(house: SqsHarness) -> None:
    async with house:
        for number in range(5):
            await house.put()
            (lease,) = await house.lease(owner=f"passing-{number}/1")
            await house.broker.ack([Ack(lease)])
        store = _store(house)
        assert len(await store.table.page("holders")) == 5
        await asyncio.sleep(2 * 86_400)
        for _ in range(2):
            await house.broker.sweep(SweepRequest(interval_seconds=house.sweep_interval_seconds))
        assert len(await store.table.page("holders")) == 0
        await house.put()
        await house.lease(owner="passing-0/1")
        assert len(await store.table.page("holders")) == 1


@pytest.mark.real_time
async def test_copies_that_nobody_takes_are_put_back_soon() -> None:
    house = SqsHarness()
    house.in_dynamo = True
    broker, state = aws.connect(house._options)
    other, _ = aws.connect(house._options)
    await broker.open()
    await state.open()
    await other.open()
    try:
        await broker.wait(["mail"], 1.0)  # makes the queue
        message = house.message(queue="mail")
        await other.send([Outgoing(message)])
        await broker.wait(["mail"], 5.0)  # and takes a copy, but leases nothing
        async with asyncio.timeout(25):  # it was hidden for 45 s
            await other.wait(["mail"], 20.0)
        assert await other.lease(LeaseRequest("two/1", os.urandom(4).hex(), ("mail",), 1, 30.0))
    finally:
        await other.close()
        await state.close()
        await broker.close()
        await house.clean_up()


async def test_workers_that_tell_at_the_same_time_do_not_pay_for_refused_writes(house: SqsHarness) -> None:
    async with house:
        store = _store(house)
        table, told = store.table, collections.Counter[bool]()
        write = table.write

        async def slow(batch: Sequence[Write]) -> list[str | None]:
            await asyncio.sleep(0.005)
            done = await write(batch)
            told.update(version is not None for version in done)
            return done

        table.write = slow  # type: ignore[method-assign]
        journals = [RowStoreJournal(RowChanges(table, house.clock, 1.0)) for _ in range(30)]

        async def tell(journal: RowStoreJournal) -> None:
            until = house.clock.monotonic() + 10
            while house.clock.monotonic() < until:
                await journal.append([Event(EventKind.COMPLETED, 1.0)])
                await asyncio.sleep(0.02)

        await asyncio.gather(*map(tell, journals))
        events = await journals[0].read(limit=10_000)
        assert [one.seq for one in events] == list(range(1, told[True] + 1))
        assert told[False] < 4 * told[True], "it was twenty times as many"


#: As SQS makes them at present, of a standard queue; it may make them longer, up to 1024.
RECEIPT = 412
#: DynamoDB sells what is written by so many bytes.
UNIT = 1024


async def test_a_row_with_a_real_receipt_in_it_is_one_unit_to_write(house: SqsHarness) -> None:
    """Receipts of the stand-ins are short. It is kept so that whoever finds the holder dead can show the message."""
    async with house:
        written = _written(house)
        message = await house.put(queue="thumbnails-of-images", task="shop.pictures.make_thumbnail")
        lease = await house.lease_one("ip-10-0-113-217.internal:12345/63ed5e92", queues=(message.queue,))
        await house.advance(1.0)
        (lease,) = await house.broker.touch([lease])
        await house.complete(lease, b'{"width": 800}')
        receipt = str(lease.receipt).partition(":")[2]
        sizes = [
            len(one.text or "") + sum(map(len, one.place)) + len("partsortdforget") + 10
            + 4 * len(".123456") + (RECEIPT - len(receipt) if receipt in (one.text or "") else 0)
            for one in written
        ]  # fmt: skip
        assert len(sizes) >= 4
        assert max(sizes) <= UNIT, sizes


def _written(house: SqsHarness) -> list[Write]:
    """What is written of messages from now on."""
    written: list[Write] = []
    write = house._table.write

    async def noted(batch: Sequence[Write]) -> list[str | None]:
        written.extend(one for one in batch if one.place.part.startswith("m#"))
        return await write(batch)

    house._table.write = noted  # type: ignore[method-assign]
    return written


#: What DynamoDB takes in a row.
ROW = 400 * 1024


async def test_errors_and_notes_that_carry_whole_documents_do_not_fill_a_row(house: SqsHarness) -> None:
    async with house, Stage(house) as stage:
        written = _written(house)
        runs = 0

        @stage.task(max_attempts=30)
        async def work(ctx: Context) -> None:
            nonlocal runs
            runs += 1
            ctx.progress(0.5, "€" * 500_000)
            await asyncio.sleep(1.5)
            raise Retry(after=0.0, reason="€" * 500_000)

        id = await stage.submit(work.bind())
        await stage.start()
        await stage.until(lambda: runs > 22, within=600)
        assert max(len((one.text or "").encode()) for one in written) < ROW
        record = await house.record(id)
        assert record.state is not MessageState.DEAD
        assert (len(record.history) > 1, record.counters.attempts >= 20) == (True, True)
        assert record.progress is not None


async def test_pages_of_events_are_removed_by_the_table_where_nobody_prunes(
    house: SqsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its time to live, which is free. How long events are kept is known once somebody has pruned."""
    async with house:
        table = _store(house).table
        written: list[float | None] = []
        write = table.write

        async def noted(batch: Sequence[Write]) -> list[str | None]:
            written.extend(one.forget_at for one in batch if one.place.part == "j")
            return await write(batch)

        monkeypatch.setattr(table, "write", noted)
        wall = house.clock.wall()
        one, other = (RowStoreJournal(RowChanges(table, house.clock, 1.0)) for _ in range(2))
        await one.append([Event(EventKind.COMPLETED, wall)])
        await one.prune(3600.0)
        await one.append([Event(EventKind.COMPLETED, wall)])
        await other.append([Event(EventKind.COMPLETED, wall)])
        await other.prune(float("inf"))
        await other.append([Event(EventKind.COMPLETED, wall)])
        a_day_later = wall + 3600.0 + 86_400.0
        assert written == [None, pytest.approx(a_day_later, abs=60.0), pytest.approx(a_day_later, abs=60.0), None]


async def test_places_go_on_rising_when_the_table_has_removed_every_page(house: SqsHarness) -> None:
    async with house:
        table = _store(house).table
        journal = RowStoreJournal(RowChanges(table, house.clock, 1.0))
        for number in range(3):
            await journal.append([Event(EventKind.COMPLETED, house.clock.wall(), data={"number": number})])
        await journal.prune(3600.0)
        pages = await table.page("j", limit=100)
        assert None not in await table.write([Write(page.place, None, None) for page in pages])
        later = RowStoreJournal(RowChanges(table, house.clock, 1.0))
        assert await later.last() == 3
        await later.append([Event(EventKind.COMPLETED, house.clock.wall(), data={"number": 4})])
        (found,) = await later.read(after=3)
        assert found.event.data == {"number": 4}
        assert found.seq > 3
        assert await later.last() == found.seq
