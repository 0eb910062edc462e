"""Sweeping on Redis: what lies between the leases by mistake, many leases, and servers that begin anew."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.conformance.redis_harness import SINGLE, ClusterHarness, RedisHarness
from tests.servers import KINDS, Kind, RedisServer, start_redis

from tenure.adapters import redis
from tenure.broker import SweepRequest, Swept
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.lease import LeaseRequest, LeaseState
from tenure.message import Message, MessageState, Outgoing, new_id
from tenure.owner import Owner
from tenure.testing.harness import QUEUE

FAR = 10**18


@pytest.fixture(params=[*SINGLE, ClusterHarness], ids=[*(kind.kind for kind in SINGLE), "cluster"])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


def key(harness: RedisHarness, name: str) -> str:
    """One of the queue's keys."""
    return f"{harness._store.names.queue(QUEUE)}{name}"


async def lapse(harness: RedisHarness) -> None:
    """Leases of the usual length are overdue; sweeps go on elsewhere, but have not seen it."""
    await harness.advance(harness.lease_seconds - 1)
    await harness.advance(2.0, sweeping=False)


# --- many leases of one owner --------------------------------------------------------------------------------


async def test_a_retirement_ends_when_nothing_is_left_however_its_pages_are_cut(harness: RedisHarness) -> None:
    """A scan may name more leases than a page may return: the rest of them must not be skipped."""
    owner = await harness.owner()
    sent = {message.id for message in await harness.put_many(300)}
    assert len(await harness.lease_all(owner)) == 300
    returned: list[str] = []
    more = True
    while more:
        swept = await harness.broker.retire(owner.id, crashed=True)
        returned += swept.returned
        more = swept.more
    assert (len(returned), set(returned)) == (300, sent)
    assert harness._raw.hlen(key(harness, "l")) == 0


# --- what does not belong there ---------------------------------------------------------------------------


async def test_remains_in_front_never_hide_an_overdue_lease(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger())
    await lapse(harness)
    harness._raw.zadd(key(harness, "d"), {f"nothing-{number}": number for number in range(500)})
    assert (await harness.sweep(limit=100)).returned == (lease.id,)
    assert harness._raw.zcard(key(harness, "d")) == 0


async def test_a_lease_without_a_deadline_is_adopted_though_the_numbers_are_equal(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger())
    await harness.drop_deadline(lease.id)
    harness._raw.zadd(key(harness, "d"), {"nothing": FAR})
    assert harness._raw.hlen(key(harness, "l")) == harness._raw.zcard(key(harness, "d")) == 1
    assert (await harness.sweep()).adopted == (lease.id,)
    assert not harness._raw.zscore(key(harness, "d"), "nothing")
    assert (await harness.lapse()).returned == (lease.id,)


async def test_remains_are_removed_a_part_at_a_time_and_all_in_the_end(harness: RedisHarness) -> None:
    """Else their number would make every sweep look at every lease, for ever."""
    await harness.sweep()
    await harness.put_many(500)
    healthy = await harness.lease_all(harness.stranger(), seconds=36_000.0)
    for start in range(0, 30_000, 5_000):
        some = range(start, start + 5_000)
        harness._raw.zadd(key(harness, "d"), {f"nothing-{number}": FAR for number in some})
        harness._raw.hset(key(harness, "l"), mapping={f"nobody-{number}": "1" for number in some})
    for _ in range(20):
        await harness.advance(harness.sweep_interval_seconds)
        if harness._raw.zcard(key(harness, "d")) == harness._raw.hlen(key(harness, "l")) == len(healthy):
            break
    else:
        pytest.fail("twenty sweeps did not remove them")


async def test_a_cursor_that_people_have_spoilt_does_no_harm(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger())
    harness._raw.hset(key(harness, "meta"), mapping={"al": "nonsense", "ad": "-7"})
    assert await harness.sweep() == Swept()
    assert (await harness.lapse()).returned == (lease.id,)


async def test_a_turn_that_people_have_spoilt_is_none(harness: RedisHarness) -> None:
    turns = f"{harness._store.names.common}turns"
    for spoilt in ("nonsense", f"{FAR}|somebody", "|", ""):
        harness._raw.hset(turns, "sweep", spoilt)
        assert await harness.state.board.take_turn("sweep", "one", 5.0)
        assert not await harness.state.board.take_turn("sweep", "two", 5.0)


# --- many -------------------------------------------------------------------------------------------------


async def test_ten_thousand_healthy_leases_hide_none_that_is_overdue(harness: RedisHarness) -> None:
    await harness.sweep()
    await harness.put_many(10_000)
    healthy = await harness.lease_all(harness.stranger(), seconds=36_000.0)
    assert len(healthy) == 10_000
    overdue = {(await harness.leased(harness.stranger())).id for _ in range(3)}
    assert set((await harness.lapse()).returned) == overdue
    assert (await harness.depth()).leased == 10_000


async def test_after_an_outage_every_one_of_many_leases_gets_a_fresh_window(harness: RedisHarness) -> None:
    """More than are looked at in one step."""
    await harness.sweep()
    await harness.put_many(25_000)
    await harness.lease_all(harness.stranger())
    await harness.advance(harness.lease_seconds + 1, sweeping=False)
    assert (await harness.sweep()).grace
    now = round(harness.clock.monotonic() * 1e6)
    assert harness._raw.zcount(key(harness, "d"), "-inf", now + (harness.lease_seconds - 1) * 1e6) == 0


# --- a sweeper that is held up ----------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["look", "move"])
async def test_a_sweeper_that_was_frozen_on_the_way_returns_nothing(
    harness: RedisHarness, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    lease = await harness.leased(harness.stranger())
    await lapse(harness)
    # One that does not know the queue yet: it judges first, and looks then.
    sweeper, _ = redis.connect(harness._options, clock=harness.clock)
    await sweeper.open()
    run_each = sweeper._store.run_each

    async def late(calls: Any, **more: Any) -> Any:
        calls = list(calls)
        if before in calls[0].arguments:
            await asyncio.sleep(3 * harness.sweep_interval_seconds)
            # In virtual time a call carries the time; the server's own would have gone on.
            now = str(round(harness.clock.monotonic() * 1e6))
            calls = [call._replace(arguments=[now, *call.arguments[1:]]) for call in calls]
        return await run_each(calls, **more)

    monkeypatch.setattr(sweeper._store, "run_each", late)
    assert await sweeper.sweep(harness.sweep_request()) == Swept()
    assert await harness.state_of(lease.id) == MessageState.LEASED
    await sweeper.close()


async def test_a_queue_that_came_since_the_last_sweep_is_swept_too(harness: RedisHarness) -> None:
    await harness.leased(harness.stranger(), seconds=36_000.0)
    await harness.sweep()
    lease = await harness.leased(harness.stranger(), queue="other")
    await lapse(harness)
    sweeper, _ = redis.connect(harness._options, clock=harness.clock)
    await sweeper.open()
    assert (await sweeper.sweep(harness.sweep_request())).returned == (lease.id,)
    await sweeper.close()


# --- a server that begins anew ----------------------------------------------------------------------------


async def test_after_a_restart_everybody_gets_a_fresh_window_once(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger())
    assert not (await harness.sweep()).grace
    await lapse(harness)
    harness._raw.hset(key(harness, "meta"), "run", "the server that was before")
    swept = await harness.sweep()
    assert (swept.grace, swept.moved) == (True, 0)
    assert not (await harness.advance(harness.lease_seconds - 1)).moved
    swept = await harness.advance(2.0)
    assert (swept.grace, swept.returned) == (False, (lease.id,))


async def test_restart_after_restart_excuses_a_lease_once_between_two_touches(harness: RedisHarness) -> None:
    lease = await harness.leased(harness.stranger())
    await harness.sweep()
    for _ in range(2):
        await lapse(harness)
        harness._raw.hset(key(harness, "meta"), "run", "the server that was before")
        swept = await harness.sweep()
        assert (swept.grace, swept.moved) == (True, 0)
        await harness.broker.touch([lease])
    await lapse(harness)
    harness._raw.hset(key(harness, "meta"), "run", "the server that was before")
    assert (await harness.sweep()).grace
    await lapse(harness)
    harness._raw.hset(key(harness, "meta"), "run", "the server that was before")
    swept = await harness.sweep()
    assert (swept.grace, swept.returned) == (False, (lease.id,))


async def test_a_restart_while_nothing_is_lent_is_no_outage(harness: RedisHarness) -> None:
    await harness.put()
    await harness.sweep()
    harness._raw.hset(key(harness, "meta"), "run", "the server that was before")
    assert not (await harness.sweep()).grace
    lease = await harness.lease_one(harness.stranger())
    assert (await harness.lapse()).returned == (lease.id,)


# --- a server that stood still ------------------------------------------------------------------------------


async def beat_for(harness: RedisHarness, owner: Owner, seconds: int) -> None:
    """A worker says once a second that it lives."""
    for _ in range(seconds):
        await harness.state.roster.beat(owner)
        await harness.advance(1.0)


@pytest.mark.parametrize("first", ["the sweep", "a beat"])
async def test_if_nobody_could_be_heard_every_lease_gets_a_fresh_window_once(harness: RedisHarness, first: str) -> None:
    """Shorter than a gap in the sweeps; holders were as cut off as everybody, and are not as quick as the sweep."""
    owner = await harness.owner()
    lease = await harness.leased(harness.stranger())
    await beat_for(harness, owner, round(harness.lease_seconds) - 1)
    await harness.advance(2.5, sweeping=False)
    if first == "a beat":
        await harness.state.roster.beat(owner)
    swept = await harness.sweep()
    assert (swept.grace, swept.moved) == (True, 0)
    await beat_for(harness, owner, round(harness.lease_seconds) - 1)
    assert not (await harness.sweep()).moved
    await harness.state.roster.beat(owner)
    swept = await harness.advance(1.5)
    assert (swept.grace, swept.returned) == (False, (lease.id,))


async def test_silence_after_silence_excuses_a_lease_once_between_two_touches(harness: RedisHarness) -> None:
    owner = await harness.owner()
    lease = await harness.leased(harness.stranger())
    for _ in range(2):
        await beat_for(harness, owner, round(harness.lease_seconds) - 1)
        await harness.advance(2.5, sweeping=False)
        assert (await harness.sweep()).grace
        await harness.broker.touch([lease])
    await beat_for(harness, owner, round(harness.lease_seconds) - 1)
    await harness.advance(2.5, sweeping=False)
    assert (await harness.sweep()).grace
    await beat_for(harness, owner, round(harness.lease_seconds) - 1)
    await harness.advance(2.5, sweeping=False)
    swept = await harness.sweep()
    assert (swept.grace, swept.returned) == (False, (lease.id,))


async def test_more_were_excused_before_than_one_step_looks_at(harness: RedisHarness) -> None:
    """Those that had their window stay in the way of the others, and must be stepped over."""
    owner = await harness.owner()
    lease = await harness.leased(harness.stranger())
    await beat_for(harness, owner, round(harness.lease_seconds) - 1)
    await harness.advance(1.5, sweeping=False)
    moment = round(harness.clock.monotonic() * 1e6)
    for start in range(0, 12_000, 1000):  # of a dozen thousand, each in the middle of the silence
        ids = [f"had-one-{number}" for number in range(start, start + 1000)]
        harness._raw.zadd(key(harness, "d"), dict.fromkeys(ids, moment - 700000.5))
        harness._raw.hset(key(harness, "l"), mapping=dict.fromkeys(ids, lease.fence))
    await harness.advance(1.0, sweeping=False)
    async with asyncio.timeout(600):
        assert (await harness.sweep()).grace
    assert await harness.state_of(lease.id) == MessageState.LEASED


async def test_what_lapsed_before_the_silence_is_not_excused(harness: RedisHarness) -> None:
    owner = await harness.owner()
    lease = await harness.leased(harness.stranger())
    await beat_for(harness, owner, round(harness.lease_seconds) - 1)
    for seconds in (0.7, 0.8, 2.5):  # lapsed; heard; not heard
        await harness.state.roster.beat(owner)
        await harness.advance(seconds, sweeping=False)
    swept = await harness.sweep()
    assert (swept.grace, swept.returned) == (False, (lease.id,))


async def test_workers_that_are_always_slow_keep_nothing_from_being_returned(harness: RedisHarness) -> None:
    owner = await harness.owner()
    lease = await harness.leased(harness.stranger())
    returned: list[str] = []
    for _ in range(round(3 * harness.lease_seconds / 2.7)):
        await harness.state.roster.beat(owner)
        returned += (await harness.advance(2.7)).returned
    assert returned == [lease.id]


async def test_where_no_worker_is_there_to_be_heard_sweeps_go_on(harness: RedisHarness) -> None:
    owner = await harness.owner()
    lease = await harness.leased(harness.stranger())
    await harness.state.roster.beat(owner)
    await harness.advance(harness.lease_seconds)
    assert (await harness.lapse()).returned == (lease.id,)


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> RedisServer:
    """One that keeps what it was told."""
    kind: Kind = request.param
    return start_redis(kind, tmp_path, appendonly=True)


@pytest.mark.real_time
async def test_a_lease_that_ended_while_the_server_was_away_is_not_taken_from_its_holder(server: RedisServer) -> None:
    """In less time than two intervals, so that only the restart can tell."""
    sweep = SweepRequest(interval_seconds=60.0, max_attempts=3)
    broker, _ = redis.connect(redis.read_options(server.url, urlsplit(server.url)), clock=SYSTEM_CLOCK)
    with server:
        await broker.open()
        await broker.sweep(sweep)
        message = Message(
            id=new_id(0.0), queue=QUEUE, task="deliver", body=msgspec.Raw(b"{}"), sent_at=SYSTEM_CLOCK.wall()
        )
        await broker.send([Outgoing(message)])
        (lease,) = await broker.lease(LeaseRequest("one/1", "r", (QUEUE,), 1, 1.0))
        while (await broker.sweep(sweep)).moved:  # this machine stood still for a second
            (lease,) = await broker.lease(LeaseRequest("one/1", "r", (QUEUE,), 1, 1.0))
        server.kill()
        await asyncio.sleep(1.1)
        server.start()
        swept = await _until_it_answers(broker, sweep)
        assert (swept.grace, swept.moved) == (True, 0)
        (touched,) = await broker.touch([lease])
        assert touched.state is LeaseState.HELD
        await broker.close()


async def _until_it_answers(broker: redis.RedisBroker, sweep: SweepRequest) -> Swept:
    for _ in range(200):
        try:
            return await broker.sweep(sweep)
        except BrokerUnavailable:
            await asyncio.sleep(0.05)
    pytest.fail("the server does not answer")
