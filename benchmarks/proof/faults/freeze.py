"""Frozen worker: one of two stands still (SIGSTOP) for more than twice the lease, and then goes on (SIGCONT)."""

import time

from benchmarks.proof.stage import Stage

SECONDS = 1.0


def play(stage: Stage) -> None:
    """While it stands still the other one works; what the frozen one held may be run by the other."""
    frozen, other = stage.start(), stage.start()
    stage.send(stage.slots * 12, SECONDS)
    stage.wait_until_at_work(frozen, other)
    stage.place.freeze(frozen)
    time.sleep(2 * stage.scale.lease + 2.0)  # the length of the freeze is the fault
    frozen.resume()
    stage.settle()
