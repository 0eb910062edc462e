"""Cut connection: every connection of two workers is reset, several times, half a second apart."""

import time

from benchmarks.proof.stage import Stage

SECONDS = 0.2
CUTS = 6


def play(stage: Stage) -> None:
    """The server never notices; what was sent on the old connections may have been carried out."""
    stage.send(stage.slots * 50, SECONDS)
    stage.wait_until_at_work(stage.start(), stage.start())
    for _ in range(CUTS):
        stage.place.cut()
        time.sleep(0.5)
    stage.settle()
