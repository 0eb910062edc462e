"""Scaling: how many workers a queue needs, from its messages and how long its runs take.

The backlog is what waits, what is due soon *and what runs*. A count of waiting messages alone (visible-only scaling,
the usual rule on cloud queues) is zero while every worker is busy. It stops them, and the messages that they held
come back and are run again; `visible_only` is that rule, for comparison.

    work      (ready + due) × mean + leased × mean       a run that goes on may have just begun
    time      target age, less q99 over the mean         room for one slow run before the last one; half of it at most
    slots     work ÷ time, at most one for each message, and no more than the queue's limit lets run at once
    workers   slots ÷ slots a worker, within the bounds

Fewer workers are advised slowly: never fewer than what runs needs, and not within the cooldown. Pure; moments and the
number of workers are handed in, so that a simulation may ask as often as a server. Used by `tenure scaling`.
"""

import math

import msgspec

from tenure.errors import BadArgument
from tenure.limit import Limit
from tenure.timing.why import duration
from tenure.timing.wording import counted

#: Of a division: 90 / 30 is 3, whatever floats make of it.
_DUST = 1e-9


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """The messages in a queue. None: the broker cannot say."""

    ready: int | None
    leased: int | None
    #: Delayed messages that are due within the target age.
    due: int | None = 0


class Pace(msgspec.Struct, frozen=True):
    """How long a message keeps a slot busy: measured over runs, failed ones too, or from a profile at first."""

    mean_seconds: float
    #: 99 of 100 stay within it.
    tail_seconds: float
    runs: int
    #: What is expected, and by what. Empty: it was measured.
    source: str = ""

    @property
    def evidence(self) -> str:
        """Describe in words where the figures come from."""
        if self.source:
            return f"by {self.source}, no run was measured yet"
        return f"q99 {duration(self.tail_seconds)}, {self.runs:,} runs"


class ScalingRules(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and targets of scaling, checked when they are made."""

    #: Target: everything that waits now has begun within this time.
    target_age_seconds: float = 60.0
    #: Messages that one worker runs at once.
    slots: int = 10
    minimum: int = 0
    #: None: as many as it takes.
    maximum: int | None = None
    #: After workers were added, none is taken away for this long.
    cooldown_seconds: float = 300.0
    #: How many messages of the queue may run at once, and start in a second, over all workers.
    limit: Limit = Limit()

    def __post_init__(self) -> None:
        """Refuse rules that nothing can meet."""
        if not 0.0 < self.target_age_seconds < math.inf or self.slots < 1:
            msg = f"within {self.target_age_seconds!r} s, {self.slots!r} at a time: no number of workers can do that"
            raise BadArgument(msg)
        if self.minimum < 0 or (self.maximum is not None and self.maximum < max(1, self.minimum)):
            msg = f"from {self.minimum!r} to {self.maximum!r} workers: the largest number is below the smallest, or 0"
            raise BadArgument(msg)


class Scale(msgspec.Struct, frozen=True):
    """The number of workers and the reason. None: the broker does not count its messages."""

    workers: int | None
    why: str


class Comparison(msgspec.Struct, frozen=True):
    """The rule beside the usual one."""

    desired: Scale
    visible_only: Scale
    #: Messages that run on workers which the usual rule would stop now. None: cannot be known.
    interrupted: int | None


def desired_workers(
    backlog: Backlog,
    pace: Pace | None,
    rules: ScalingRules,
    *,
    current: int | None = None,
    since_added_seconds: float = math.inf,
) -> Scale:
    """Return how many workers the queue needs now; `pace` None: no run was measured, and there is no profile.

    `current` is how many there are (None: unknown), `since_added_seconds` how long ago the last ones were added.
    """
    if backlog.ready is None or backlog.leased is None:
        unknown = "ready" if backlog.ready is None else "leased"
        return Scale(None, f"the broker does not say how many are {unknown}, so it cannot be calculated")
    waiting, running = backlog.ready + (backlog.due or 0), backlog.leased
    needed, why = _for_backlog(waiting, running, pace, rules)
    busy = _workers(running, rules)
    if needed < busy:
        needed, why = busy, f"{why}; {needed} would do, but what runs keeps {busy} busy"
    if backlog.due is None:
        why += "; how many of the delayed ones are due is not known, and they are left out"
    return _cooled(*_bounded(needed, why, rules), rules, current, since_added_seconds)


def visible_only(
    backlog: Backlog,
    pace: Pace | None,
    rules: ScalingRules,
    *,
    current: int | None = None,
    since_added_seconds: float = math.inf,
) -> Scale:
    """The usual rule, which looks at what waits and forgets what runs. For comparison only."""
    if backlog.ready is None:
        return Scale(None, "the broker does not say how many are ready, so it cannot be calculated")
    needed, why = _for_backlog(backlog.ready, 0, pace, rules)
    return _cooled(*_bounded(needed, why, rules), rules, current, since_added_seconds)


def compare(
    backlog: Backlog,
    pace: Pace | None,
    rules: ScalingRules,
    *,
    current: int | None = None,
    since_added_seconds: float = math.inf,
) -> Comparison:
    """Apply both rules to the same queue, and count the running messages that the usual one would interrupt."""
    ours = desired_workers(backlog, pace, rules, current=current, since_added_seconds=since_added_seconds)
    usual = visible_only(backlog, pace, rules, current=current, since_added_seconds=since_added_seconds)
    if usual.workers is None or backlog.leased is None:
        return Comparison(ours, usual, None)
    return Comparison(ours, usual, max(0, backlog.leased - usual.workers * rules.slots))


def slots_needed(waiting: int, running: int, pace: Pace, target_age_seconds: float) -> int:
    """Slots by which all that waits has begun within the target age; never more than there are messages."""
    messages = waiting + running
    work = messages * pace.mean_seconds
    return min(messages, max(1, math.ceil(work / _usable_seconds(pace, target_age_seconds) - _DUST)))


def messages_per_worker(pace: Pace | None, rules: ScalingRules) -> float:
    """Return how many messages, waiting or running, one worker can have: the target of a tracking autoscaler.

    `desired_workers` is about the messages divided by it. `pace` None: one message for each slot.
    """
    if pace is None or pace.mean_seconds <= 0.0:
        return float(rules.slots)
    return rules.slots * max(1.0, _usable_seconds(pace, rules.target_age_seconds) / pace.mean_seconds)


def _usable_seconds(pace: Pace, target_age_seconds: float) -> float:
    """The target age without the room for one slow run."""
    reserve = max(0.0, pace.tail_seconds - pace.mean_seconds)
    return max(target_age_seconds - reserve, target_age_seconds / 2.0, pace.mean_seconds)


def usable_slots(limit: Limit, pace: Pace) -> int | None:
    """How many slots the limit of a queue can keep busy. None: any number.

    A rate keeps as many busy as start during one run; and a burst of one second's worth may start at once.
    """
    most = [] if limit.running is None else [limit.running]
    if limit.per_second is not None:
        most.append(max(1, math.ceil(limit.per_second * max(pace.mean_seconds, 1.0) - _DUST)))
    return min(most, default=None)


def _for_backlog(waiting: int, running: int, pace: Pace | None, rules: ScalingRules) -> tuple[int, str]:
    """Without bounds, and why."""
    if not waiting and not running:
        return 0, "nothing waits or runs"
    what = " and ".join(
        [*([f"{waiting:,} to begin"] if waiting else []), *([f"{running:,} that run"] if running else [])]
    )
    if pace is None:
        return max(1, _workers(running, rules)), f"{what}; no run was measured yet, and one worker finds out"
    needed = slots_needed(waiting, running, pace, rules.target_age_seconds)
    usable = usable_slots(rules.limit, pace)
    slots = needed if usable is None else min(needed, usable)
    sums = f"{what} × {duration(pace.mean_seconds)} ({pace.evidence})"
    goal = f"within {duration(rules.target_age_seconds)}"
    why = f"{sums} {goal} need {counted(needed, 'slot')}, {rules.slots} a worker"
    if slots < needed:
        why += f"; the queue's limit, {rules.limit}, can use {slots:,}"
    return _workers(slots, rules), why


def _workers(slots: int, rules: ScalingRules) -> int:
    return math.ceil(slots / rules.slots - _DUST)


def _bounded(needed: int, why: str, rules: ScalingRules) -> tuple[int, str]:
    if needed < rules.minimum:
        return rules.minimum, f"{why}; {rules.minimum} is the least"
    if rules.maximum is not None and needed > rules.maximum:
        return rules.maximum, f"{why}; it would take {needed:,}, and {rules.maximum} is the most"
    return needed, why


def _cooled(wanted: int, why: str, rules: ScalingRules, current: int | None, since_added_seconds: float) -> Scale:
    """Keep the number for some time after a rise: the cause of the backlog may return."""
    kept = min(wanted if current is None else current, math.inf if rules.maximum is None else rules.maximum)
    if kept <= wanted or since_added_seconds >= rules.cooldown_seconds:
        return Scale(wanted, why)
    left = duration(rules.cooldown_seconds - since_added_seconds)
    return Scale(int(kept), f"{why}; {wanted} would do, but the cooldown goes on for {left}")
