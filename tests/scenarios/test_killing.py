"""Workers killed again and again, under load."""

import time

import pytest

from tenure.clock import SYSTEM_CLOCK
from tenure.event import EventKind

from .grounds import FIGURES, on_each
from .process import Process
from .stage import Stage

#: DESIGN §1, "fast recovery".
RECOVERY_SECONDS = 3.0


class Reaper:
    """Kills workers, puts others in their place, and sees when what they held is free again."""

    def __init__(self, stage: Stage, workers: int, concurrency: int) -> None:
        """Begin with so many."""
        self._stage = stage
        self._concurrency = concurrency
        self._running: list[Process] = [stage.worker(concurrency) for _ in range(workers)]
        self._waiting: dict[int, float] = {}
        self._killed_at = 0.0
        #: Seconds from each kill until nothing was held by the dead, and how much that was.
        self.returns: list[float] = []
        self.held = 0
        self.kills = 0

    def kill_one(self) -> None:
        """The one that has been there longest."""
        victim = self._running.pop(0)
        self._killed_at = self._waiting[victim.pid] = victim.kill()
        self.kills += 1
        self.held += self._stage.holders()[victim.pid]
        self._running.append(self._stage.start_worker(self._concurrency))

    def may_go_on(self) -> bool:
        """Whether a second is over, and all are at work: while nobody is, nobody can find out who died."""
        self.watch()
        time.sleep(0.05)  # not to be a load itself
        is_over = SYSTEM_CLOCK.monotonic() > self._killed_at + 1.0
        return is_over and all(" runs " in process.said for process in self._running)

    def watch(self) -> bool:
        """See what has come back; whether all has."""
        holders = self._stage.holders()
        now = SYSTEM_CLOCK.monotonic()
        for pid in [pid for pid in self._waiting if not holders[pid]]:
            self.returns.append(now - self._waiting.pop(pid))
        return not self._waiting


#: Tasks and kills; a soak takes its time.
FULL = (2000, 20) if not FIGURES else (6000, 60)


@on_each("size", {"valkey9": [FULL], "redis62": [(600, 6)], "redis70": [(600, 6)]})
@pytest.mark.timeout(400)
def test_a_kill_every_second_loses_nothing_and_repeats_no_effect(stage: Stage, size: tuple[int, int]) -> None:
    """No loss, one effect, fast recovery at a lease of 600 s: 2,000 tasks of 20 ms, two workers, twenty kills."""
    tasks, kills = size
    stage.configure(lease=600, sweep_interval=5)
    stage.submit_many("nap", [{"seconds": 0.02}] * tasks)
    reaper = Reaper(stage, workers=2, concurrency=2)

    for _ in range(kills):
        reaper.kill_one()
        stage.until(reaper.may_go_on, "a second is over, and all are at work", within=60)
    stage.until(reaper.watch, "all that the dead held is back")
    stage.until_settled(within=120)

    verdict = stage.verdict()
    assert len(verdict.completed) == tasks
    assert verdict.refused == []
    assert not stage.events(EventKind.LEASE_LOST)
    assert reaper.held >= kills / 2, "the kills have met nobody at work"
    stage.measured_return(f"the slowest of {kills} kills ({reaper.held} messages held)", max(reaper.returns))
    # Not the slowest: on a machine that is short of processors, those who should find out may stand still, too.
    usual = sorted(reaper.returns)[3 * kills // 4]
    stage.measured("three of four", usual, at_most=RECOVERY_SECONDS)
