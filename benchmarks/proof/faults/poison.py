"""Poison: one message kills the process that runs it. The verdict is on the others; the note says what became of it."""

import os

from benchmarks.proof.stage import Stage

SECONDS = 0.2


def play(stage: Stage) -> None:
    """It is sent in the middle of others, to one worker that is started again whenever it ends."""
    stage.send(stage.slots * 4, SECONDS)
    poison = os.urandom(12).hex()
    stage.send_again([poison], 0.0, kind="poison")
    stage.send(stage.slots * 6, SECONDS)
    stage.start()
    stage.settle()
    crashes = sum(run.id == poison for run in stage.runs())
    stage.note = f"crashed {crashes}×{stage.note and f', {stage.note}'}"
