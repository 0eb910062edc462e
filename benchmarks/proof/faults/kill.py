"""Kill storm: one of two workers is killed with `kill -9` as soon as both are at work, again and again."""

import time

from benchmarks.proof.stage import Stage

SECONDS = 0.2
#: Enough that both workers are busy for all of the kills.
FOR_EACH_KILL = 20


def play(stage: Stage) -> None:
    """The one that has been there longest dies, and another takes its place."""
    stage.send(stage.scale.kills * stage.slots * FOR_EACH_KILL, SECONDS)
    workers = [stage.start(), stage.start()]
    kills = 0
    for _ in range(stage.scale.kills):
        if not stage.wait_until_at_work(*workers) or not stage.unfinished():
            break
        time.sleep(SECONDS)
        stage.kill(workers.pop(0))
        kills += 1
        workers.append(stage.start())
    stage.settle()
    if kills < stage.scale.kills:
        stage.note = f"{kills} kills{stage.note and f', {stage.note}'}"
