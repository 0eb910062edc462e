"""Snapshots: made once for all viewers, only while somebody looks, and in parts for those who see some queues only."""

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from tenure import Tenure
from tenure.broker import BrokerTraits
from tenure.client.operations.access import Access
from tenure.client.operations.overview.reading import OverviewReader
from tenure.errors import BrokerUnavailable
from tenure.message import Message, Outgoing
from tenure.server.snapshots.encoded_part import encode_part
from tenure.server.snapshots.entity_tag import tag_of
from tenure.server.snapshots.parts import SnapshotPart, leases_of, overview_of, queues_of, times_of
from tenure.server.snapshots.snapshots import Snapshots
from tenure.server.snapshots.ticks import SnapshotTicks
from tenure.testing.virtual import VirtualClock


@pytest.fixture
def app(virtual_clock: VirtualClock) -> Tenure:
    return Tenure("memory://", clock=virtual_clock)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the store was read for an overview."""
    counted: Counter[str] = Counter()
    plain = OverviewReader.read

    async def read(self: OverviewReader) -> Any:
        counted["read"] += 1
        await asyncio.sleep(0.01)
        return await plain(self)

    monkeypatch.setattr(OverviewReader, "read", read)
    return counted


async def send(app: Tenure, queue: str, number: int) -> None:
    ids = [f"{queue}-{one}" for one in range(number)]
    body = msgspec.Raw(b"{}")
    await app.send([Outgoing(Message(id=id, queue=queue, task="resize", body=body)) for id in ids])


def access_of(app: Tenure, *queues: str, sees_payload: bool = True) -> Access:
    return app.operate.bound(by="ada", queues=queues or ("*",), sees_payload=sees_payload).access


async def test_nobody_looks_and_nothing_is_read(virtual_clock: VirtualClock, app: Tenure, reads: Counter[str]) -> None:
    snapshots = Snapshots(app)
    await asyncio.sleep(3600)
    assert not reads
    with snapshots.watched(access_of(app), lambda: None):
        await asyncio.sleep(10.5)
    assert 10 <= reads["read"] <= 11
    await asyncio.sleep(3600)
    assert reads["read"] <= 11


async def test_two_hundred_viewers_are_one_read(virtual_clock: VirtualClock, app: Tenure, reads: Counter[str]) -> None:
    snapshots = Snapshots(app)
    views = await asyncio.gather(*(snapshots.view(access_of(app)) for _ in range(200)))
    assert reads["read"] == 1
    assert all(view is views[0] for view in views)
    await asyncio.sleep(0.5)
    await snapshots.view(access_of(app, "acme-*"))
    assert reads["read"] == 1
    await asyncio.sleep(0.6)
    await snapshots.view(access_of(app))
    assert reads["read"] == 2


async def test_a_viewer_who_leaves_does_not_end_the_look_of_the_others(
    virtual_clock: VirtualClock, app: Tenure, reads: Counter[str]
) -> None:
    snapshots = Snapshots(app)
    leaving = asyncio.create_task(snapshots.current())
    staying = asyncio.create_task(snapshots.current())
    await asyncio.sleep(0.001)
    leaving.cancel()
    assert (await staying).number == 1
    assert reads["read"] == 1


async def test_a_store_that_is_paid_for_is_asked_as_seldom_as_its_trait_says(
    virtual_clock: VirtualClock, app: Tenure, reads: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    traits = msgspec.structs.replace(app.broker.traits, snapshot_seconds=15.0)
    monkeypatch.setattr(type(app.broker), "traits", property(lambda _: traits))
    assert isinstance(traits, BrokerTraits)
    snapshots = Snapshots(app)
    with snapshots.watched(access_of(app), lambda: None):
        await asyncio.sleep(61)
        for _ in range(10):
            await snapshots.view(access_of(app))
    assert reads["read"] == 5
    assert 0 < snapshots.next_in() <= 15


async def test_a_slow_store_is_looked_at_for_a_tenth_of_the_time(
    virtual_clock: VirtualClock, app: Tenure, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, spent = OverviewReader.read, 0.0

    async def read(self: OverviewReader) -> Any:
        nonlocal spent
        spent += 0.5
        await asyncio.sleep(0.5)
        return await plain(self)

    monkeypatch.setattr(OverviewReader, "read", read)
    with Snapshots(app).watched(access_of(app), lambda: None):
        await asyncio.sleep(100)
    assert 9 <= spent <= 11


async def test_who_may_see_some_queues_gets_their_part(virtual_clock: VirtualClock, app: Tenure) -> None:
    await send(app, "acme-1", 3)
    await send(app, "umbrella-1", 5)
    snapshots = Snapshots(app)
    everything = await snapshots.view(access_of(app))
    assert (everything.total.waiting, len(everything.queues)) == (8, 2)
    part = await snapshots.view(access_of(app, "acme-*"))
    assert (part.total.waiting, [row.queue for row in part.queues]) == (3, ["acme-1"])
    assert "umbrella" not in str(part)
    assert "3 messages" in part.headline.text
    assert (await snapshots.view(access_of(app, "nothing-*"))).queues == ()


async def test_an_outage_is_an_error_for_who_asks_and_ends_nothing(
    virtual_clock: VirtualClock, app: Tenure, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plain, woken = OverviewReader.read, 0

    async def fail(self: OverviewReader) -> Any:
        msg = "nobody there"
        raise BrokerUnavailable(msg)

    def wake() -> None:
        nonlocal woken
        woken += 1

    snapshots = Snapshots(app)
    with snapshots.watched(access_of(app), wake):
        await asyncio.sleep(5)
        before = woken
        monkeypatch.setattr(OverviewReader, "read", fail)
        await asyncio.sleep(60)
        assert woken <= before + 1
        with pytest.raises(BrokerUnavailable):
            await snapshots.current()
        monkeypatch.setattr(OverviewReader, "read", plain)
        await asyncio.sleep(5)
        assert woken > before + 1
    assert caplog.text.count("no snapshot can be made") == 1


def payload_of(tick: bytes) -> Any:
    lines = tick.split(b"\n")
    assert lines[0] == b"event: snapshot"
    return msgspec.json.decode(lines[1].removeprefix(b"data: "))["payload"]


async def test_ticks_are_whole_first_and_then_what_changed(virtual_clock: VirtualClock, app: Tenure) -> None:
    await send(app, "mail", 2)
    snapshots, access = Snapshots(app), access_of(app)
    ticks = SnapshotTicks(snapshots, access, frozenset(SnapshotPart), 20)
    assert ticks.next() == b""
    await snapshots.view(access)
    first = payload_of(ticks.next())
    assert first["overview"]["total"]["waiting"] == 2
    assert first["leases"] == {"is_whole": True, "changed": [], "removed": [], "is_cut": False}
    assert ticks.next() == b"", "each snapshot is sent once"
    await send(app, "mail", 5)
    await asyncio.sleep(1.1)
    await snapshots.view(access)
    assert payload_of(ticks.next())["overview"]["total"]["waiting"] == 5


async def test_a_tick_without_news_has_only_the_times(virtual_clock: VirtualClock, app: Tenure) -> None:
    snapshots, access = Snapshots(app), access_of(app)
    ticks = SnapshotTicks(snapshots, access, frozenset({SnapshotPart.OVERVIEW}), 20)
    sizes = []
    for _ in range(5):
        await snapshots.view(access)
        tick = ticks.next()
        sizes.append(len(tick))
        assert payload_of(tick)["times"]["next_snapshot_in"] == pytest.approx(1.0, abs=0.1)
        await asyncio.sleep(1.1)
    assert all(size < 400 for size in sizes[1:])
    assert sizes[0] > 400


async def test_viewers_who_were_sent_the_same_are_sent_the_same_bytes(virtual_clock: VirtualClock, app: Tenure) -> None:
    snapshots, parts = Snapshots(app), frozenset(SnapshotPart)
    ticks = [SnapshotTicks(snapshots, access_of(app), parts, 20) for _ in range(3)]
    await snapshots.view(access_of(app))
    assert all(one.next() for one in ticks)
    await asyncio.sleep(1.1)
    await snapshots.view(access_of(app))
    sent = [one.next() for one in ticks]
    assert sent[0] is sent[1] is sent[2]


async def test_an_overview_of_a_thousand_queues_fits_into_8_kilobytes(virtual_clock: VirtualClock, app: Tenure) -> None:
    for number in range(1_000):
        await send(app, f"customer-with-a-long-name-{number}-tasks", 1)
    snapshots, access = Snapshots(app), access_of(app)
    await snapshots.view(access)
    tick = SnapshotTicks(snapshots, access, frozenset({SnapshotPart.OVERVIEW}), 20).next()
    assert len(tick) <= 8_192
    assert payload_of(tick)["overview"]["queue_count"] == 1_000


async def test_an_answer_is_encoded_once_and_has_its_own_times(virtual_clock: VirtualClock, app: Tenure) -> None:
    await send(app, "mail", 2)
    snapshots, access = Snapshots(app), access_of(app)
    encodes = 0

    def redact(document: bytes) -> bytes:
        nonlocal encodes
        encodes += 1
        return document.replace(b"mail", b"post")

    async def answer(part: Any) -> tuple[bytes, Any]:
        overview = await snapshots.view(access)
        times = times_of(overview, app.state.wall(), snapshots.next_in())
        encoded = snapshots.made_of(overview, part, lambda: encode_part(part(overview, times), redact))
        whole = part(overview, times)
        assert encoded.tag == tag_of(whole)
        return encoded.body(times), whole

    for part in (overview_of, queues_of, leases_of):
        encodes, bodies = 0, []
        for _ in range(3):
            body, whole = await answer(part)
            bodies.append(body)
            assert body == msgspec.json.encode(whole).replace(b"mail", b"post")
            await asyncio.sleep(0.1)
        assert (encodes, len(set(bodies))) == (1, 3)
        await send(app, "mail", 3)
        await asyncio.sleep(1.1)
        await answer(part)
        assert encodes == 2, "a newer snapshot is encoded anew"
