"""The part on the simulator: how many messages with heartbeats it gets through in a minute of one core.

Called by `make bench`. CPU time, because the simulator is one thread that never waits; other processes slow it down all
the same, so the best of the rounds is the nearest to a machine of its own.
"""

from rich.console import Console

from benchmarks.table import Table
from benchmarks.worker_main import own_cpu
from tenure.simulation.durations import drawn
from tenure.simulation.policy import policy_of
from tenure.simulation.running import simulate
from tenure.simulation.scenario import Scenario

#: Median 45 s, so that most messages outlive a lease of 30 s.
DURATIONS = "lognormal:45:0.6"
MINUTE = 60.0
BAR = 100_000


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    count = 10_000 if quick else BAR
    with console.status("simulating…"):
        for slots in (10, 1):
            seconds = [_once(count, slots, seed) for seed in ((1,) if quick else (1, 2, 3))]
            rates = [count / one * MINUTE for one in seconds]
            sign, limit = ("≥", BAR) if slots > 1 else ("", 0.0)
            table.add(f"messages with heartbeats in a minute of CPU, {slots} slots a worker", rates, sign, limit)


def _once(count: int, slots: int, seed: int) -> float:
    scenario = Scenario(works=drawn(DURATIONS, count, seed), slots=slots, crash_rate=0.001, seed=seed)
    before = own_cpu()
    result = simulate(scenario, policy_of("heartbeat"))
    spent = own_cpu() - before
    if result.measures.finished != count or not result.measures.beats:
        msg = f"{result.measures.finished} of {count} messages were finished, with {result.measures.beats} beats"
        raise RuntimeError(msg)
    return spent
