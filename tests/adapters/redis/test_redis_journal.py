"""The journal on Redis: found by fingerprints, heard of, counted; and the audit log."""

import asyncio

import pytest
from tests.conformance.redis_harness import SINGLE, ClusterHarness, RedisHarness

from tenure.act import Act
from tenure.adapters.redis import fingerprint, journal
from tenure.event import Event, EventKind
from tenure.tally import HOUR, MINUTE, TEN_SECONDS, Tally

HARNESSES = [*SINGLE, ClusterHarness]


@pytest.fixture(params=HARNESSES, ids=[*(kind.kind for kind in SINGLE), "cluster"])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    kind: type[RedisHarness] = request.param
    return kind()


def _event(harness: RedisHarness, id: str | None, *ids: str) -> Event:
    return Event(EventKind.COMPLETED, harness.clock.wall(), "q", message_id=id, data={"ids": list(ids)} if ids else {})


async def _about(harness: RedisHarness, id: str, **more: int) -> list[int]:
    return [one.seq for one in await harness.state.journal.about(id, **more)]


def _key(harness: RedisHarness, name: str) -> str:
    return f"{harness._store.names.common}{name}"


async def test_events_of_one_message_are_found_by_their_marks(harness: RedisHarness) -> None:
    kept = harness.state.journal
    await kept.append([_event(harness, "one"), _event(harness, "two"), _event(harness, None, "two", "three")])
    await kept.append([_event(harness, None), _event(harness, "one", "one", "three")])
    await kept.append([_event(harness, f"other-{number}") for number in range(500)])
    await kept.append([_event(harness, "three")])
    assert await _about(harness, "one") == [1, 5]
    assert await _about(harness, "two") == [2, 3]
    assert await _about(harness, "three") == [3, 5, 506]
    assert await _about(harness, "three", limit=2) == [3, 5]
    assert await _about(harness, "other-499") == [505]
    assert await _about(harness, "nobody") == []


async def test_only_pages_with_the_message_travel(harness: RedisHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = harness.state.journal
    for number in range(50):
        await kept.append([_event(harness, f"m{number}-{n}") for n in range(10)])
    read: list[object] = []
    inner = journal._events
    monkeypatch.setattr(journal, "_events", lambda page: read.append(page) or inner(page))
    assert await _about(harness, "m30-4") == [305]
    assert len(read) == 1


async def test_events_over_the_edge_of_a_block_are_found(harness: RedisHarness) -> None:
    kept = harness.state.journal
    harness._raw.set(_key(harness, "journal:n"), 16_384 - 5)
    await kept.append([_event(harness, f"m{number}", f"n{number}", "all") for number in range(10)])
    assert await _about(harness, "m3") == [16_383]
    assert await _about(harness, "m7") == [16_387]
    assert await _about(harness, "n7") == [16_387]
    assert await _about(harness, "all") == list(range(16_380, 16_390))


async def test_events_without_marks_are_found_too(harness: RedisHarness) -> None:
    kept = harness.state.journal
    await kept.append([_event(harness, "one")])
    harness._raw.delete(_key(harness, "journal:i:0"))
    await kept.append([_event(harness, "two"), _event(harness, "one")])
    await kept.append([_event(harness, "one")])
    assert await _about(harness, "one") == [1, 3, 4]
    harness._raw.delete(_key(harness, "journal:i:0"))
    assert await _about(harness, "one") == [1, 3, 4]
    harness._raw.delete(_key(harness, "journal:i:0"))
    harness._raw.rpush(_key(harness, "journal:i:0"), "somebody else's")
    harness._raw.rpush(_key(harness, "journal:k:0"), "somebody else's")
    await kept.append([_event(harness, "one", "x")])
    assert await _about(harness, "one") == [1, 3, 4, 5]
    assert await _about(harness, "x") == [5]


async def test_marks_that_are_nonsense_lead_nowhere(harness: RedisHarness) -> None:
    kept = harness.state.journal
    await kept.append([_event(harness, None), _event(harness, "one")])
    harness._raw.append(_key(harness, "journal:k:0"), fingerprint.mark_bytes("x") + b"\xff\xff\xff\xff" + b"abc")
    harness._raw.append(_key(harness, "journal:k:0"), fingerprint.mark_bytes("x"))
    harness._raw.append(_key(harness, "journal:i:0"), b"\x01" * 200_000)
    assert await _about(harness, "x") == []
    assert await _about(harness, "one") == [2]
    harness._raw.xadd(_key(harness, "journal"), {"who": "me"}, f"{2**64 - 1}-1")
    assert await _about(harness, "one") == [2]
    assert await _about(harness, "x") == []


async def test_marks_go_with_the_events(harness: RedisHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = harness.state.journal
    monkeypatch.setattr(journal, "_MOST_EVENTS", 20_000)
    for number in range(70):
        await kept.append([_event(harness, f"m{number}", "a")] * 1000)
        if number == 40:
            await harness.advance(100.0, sweeping=False)
    blocks = list(harness._raw.scan_iter(_key(harness, "journal:?:*")))
    assert 2 <= len(blocks) <= 6
    await harness.advance(10.0, sweeping=False)
    first = await kept.first()
    assert first > 40_000
    await kept.prune(5.0)
    assert await kept.first() == 0
    blocks = list(harness._raw.scan_iter(_key(harness, "journal:?:*")))
    assert len(blocks) <= 2


async def test_the_first_place_is_that_of_the_oldest_event(harness: RedisHarness) -> None:
    kept = harness.state.journal
    assert await kept.first() == 0
    await kept.append([_event(harness, "one"), _event(harness, "two")])
    assert await kept.first() == 1
    await harness.advance(10.0, sweeping=False)
    await kept.append([_event(harness, "three")])
    await kept.prune(5.0)
    assert (await kept.first(), await kept.last()) == (3, 3)
    await harness.advance(10.0, sweeping=False)
    await kept.prune(5.0)
    assert (await kept.first(), await kept.last()) == (0, 3)


async def test_those_who_wait_hear_of_an_event_at_once(harness: RedisHarness) -> None:
    kept = harness.state.journal
    began = harness.clock.monotonic()
    await kept.wait(0, 5.0)
    assert harness.clock.monotonic() - began == pytest.approx(5.0, abs=0.1)
    began = harness.clock.monotonic()
    waiting = asyncio.get_running_loop().create_task(kept.wait(0, 60.0))
    await asyncio.sleep(1.0)
    assert not waiting.done()
    await kept.append([_event(harness, "one")])
    await waiting
    assert harness.clock.monotonic() - began < 2.0
    await kept.wait(0, 60.0)  # it is there already
    assert harness.clock.monotonic() - began < 2.0


async def test_tallies_are_replaced_ordered_and_forgotten(harness: RedisHarness) -> None:
    kept = harness.state.journal
    now = int(harness.clock.wall()) // HOUR * HOUR
    rows = [
        Tally(step, bucket, nonce, number, f"{step}{nonce}{number}".encode())
        for step in (TEN_SECONDS, MINUTE, HOUR)
        for bucket in (now - step, now)
        for nonce in ("a:b", "c")
        for number in (1, 2, 10)
    ]
    await kept.tally(rows[::-1])
    await kept.tally(rows[:2])
    assert await kept.tallies(TEN_SECONDS, 0.0, now + 1.0) == rows[:12]
    assert await kept.tallies(TEN_SECONDS, now, now + 1.0) == rows[6:12]
    assert await kept.tallies(MINUTE, 0.0, float(now)) == rows[12:18]
    await kept.tally([Tally(HOUR, now, "c", 2, b"new")])
    assert (await kept.tallies(HOUR, now, now + 1))[4].data == b"new"
    await kept.tally([])
    await harness.advance(2 * HOUR, sweeping=False)
    await kept.prune(86_400.0)
    assert await kept.tallies(TEN_SECONDS, 0.0, now + 1.0) == []
    assert len(await kept.tallies(MINUTE, 0.0, now + 1.0)) == 12
    await harness.advance(2 * 86_400.0, sweeping=False)
    await kept.prune(86_400.0)
    assert [await kept.tallies(step, 0.0, now + 1.0) for step in (MINUTE, HOUR)] == [[], []]
    assert list(harness._raw.scan_iter(_key(harness, "tally*"))) == []


async def test_garbage_among_tallies_and_acts_is_left_out(harness: RedisHarness) -> None:
    kept, acts = harness.state.journal, harness.state.acts
    await kept.tally([Tally(MINUTE, 60, "a", 1, b"x")])
    harness._raw.hset(_key(harness, "tally:60:60"), "nonsense", b"\xff")
    harness._raw.zadd(_key(harness, "tally:60"), {b"\xff": 61, "nonsense": 62})
    assert [row.data for row in await kept.tallies(MINUTE, 0.0, 100.0)] == [b"x"]
    await acts.record([Act("paused", 1.0, "ann")])
    harness._raw.zadd(_key(harness, "acts"), {b"\xff": 5, "9:nonsense": float("inf"), "8:[1]": 2})
    harness._raw.set(_key(harness, "acts:n"), "nonsense")
    await acts.record([Act("resumed", 2.0, "bob")])
    assert [one.act.by for one in await acts.read()] == ["bob", "ann"]


async def test_acts_are_paged_newest_first_and_pruned_by_age(harness: RedisHarness) -> None:
    acts = harness.state.acts
    assert await acts.read() == []
    wall = harness.clock.wall()
    await acts.record(
        [Act("paused", wall + number, f"u{number}", ids=("a",), data={"n": number}) for number in range(5)]
    )
    await acts.record([Act("resumed", wall + 5, "u5")])
    await acts.record([])
    first = await acts.read(limit=4)
    assert [one.act.by for one in first] == ["u5", "u4", "u3", "u2"]
    assert [one.act.by for one in await acts.read(first[-1].seq)] == ["u1", "u0"]
    assert first[1].act.data == {"n": 4}
    assert await acts.prune(86_400.0) == 0
    await harness.advance(10.0, sweeping=False)
    assert await acts.prune(7.5) == 3
    assert [one.act.by for one in await acts.read()] == ["u5", "u4", "u3"]
