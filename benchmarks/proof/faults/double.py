"""Double submit: each message is sent twice with the same id while it waits, and once more when all are done."""

import time

from benchmarks.proof.stage import Stage

SECONDS = 0.1


def play(stage: Stage) -> None:
    """The id is the one that the contender has a parameter for, if it has one."""
    ids = stage.send(stage.slots * 5, SECONDS)
    stage.send_again(ids, SECONDS)
    stage.start()
    stage.settle(linger=False)
    stage.send_again(ids, SECONDS)
    time.sleep(stage.scale.lease)  # nothing tells that a second run will not come
