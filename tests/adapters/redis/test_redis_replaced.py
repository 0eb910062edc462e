"""A server that was restarted, or replaced by its replica: nobody is called dead or late for what it could not help."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.redis.acting import at_last, connected, message, opened, request, until
from tests.servers import KINDS, RedisServer, Watched, start_redis, start_sentinel
from tests.servers.proxy import Proxy

from tenure.broker import SweepRequest
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.lease import LeaseState
from tenure.message import MessageState, Outgoing
from tenure.owner import Owner
from tenure.settlement import Ack, Outcome

pytestmark = [pytest.mark.real_time, pytest.mark.outage]

_SWEEP = SweepRequest(limit=100, interval_seconds=30.0, lease_seconds=30.0, max_attempts=3)
_ONE, _TWO = Owner("one", "1", started_at=1.0), Owner("two", "1", started_at=2.0)


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisServer]:
    """One that keeps its data over a restart."""
    with start_redis(request.param, tmp_path, appendonly=True) as server:
        yield server


@pytest.fixture(params=KINDS)
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    """A master, its replica and a sentinel."""
    with start_sentinel(request.param, tmp_path) as watched:
        yield watched


async def _lends_for_a_moment(broker: object) -> str:
    """A message whose lease has ended, after a sweep that found nothing to do."""
    sent = message()
    await broker.send([Outgoing(sent)])  # type: ignore[attr-defined]
    seconds, is_too_late = 0.1, True
    while is_too_late:  # a busy machine may come to the sweep when the lease is over: then it needs a longer one
        await broker.lease(request(_ONE.id, seconds=seconds))  # type: ignore[attr-defined]
        is_too_late = (await broker.sweep(_SWEEP)).moved > 0  # type: ignore[attr-defined]
        seconds *= 2.0
    await asyncio.sleep(0.75 * seconds)  # the lease ends by the server's clock: there is nothing to be seen
    return sent.id


async def test_after_a_quick_restart_overdue_leases_get_a_fresh_window(server: RedisServer) -> None:
    async with opened(server.url) as (broker, state):
        id = await _lends_for_a_moment(broker)
        server.restart()
        swept = await at_last(lambda: broker.sweep(_SWEEP))
        assert swept.grace
        assert not swept.moved
        assert (await state.records.get(id)).state is MessageState.LEASED
        assert id in await until(lambda: _returned(broker))  # and when that has ended, it goes back


async def test_so_do_those_of_a_queue_that_was_never_swept(server: RedisServer) -> None:
    async with opened(server.url) as (broker, _):
        await broker.sweep(_SWEEP)  # of nothing; so that there was one not long ago
        await broker.send([Outgoing(message())])
        await broker.lease(request(_ONE.id, seconds=0.1))
        server.restart()
        assert (await at_last(lambda: broker.sweep(_SWEEP))).grace


async def test_after_a_quick_failover_overdue_leases_get_a_fresh_window(watched: Watched) -> None:
    async with opened(watched.url) as (broker, state):
        id = await _lends_for_a_moment(broker)
        assert watched.master.ask("WAIT", 1, 20_000) == 1
        watched.master.kill()
        watched.until_failed_over()
        swept = await at_last(lambda: broker.sweep(_SWEEP))
        assert swept.grace
        assert not swept.moved
        assert (await at_last(lambda: state.records.get(id))).state is MessageState.LEASED
        assert id in await until(lambda: _returned(broker))


async def _returned(broker: object) -> tuple[str, ...]:
    swept = await broker.sweep(_SWEEP)  # type: ignore[attr-defined]
    returned: tuple[str, ...] = swept.returned
    return returned


async def test_after_a_restart_a_connection_that_is_not_there_proves_nothing(server: RedisServer) -> None:
    async with opened(server.url) as (_, state):
        broker, other = connected(server.url)
        await broker.open()
        await other.roster.join(_ONE)
        await state.roster.join(_TWO)
        await state.roster.beat(_TWO)
        assert await state.roster.dead() == []
        # One of them stands still from now on: it could not connect again if it wanted to.
        await broker.close()
        server.restart()
        # More than a connection may be missing, and less than the 15 s after which silence alone is enough.
        until_then = SYSTEM_CLOCK.monotonic() + 4.0
        while SYSTEM_CLOCK.monotonic() < until_then:
            await at_last(lambda: state.roster.beat(_TWO))
            assert await at_last(state.roster.dead) == []
            await asyncio.sleep(0.2)
        assert sorted(one.name for one in await state.roster.alive()) == ["one", "two"]


async def test_who_has_connected_to_the_new_master_is_proven_dead_there_as_ever(watched: Watched) -> None:
    async with opened(watched.url) as (_, state):
        broker, other = connected(watched.url)
        await broker.open()
        await other.roster.join(_ONE)
        await state.roster.join(_TWO)
        watched.master.kill()
        new = watched.until_failed_over()

        async def both_are_there() -> bool:
            await state.roster.beat(_TWO)
            await other.roster.beat(_ONE)
            await state.roster.dead()
            return str(new.ask("CLIENT", "LIST")).count("name=tenure:") == 2

        await until(both_are_there)
        for _ in range(10):  # a look that finds the new master forgets the lines to the old one
            await other.roster.beat(_ONE)
            await state.roster.beat(_TWO)
            assert await state.roster.dead() == []
            await asyncio.sleep(0.1)
        await broker.close()

        async def dead() -> list[str]:
            await state.roster.beat(_TWO)
            return [one.owner.name for one in await state.roster.dead()]

        assert await until(dead) == ["one"]


async def test_one_that_says_something_is_not_dead_though_its_connection_is_gone(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.adapters.redis.roster._LIST_SECONDS", 0.05)
    async with opened(server.url) as (_, state):
        broker, other = connected(server.url)
        await broker.open()
        await other.roster.join(_ONE)
        await state.roster.join(_TWO)
        await state.roster.beat(_TWO)
        other.roster._store.token = "of a line that was never there"
        for _ in range(3):
            heard = SYSTEM_CLOCK.monotonic()
            await other.roster.beat(_ONE)
            while True:
                await state.roster.beat(_TWO)
                dead = await state.roster.dead()
                if SYSTEM_CLOCK.monotonic() - heard > 1.4:  # at 1.5 s it may be called dead
                    break
                assert dead == []
                await asyncio.sleep(0.05)
        await broker.close()


async def test_what_was_held_is_held_after_a_restart(server: RedisServer) -> None:
    async with opened(server.url) as (broker, _):
        await broker.send([Outgoing(message())])
        (lease,) = await broker.lease(request())
        server.restart()
        (touched,) = await at_last(lambda: broker.touch([lease]))
        assert touched.state is LeaseState.HELD
        assert [one.outcome for one in await broker.ack([Ack(touched)])] == [Outcome.DELETED]


async def test_a_line_that_nobody_ends_is_left_when_the_way_to_the_server_is_lost(server: RedisServer) -> None:
    """A machine that is gone ends no connection; whoever listens there would listen for ever."""
    with Proxy(server.port) as proxy:
        async with opened(f"redis://127.0.0.1:{proxy.port}?timeout_seconds=2") as (broker, state):
            await state.roster.join(_ONE)
            before = _lines(server)
            assert len(before) == 1
            proxy.hold()
            with pytest.raises(BrokerUnavailable):
                await broker.send([Outgoing(message())])
            proxy.pass_on()

            async def is_anew() -> bool:
                return bool(_lines(server) - before)

            await until(is_anew)


async def test_who_begins_to_wait_on_such_a_line_does_not_wait_for_ever(server: RedisServer) -> None:
    with Proxy(server.port) as proxy:
        async with opened(f"redis://127.0.0.1:{proxy.port}?timeout_seconds=2") as (broker, state):
            await state.roster.join(_ONE)
            proxy.hold()
            with pytest.raises(BrokerUnavailable):
                await broker.wait(["mail"], 60.0)
            proxy.pass_on()
            await at_last(lambda: broker.wait(["mail"], 0.1))


def _lines(server: RedisServer) -> set[str]:
    """The numbers of the connections that stand for a worker."""
    told = str(server.ask("CLIENT", "LIST")).splitlines()
    return {line.partition(" ")[0] for line in told if "name=tenure:" in line}
