"""A store that fails in the worst moment: the effect is done, and not yet settled."""

import time
from collections.abc import Callable

from tests.servers import Proxy, RedisServer

from tenure.event import EventKind

from .grounds import on, on_each
from .stage import Stage

#: How long the trouble lasts: longer than the lease.
TROUBLE_SECONDS = 2.0


def play(stage: Stage, harm: Callable[[], object], heal: Callable[[], object]) -> None:
    """Forty messages, half of them with a key, have done their effect when the harm is done; then they end."""
    # Patience shorter than the trouble: what is asked is asked again.
    stage.configure(lease=1, sweep_interval=0.25, process_options="timeout_seconds=0.7")
    workers = [stage.worker(concurrency=20), stage.worker(concurrency=20)]
    for number in range(20):
        stage.submit("pass_gate_after_effect", {"gate": "open"}, key=f"key-{number}")
    stage.submit_many("pass_gate_after_effect", [{"gate": "open"}] * 20)
    stage.until(lambda: len(stage.traces.effects()) == 40, "every effect is done")

    harm()
    stage.open_gate("open")
    stage.until(lambda: all(run.how == "returned" for run in stage.runs()), "every handler has ended")
    time.sleep(TROUBLE_SECONDS)  # the length of the trouble is the scenario
    heal()
    stage.until_settled()

    verdict = stage.verdict()
    assert len(verdict.completed) == 40
    assert len(stage.runs()) == 40, "each ran once"
    assert verdict.refused == []
    assert not stage.events(EventKind.REQUEUE, EventKind.LEASE_LOST, EventKind.DUPLICATE)
    assert all(worker.exit_code is None for worker in workers)
    stage.submit_many("nap", [{"seconds": 0.0}] * 20)
    stage.until_settled()
    stage.verdict()


WAYS = ["cut", "drop_replies", "hold"]


@on_each("how", {"valkey9": WAYS, "redis62": WAYS[:1], "redis70": WAYS[:1]})
def test_a_way_to_the_server_that_fails_after_the_effect_repeats_nothing(stage: Stage, way: Proxy, how: str) -> None:
    """Done is done: nothing gets through; or all is carried out, and nobody hears of it; or all is late."""
    harm = {"cut": way.cut, "drop_replies": way.drop_replies, "hold": way.hold}[how]
    play(stage, harm, way.pass_on)


@on("valkey9", own=True)
def test_connections_cut_by_the_server_in_the_middle_of_a_settle_repeat_nothing(
    stage: Stage, server: RedisServer
) -> None:
    """Done is done: every connection is ended again and again while 2,000 messages settle; scripts are flushed too."""
    stage.configure(lease=5, sweep_interval=1)
    workers = [stage.worker(concurrency=20), stage.worker(concurrency=20)]
    stage.submit_many("nap", [{"seconds": 0.02}] * 2000)
    stage.until_started(40)

    cuts = 0

    def cut_and_look() -> bool:
        nonlocal cuts
        cuts += 1
        for kind in ("normal", "pubsub"):
            server.ask("CLIENT", "KILL", "TYPE", kind)
        server.ask("SCRIPT", "FLUSH")
        time.sleep(0.15)
        return stage.unsettled() == 0

    stage.until(cut_and_look, "every message is settled", within=60)

    verdict = stage.verdict()
    print(f"measured: cuts: {cuts}")  # noqa: T201
    assert cuts >= 5
    assert len(verdict.completed) == len(stage.runs()) == 2000
    assert verdict.refused == []
    assert not stage.events(EventKind.LEASE_LOST, EventKind.REQUEUE)
    assert all(worker.exit_code is None for worker in workers)


REFUSALS = {
    "NOREPLICAS": (["CONFIG", "SET", "min-replicas-to-write", "1"], ["CONFIG", "SET", "min-replicas-to-write", "0"]),
    "OOM": (["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]),
    "READONLY": (["REPLICAOF", "127.0.0.1", "1"], ["REPLICAOF", "NO", "ONE"]),
}


@on_each("code", {"valkey9": list(REFUSALS), "redis62": ["NOREPLICAS"], "redis70": ["NOREPLICAS"]}, own=True)
def test_writes_refused_after_the_effect_repeat_nothing(stage: Stage, server: RedisServer, code: str) -> None:
    """Done is done: the server answers, and takes nothing. Verdicts wait until it does."""
    harm, heal = REFUSALS[code]

    play(stage, lambda: server.ask(*harm), lambda: server.ask(*heal))

    for worker in stage.processes:
        told = [line for line in worker.said.splitlines() if " WARNING " in line and "cannot take this now" in line]
        assert 1 <= len(told) <= 8, "each part of a worker says why, once"
