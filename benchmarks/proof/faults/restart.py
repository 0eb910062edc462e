"""Broker restart: the server is killed with `kill -9` under load, and comes back with its data two seconds later."""

from benchmarks.proof.stage import Stage

SECONDS = 0.2


def play(stage: Stage) -> None:
    """Two workers are at work."""
    stage.send(stage.slots * 40, SECONDS)
    stage.wait_until_at_work(stage.start(), stage.start())
    stage.place.restart(stage.scale.away)
    stage.settle()
