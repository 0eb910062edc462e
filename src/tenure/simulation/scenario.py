"""A scenario: the workload and the faults, the same for every policy that is compared.

Whatever is left to chance is drawn from `seed` and from what it happens to (the message and the number of its run, the
worker and the number of its boot), never from the order of events. So a message that is ended by a crash at its first
run meets that crash under every policy, and two policies differ only by what they do.
"""

import random

import msgspec

from tenure.sample import Sample

_HOUR, _DAY = 3600.0, 86_400.0
#: A policy under which the work takes this many times as long as it must is stuck.
_LIMIT_TIMES = 12.0


class Work(msgspec.Struct, frozen=True, gc=False):
    """One message: how long its handler runs, however often it is run."""

    seconds: float
    #: In bytes. None: it has no size.
    size: int | None = None


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """The circumstances that every policy meets alike."""

    works: tuple[Work, ...]
    #: Messages a second, at random moments. None: all are there at the beginning.
    rate: float | None = None
    workers: int = 10
    #: Messages that one worker runs at once.
    slots: int = 10
    #: The part of the runs in the middle of which their worker is ended, as by `kill -9`.
    crash_rate: float = 0.0
    #: How often a worker is ended so in an hour, whatever it does.
    crashes_an_hour: float = 0.0
    #: Until another worker takes the place of one that was ended.
    restart_seconds: float = 10.0
    #: The part of the delete calls that fail.
    delete_failure_rate: float = 0.0
    #: In a loop of one's own: whether a delete by a receipt that is not the newest works. SQS promises neither.
    stale_deletes_work: bool = False
    #: How long after its end a worker is proven dead. None: its death is not noticed, as on SQS; only its leases end.
    proof_seconds: float | None = None
    #: After SIGTERM: how long handlers may go on.
    grace_seconds: float = 30.0
    #: Where workers are scaled: what waits shall have begun within so long. `workers` is the most then.
    target_age_seconds: float = 300.0
    #: Whether idle workers are the first to go, as with scale-in protection. Else who goes is drawn by lot.
    idle_first: bool = False
    #: What a policy that learns knows before the first run: the name of a profile or of a size table. None: nothing.
    profile: str | None = None
    #: Runs that were recorded before: what workers that learn read from the journal when they start.
    recorded: tuple[Sample, ...] = ()
    seed: int = 1

    def crash_of_run(self, index: int, run: int) -> float | None:
        """After how many seconds of run number `run` its worker dies. None: it does not."""
        if not self.crash_rate:
            return None
        chance = _chance(self.seed, "run", index, run)
        return chance.random() * self.works[index].seconds if chance.random() < self.crash_rate else None

    def life_of_worker(self, seat: int, boot: int) -> float | None:
        """After how many seconds the worker dies by itself. None: it does not."""
        if not self.crashes_an_hour:
            return None
        return _chance(self.seed, "worker", seat, boot).expovariate(self.crashes_an_hour / _HOUR)

    def fails_to_delete(self, index: int, attempt: int) -> bool:
        """Whether the delete call that begins with this message fails, at this attempt."""
        if not self.delete_failure_rate:
            return False
        return _chance(self.seed, "delete", index, attempt).random() < self.delete_failure_rate

    def limit_seconds(self) -> float:
        """The time limit: a day and twelve times what the work takes. Some policies never finish."""
        slots = self.workers * self.slots
        work = sum(work.seconds for work in self.works) / slots + max(work.seconds for work in self.works)
        last = 0.0 if self.rate is None else len(self.works) / self.rate
        return last + _LIMIT_TIMES * work + _DAY

    def arrivals(self) -> list[float]:
        """The second at which each message is sent; 0 for a backlog."""
        if self.rate is None:
            return [0.0] * len(self.works)
        chance = random.Random(f"{self.seed}/arrivals")  # noqa: S311 - chance, not a secret
        now = 0.0
        return [now := now + chance.expovariate(self.rate) for _ in self.works]


def _chance(seed: int, what: str, *which: int) -> random.Random:
    return random.Random(f"{seed}/{what}/{which}")  # noqa: S311 - chance, not a secret
