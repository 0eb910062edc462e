"""A server that goes away under its workers, and comes back with what it kept: nobody pays for that."""

import time

import pytest
from tests.servers import Proxy, RedisServer

from tenure.broker import Swept
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.event import EventKind

from .grounds import SERVERS, on, on_each
from .stage import Stage


@on(*SERVERS, own=True)
def test_a_server_killed_and_started_again_mid_run_loses_and_repeats_nothing(stage: Stage, server: RedisServer) -> None:
    """No loss, no overlap: every write is on the disk; three times the server is gone in the middle of it."""
    stage.configure(lease=10, sweep_interval=1)
    workers = [stage.worker(concurrency=10), stage.worker(concurrency=10)]
    stage.submit_many("nap", [{"seconds": 6.0}] * 6)
    stage.submit_many("nap_in_thread", [{"seconds": 6.0}] * 2)
    stage.submit_many("nap", [{"seconds": 0.05}] * 600)

    for outage in range(1, 4):
        stage.until_started(outage * 120)
        server.kill()
        refused = submit(stage)
        time.sleep(0.3 * outage)  # the length of the outage is the scenario, not a wait for something
        server.restart()
        stage.submit_many("nap", [{"seconds": 0.0}] * 10)
        assert refused.code == "broker_unavailable"
    back_at = time.monotonic()
    stage.until_settled(within=90)

    verdict = stage.verdict()
    after = [run.start - back_at for run in stage.runs() if run.start > back_at]
    stage.measured("from the last restart to the next start", min(after))
    assert len(stage.runs()) == len(stage.sent), "each ran once"
    assert verdict.refused == []
    assert not stage.events(EventKind.REQUEUE, EventKind.LEASE_LOST)
    assert all(worker.exit_code is None for worker in workers)


@on(*SERVERS, own=True)
def test_a_worker_that_dies_with_its_server_is_found_dead_when_the_server_is_back(
    stage: Stage, server: RedisServer
) -> None:
    """Fast recovery: a server that was away excuses silence, but the process of a worker has ended all the same."""
    stage.configure(lease=600, sweep_interval=5)
    doomed = stage.worker(concurrency=1)
    (id,) = stage.submit("pass_gate", {"gate": "open"})
    stage.until_started(1)
    heir = stage.worker(concurrency=1)
    stage.until(lambda: " runs " in heir.said, "the second worker has started")

    server.kill()
    doomed.kill()
    time.sleep(0.5)  # the length of the outage is the scenario, not a wait for something
    server.restart()
    back_at = SYSTEM_CLOCK.monotonic()
    stage.until_started(2)

    stage.measured("from the server's return until the message runs", stage.runs()[1].start - back_at, at_most=3.0)
    assert stage.runs()[1].pid == heir.pid
    stage.open_gate("open")
    stage.until_settled()
    stage.verdict()
    assert len(stage.runs([id])) == 2


def submit(stage: Stage) -> BrokerUnavailable:
    """What a sender is told while the server is away."""
    with pytest.raises(BrokerUnavailable) as caught:
        stage.do(stage.app.submit("nap", {"seconds": 0.0}))
    return caught.value


def sweep(stage: Stage) -> Swept:
    """One sweep; the connection that the test had may have ended with the server."""
    request = stage.app.sweep_request()
    try:
        return stage.do(stage.app.broker.sweep(request))
    except BrokerUnavailable:
        return stage.do(stage.app.broker.sweep(request))


AWAY = ["killed", "frozen", "killed, sweeps are rare", "frozen, sweeps are rare"]


@on_each("how", {"valkey9": AWAY, "redis62": AWAY[:1], "redis70": AWAY[:1]}, own=True)
def test_a_server_away_for_two_leases_costs_no_lease(stage: Stage, server: RedisServer, way: Proxy, how: str) -> None:
    """No overlap, no loss: work goes on, what ends meanwhile settles afterwards. Killed, or there and silent.

    Also where sweeps are rarer than leases are long, so that the outage is no gap between two sweeps.
    """
    stage.configure(lease=1, sweep_interval=2.0 if "rare" in how else 0.25)
    workers = [stage.worker(concurrency=20), stage.worker(concurrency=20)]
    ids = stage.submit_many("nap", [{"seconds": 5.0}] * 10)
    ids += stage.submit_many("nap", [{"seconds": 1.0}] * 10)
    ids += stage.submit_many("nap_in_thread", [{"seconds": 1.5}] * 5)
    ids += stage.submit_many("nap_in_process", [{"seconds": 4.0}] * 2)
    stage.until_started(27)

    (server.kill if "killed" in how else server.freeze)()
    time.sleep(2.2)  # the length of the outage is the scenario
    if how != "frozen, sweeps are rare":
        way.hold()
    (server.restart if "killed" in how else server.resume)()
    if how != "frozen, sweeps are rare":
        # Somebody is quicker than the holders, as may be on another machine: every lease is overdue by now.
        assert sweep(stage).moved == 0, "leases that nobody could keep were returned"
        way.pass_on()
    stage.until_settled()

    verdict = stage.verdict()
    assert len(stage.runs(ids)) == 27, "each ran once"
    assert all(stage.record(id).counters.lost == 0 for id in ids)
    assert verdict.refused == []
    assert not stage.events(EventKind.REQUEUE, EventKind.LEASE_LOST)
    assert all(worker.exit_code is None for worker in workers)
