"""Refused ack: for some seconds the store takes no writes, or no acknowledgements, while handlers come to their end."""

from benchmarks.proof.stage import Stage

SECONDS = 0.5


def play(stage: Stage) -> None:
    """Two workers are at work; the outage is shorter than the lease."""
    stage.send(stage.slots * 16, SECONDS)
    stage.wait_until_at_work(stage.start(), stage.start())
    stage.place.refuse(stage.scale.away)
    stage.settle()
