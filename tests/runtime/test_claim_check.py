"""The claim check at `submit`: what goes where, and what is left behind."""

import asyncio
import hashlib
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure import Tenure, assembly, envelope
from tenure.adapters.memory.blobs import MemoryBlobStore
from tenure.blobs import BlobOwner, name_of, owner_of
from tenure.broker import Sent
from tenure.claim import digest
from tenure.client.claim_check import ClaimCheck
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BadURL, BodyTooLarge, BodyUndecodable, BrokerUnavailable
from tenure.message import ELSEWHERE, Message, Outgoing, Ticket
from tenure.runtime.background.blob_gc import BlobCollector
from tenure.tasks.context import Context
from tenure.testing import Kit
from tenure.testing.virtual import VirtualClock
from tenure.timing.profile import SizeEstimate, SizeTable
from tenure.verdict import Reason

LARGE = "x" * 1_100_000
TICKET = Ticket("memory://here", 10, "ab" * 32)


def _message(id: str = "a", queue: str = "q", body: bytes = b'{"n": 1}', **more: Any) -> Message:
    return Message(id=id, queue=queue, task="t", body=msgspec.Raw(body), **more)


def _app(**options: Any) -> Tenure:
    app = Tenure("memory://", claim_check="memory://", **options)

    @app.task
    async def count(text: str) -> int:
        return len(text)

    return app


async def _left(app: Tenure) -> list[str]:
    assert app._claim_check is not None
    return [left.name for left in await app._claim_check.blob_store.browse()]


# --- the envelope ---------------------------------------------------------------------------------------------


def test_a_message_with_a_ticket_is_of_the_second_version_and_comes_back_as_it_was() -> None:
    message = _message(body=bytes(ELSEWHERE), ticket=TICKET, key="k", headers={"a": "b"}, generation=2)
    raw = envelope.encode(message)
    assert msgspec.json.decode(raw)["tenure"] == 2
    read = envelope.decode(raw)
    assert type(read) is Message
    assert read == message
    assert msgspec.json.decode(envelope.encode(_message()))["tenure"] == 1


def test_who_knows_only_the_first_version_does_not_take_it_for_a_message() -> None:
    raw = envelope.encode(_message(body=bytes(ELSEWHERE), ticket=TICKET))
    with pytest.raises(msgspec.ValidationError, match="Invalid value 2"):
        msgspec.json.Decoder(Message).decode(raw)


def test_the_second_version_without_a_ticket_cannot_be_read() -> None:
    raw = envelope.encode(_message(body=bytes(ELSEWHERE), ticket=TICKET))
    fields = msgspec.json.decode(raw)
    del fields["ticket"]
    with pytest.raises(BodyUndecodable) as caught:
        envelope.decode(msgspec.json.encode(fields))
    assert not caught.value.newer
    with pytest.raises(BodyUndecodable) as caught:
        envelope.decode(msgspec.json.encode(fields | {"ticket": 5}))
    assert not caught.value.newer
    with pytest.raises(BodyUndecodable) as caught:
        envelope.decode(msgspec.json.encode(fields | {"tenure": 3}))
    assert caught.value.newer


def test_the_digest_of_a_ticket_is_that_of_the_body() -> None:
    message = _message(body=b' {"n": 1}\n')
    ticketed = ClaimCheck(MemoryBlobStore("", SYSTEM_CLOCK)).ticketed(message)
    assert ticketed.ticket is not None
    assert digest(ticketed) == digest(message) == hashlib.sha256(b'{"n": 1}').hexdigest()


# --- names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["a", "shop/a b", "ü€", "a.b.c", ".", "..", "%41", "x" * 40])
@pytest.mark.parametrize("queue", ["mail", "shop/mail", "a.b"])
def test_a_name_tells_whose_body_it_is(id: str, queue: str) -> None:
    name = name_of(_message(id, queue), "d")
    assert owner_of(name) == BlobOwner(queue, id)
    assert name.isascii()
    assert name.count("/") == queue.count("/") + 1


def test_names_are_apart_for_other_messages_and_other_payloads() -> None:
    messages = [_message(id, queue) for id in ("a", "A", "a" * 500, "b" * 500) for queue in ("q", "r")]
    names = [name_of(message, payload) for message in messages for payload in ("1", "2")]
    assert len({name.lower() for name in names}) == len(names)
    assert max(map(len, names)) < 255
    assert name_of(messages[0], "1") == name_of(messages[0], "1")


@pytest.mark.parametrize("queue", ["..", "../..", "", "/etc", "a//b", "a/../b", ".hidden"])
def test_no_message_names_a_place_outside_the_blob_store(queue: str) -> None:
    for part in name_of(_message("../x", queue), "d").split("/"):
        assert part
        assert not part.startswith(".")


def test_an_id_that_is_too_long_for_a_name_is_not_guessed() -> None:
    assert owner_of(name_of(_message("a" * 500), "d")) == BlobOwner("q", None)


# --- sending --------------------------------------------------------------------------------------------------


async def test_without_a_claim_check_it_is_refused_as_ever() -> None:
    app = Tenure("memory://")

    @app.task
    async def count(text: str) -> int:
        return len(text)

    with pytest.raises(BodyTooLarge):
        await count.submit(LARGE)


async def test_every_way_of_sending_takes_large_bodies(virtual_clock: VirtualClock) -> None:
    app = _app(clock=virtual_clock)
    count = app.tasks["count"]
    async with app:
        handles = [
            await count.submit(LARGE),
            await app.submit("count", {"text": LARGE}),
            *await app.submit_many([count.bind(LARGE), count.bind("small"), count.bind(LARGE)]),
        ]
        assert len(await _left(app)) == 4
        async with app.worker():
            results = [await handle.result(timeout=30) for handle in handles]
    assert results == [len(LARGE)] * 3 + [5, len(LARGE)]
    assert await _left(app) == []


@pytest.mark.real_time
async def test_from_sync_code_too() -> None:
    app = _app()
    handle = await asyncio.to_thread(app.submit_sync, "count", {"text": LARGE})
    async with app, app.worker():
        assert await app.handle(handle.id).result(timeout=30) == len(LARGE)
    await asyncio.to_thread(app.close_sync)


async def test_while_the_blob_store_is_away_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> None:
        raise BrokerUnavailable("away")

    app = _app()
    monkeypatch.setattr(MemoryBlobStore, "leave", away)
    with pytest.raises(BrokerUnavailable):
        await app.tasks["count"].submit(LARGE)
    await app.tasks["count"].submit("small")
    (depth,) = await app.broker.depth()
    assert depth.ready == 1


async def test_what_another_message_stands_for_leaves_nothing_behind() -> None:
    app = _app()
    count = app.tasks["count"]
    first = await count.bind(LARGE).submit(unique="site")
    (kept,) = await _left(app)
    second = await count.bind(LARGE).submit(unique="site")
    assert second.id == first.id
    assert await _left(app) == [kept]


async def test_a_body_is_not_discarded_that_an_earlier_send_of_the_id_may_need() -> None:
    app = _app()
    count = app.tasks["count"]
    await count.bind(LARGE).submit(id="mine", key="k")
    kept = await _left(app)
    again = await count.bind(LARGE).submit(id="mine", key="k")
    assert again.duplicate
    assert await _left(app) == kept


async def test_two_payloads_under_one_id_are_apart() -> None:
    app = _app()
    count = app.tasks["count"]
    first = await count.bind(LARGE).submit(id="mine")
    again = await count.bind(LARGE + "!").submit(id="mine")
    assert again.duplicate
    async with app, app.worker():
        assert await first.result(timeout=30) == len(LARGE)


class _Narrow:
    """A broker whose queue takes less than the broker says."""

    def __init__(self, app: Tenure) -> None:
        self.traits = app.broker.traits
        self._inner = app.broker
        self.sizes: list[int] = []

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        size = sum(len(envelope.encode(out.message)) for out in batch)
        self.sizes.append(size)
        if size > 1000:
            return [Sent(out.message.id, refusal=Reason("body_too_large", "too large")) for out in batch]
        return await self._inner.send(batch)


async def test_a_queue_with_a_limit_of_its_own_gets_a_ticket() -> None:
    app = _app()
    assert app._claim_check is not None
    broker = _Narrow(app)
    out = Outgoing(_message(body=msgspec.json.encode({"text": "x" * 2000})))
    (sent,) = await app._claim_check.send(broker, [out])
    assert sent == Sent("a")
    assert len(broker.sizes) == 2
    assert len(await _left(app)) == 1


async def test_where_others_read_the_queue_nothing_gets_a_ticket() -> None:
    app = _app()
    assert app._claim_check is not None
    broker = _Narrow(app)
    broker.traits = msgspec.structs.replace(broker.traits, takes_tickets=False)
    out = Outgoing(_message(body=msgspec.json.encode({"text": LARGE})))
    (sent,) = await app._claim_check.send(broker, [out])
    assert sent.refusal is not None
    assert sent.refusal.code == "body_too_large"
    assert len(broker.sizes) == 1
    assert await _left(app) == []


async def test_what_is_too_large_even_with_a_ticket_is_refused_and_leaves_nothing() -> None:
    app = _app()
    with pytest.raises(BodyTooLarge):
        await app.tasks["count"].bind("small").submit(headers={"h": LARGE})
    assert await _left(app) == []


async def test_a_hand_off_that_is_too_large_even_with_a_ticket_is_refused_in_the_handler() -> None:
    app = _app()

    @app.task
    async def hand_on(ctx: Context) -> str:
        ctx.submit(app.tasks["count"].bind(LARGE))
        with pytest.raises(BodyTooLarge):
            ctx.submit(app.tasks["count"].bind("small"), headers={"h": LARGE})
        return "handed on"

    async with app, app.worker():
        assert await (await hand_on.submit()).result(timeout=30) == "handed on"


@pytest.mark.real_time
async def test_a_child_process_gets_the_whole_body_and_hands_on_a_larger_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    jobs = importlib.import_module("large_jobs")
    async with jobs.app, jobs.app.worker():
        first = await jobs.hand_on.submit(LARGE)
        second = jobs.app.handle(await first.result(timeout=60))
        assert await second.result(timeout=60) == 2 * len(LARGE)
    assert await _left(jobs.app) == []


# --- elsewhere ------------------------------------------------------------------------------------------------


async def test_a_worker_that_looks_at_another_place_gives_it_back(virtual_clock: VirtualClock) -> None:
    app = _app(clock=virtual_clock)
    assert app._claim_check is not None
    handle = await app.tasks["count"].submit(LARGE)
    mine = app._claim_check.blob_store
    other = MemoryBlobStore("other", SYSTEM_CLOCK)
    app._claim_check.blob_store = other
    async with app, app.worker() as worker:
        while not worker.counts["given_back"]:  # noqa: ASYNC110 - in virtual time
            await asyncio.sleep(0.1)
        record = await app.record(handle.id)
        assert record is not None
        (ending,) = record.history
        assert ending.reason is not None
        assert ending.reason.code == "body_unreachable"
        assert "memory://other" in ending.reason.text
        app._claim_check.blob_store = mine
        assert await handle.result(timeout=600) == len(LARGE)


async def test_the_kit_keeps_large_bodies_in_memory(tmp_path: Any) -> None:
    app = Tenure("memory://", claim_check=f"file://{tmp_path}/bodies")

    @app.task
    async def count(text: str) -> int:
        return len(text)

    async with Kit(app) as kit:
        handle = await count.submit(LARGE)
        await kit.drain()
        assert await handle.result() == len(LARGE)
    assert not (tmp_path / "bodies").exists()


async def test_schedules_send_large_bodies(virtual_clock: VirtualClock) -> None:
    app = _app(clock=virtual_clock)
    app.schedule(app.tasks["count"].bind(LARGE), every=60)
    async with app, app.worker() as worker:
        while not worker.counts["completed"]:  # noqa: ASYNC110 - in virtual time
            await asyncio.sleep(1)


async def test_a_cancelled_message_leaves_its_body_to_the_tidier(virtual_clock: VirtualClock) -> None:
    app = _app(clock=virtual_clock)
    assert app._claim_check is not None
    async with app:
        handle = await app.tasks["count"].submit(LARGE)
        waits = await app.tasks["count"].submit(LARGE + "!")
        assert await handle.cancel()
        tidier = BlobCollector(app._claim_check, app.state.records, app.state.board, "me")
        assert await tidier.look() == 0, "it is young"
        await asyncio.sleep(3_601)
        assert await tidier.look() == 1
        (left,) = await _left(app)
        assert owner_of(left).id == waits.id


async def test_a_message_of_another_queue_with_the_same_id_proves_nothing(virtual_clock: VirtualClock) -> None:
    app = _app(clock=virtual_clock)
    assert app._claim_check is not None
    room = app._claim_check.blob_store
    async with app:
        handle = await app.tasks["count"].submit("small")
        assert await handle.cancel()
        name = name_of(_message(handle.id, "another"), "d")
        await room.leave([(name, b"1")])
        await asyncio.sleep(3_601)
        assert await BlobCollector(app._claim_check, app.state.records, app.state.board, "me").look() == 0
        assert await _left(app) == [name]


async def test_the_tidier_looks_page_by_page(virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.runtime.background.blob_gc.PAGE", 2)
    app = _app(clock=virtual_clock)
    assert app._claim_check is not None
    room = app._claim_check.blob_store
    async with app:
        await room.leave([(name_of(_message(id), "d"), b"1") for id in "abcde"])
        await asyncio.sleep(room.keep_seconds + 1)
        tidier = BlobCollector(app._claim_check, app.state.records, app.state.board, "me")
        assert [await tidier.look() for _ in range(4)] == [2, 2, 1, 0]


# --- URLs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["bodies", "file://bodies", "file:///", "file:bodies", "file:///x?creat=no", "file:///x?keep_seconds=0",
     "file:///x?create=maybe", "ftp://host/x", "http://[", "s3:///x", "s3://B", "s3://bucket?regio=x",
     "s3://bucket?endpoint=host", "s3://bucket?timeout_seconds=-1", "s3://bucket?region=EU", "blob://account",
     "blob://A/con", "blob://account/con?prefix=x", "blob://account/con?keep_seconds=x", "blob://account/con?create=1",
     "blob://account/c", "blob://account/Bodies", "blob://account/a--b", f"blob://account/{'c' * 64}"],
)  # fmt: skip
def test_a_url_that_names_no_place_is_refused_when_the_app_is_made(url: str) -> None:
    with pytest.raises(BadURL):
        Tenure("memory://", claim_check=url)


def test_a_secret_is_not_repeated() -> None:
    with pytest.raises(BadURL) as caught:
        assembly.blob_store("blob://account/con?key=abc%3D%3D&nonsense=1", clock=SYSTEM_CLOCK)
    assert "abc" not in str(caught.value)


def test_the_environment_names_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_CLAIM_CHECK", "memory://named")
    app = Tenure("memory://")
    assert app._claim_check is not None
    assert app._claim_check.blob_store.place == "memory://named"


async def test_a_size_that_lies_in_a_large_body_is_read_when_it_was_fetched(virtual_clock: VirtualClock) -> None:
    """Before, nobody could know how long the lease must be: then it is touched longer, before the handler begins."""
    app = Tenure("memory://", claim_check="memory://", clock=virtual_clock)
    profile = SizeTable((SizeEstimate(100, 300, 500),))

    @app.task(heartbeat=False, size="n", profile=profile)
    async def work(ctx: Context, text: str, n: int) -> float:
        await asyncio.sleep(1)
        return ctx.deadline - virtual_clock.monotonic()

    async with app.worker():
        small = await (await work.submit("x", 1_000)).result(timeout=60)
        large = await (await work.submit(LARGE, 1_000)).result(timeout=60)
    assert small == pytest.approx(large, abs=5.0)
    assert large >= 3_000 * 1.75
