"""Malformed: entries that the contender cannot read lie in its queue, before the good ones and among them."""

from benchmarks.proof.stage import Stage

SECONDS = 0.2


def play(stage: Stage) -> None:
    """One worker, started again whenever it ends."""
    stage.send(stage.slots, SECONDS)
    stage.place.malform(stage.program)
    stage.send(stage.slots * 4, SECONDS)
    worker = stage.start()
    stage.wait_until_at_work(worker)
    stage.place.malform(stage.program)
    stage.send(stage.slots * 2, SECONDS)
    stage.settle(linger=False)
    restarts = len(stage.program.workers) - 1
    if restarts:
        stage.note = f"worker ended {restarts}×"
