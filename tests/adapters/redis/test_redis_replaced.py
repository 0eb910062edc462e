"""A server that was restarted, or replaced by its replica: nobody is called dead or late for what it could not help."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.redis.acting import at_last, message, opened, request, until
from tests.servers import KINDS, RedisServer, Watched, start_redis, start_sentinel
from tests.servers.proxy import Proxy

from tenure.broker import SweepRequest
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
        leases = await broker.lease(request(_ONE.id, seconds=seconds))  # type: ignore[attr-defined]
        is_too_late = (await broker.sweep(_SWEEP)).moved > 0  # type: ignore[attr-defined]
        # The first sweep of all gives a fresh window, and the next one comes only after a touch.
        await broker.touch(leases)  # type: ignore[attr-defined]
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
        async with opened(f"redis://127.0.0.1:{proxy.port}?timeout_seconds=2") as (broker, _):
            await broker.wait(["mail"], 0.01)
            before = _lines(server)
            assert len(before) == 1
            proxy.hold()
            with pytest.raises(BrokerUnavailable):
                await broker.send([Outgoing(message())])
            proxy.pass_on()

            async def is_anew() -> bool:
                await broker.wait(["mail"], 0.01)
                return bool(_lines(server) - before)

            await until(is_anew)


async def test_who_begins_to_wait_on_such_a_line_does_not_wait_for_ever(server: RedisServer) -> None:
    with Proxy(server.port) as proxy:
        async with opened(f"redis://127.0.0.1:{proxy.port}?timeout_seconds=2") as (broker, _):
            await broker.wait(["mail"], 0.01)
            proxy.hold()
            with pytest.raises(BrokerUnavailable):
                await broker.wait(["mail"], 60.0)
            proxy.pass_on()
            await at_last(lambda: broker.wait(["mail"], 0.1))


def _lines(server: RedisServer) -> set[str]:
    """The numbers of the connections on which somebody listens."""
    told = str(server.ask("CLIENT", "LIST")).splitlines()
    return {line.partition(" ")[0] for line in told if " sub=1 " in line}
