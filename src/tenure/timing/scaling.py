"""Scaling: how many workers a queue needs, from what lies in it and how long its runs take.

The backlog is what waits, what is due soon *and what runs*. Who looks at what waits alone (visible-only scaling, the
usual rule on cloud queues) sees an empty queue while every worker is busy, stops them, and the messages that they held
come back and are run again; `visible_only` is that rule, for comparison.

    work      (ready + due) × mean + leased × mean       a run that goes on may have just begun
    time      target age, less q99 over the mean         room for one slow run before the last one; half of it at most
    slots     work ÷ time, at most one for each message
    workers   slots ÷ slots a worker, within the bounds

Fewer workers are advised slowly: never fewer than what runs needs, and not within the cooldown. Pure; moments and the
number of workers are handed in, so that a simulation may ask as often as a server. Used by `tenure scaling`.
"""

import math

import msgspec

from tenure.errors import BadArgument
from tenure.timing.why import duration
from tenure.timing.wording import counted

#: Of a division: 90 / 30 is 3, whatever floats make of it.
_DUST = 1e-9


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in a queue. None: the broker cannot say."""

    ready: int | None
    leased: int | None
    #: Delayed messages that are due within the target age.
    due: int | None = 0


class Pace(msgspec.Struct, frozen=True):
    """How long a message keeps a slot busy, by so many runs, failed ones too; or by a profile, before the first run."""

    mean_seconds: float
    #: 99 of 100 stay within it.
    tail_seconds: float
    runs: int
    #: What is expected, and by what. Empty: it was measured.
    source: str = ""

    @property
    def evidence(self) -> str:
        """Where the figures come from, in words."""
        if self.source:
            return f"by {self.source}, no run was measured yet"
        return f"q99 {duration(self.tail_seconds)}, {self.runs:,} runs"


class ScalingRules(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted. Checked when it is made."""

    #: Whatever lies there now shall have begun within so long.
    target_age_seconds: float = 60.0
    #: Messages that one worker runs at once.
    slots: int = 10
    minimum: int = 0
    #: None: as many as it takes.
    maximum: int | None = None
    #: After workers were added, none is taken away for so long.
    cooldown_seconds: float = 300.0

    def __post_init__(self) -> None:
        """Refuse rules that nothing can meet."""
        if not 0.0 < self.target_age_seconds < math.inf or self.slots < 1:
            msg = f"within {self.target_age_seconds!r} s, {self.slots!r} at a time: no number of workers can do that"
            raise BadArgument(msg)
        if self.minimum < 0 or (self.maximum is not None and self.maximum < max(1, self.minimum)):
            msg = f"from {self.minimum!r} to {self.maximum!r} workers: the largest number is below the smallest, or 0"
            raise BadArgument(msg)


class Scale(msgspec.Struct, frozen=True):
    """How many workers, and why. None: the broker does not say how much there is to do."""

    workers: int | None
    why: str


class Comparison(msgspec.Struct, frozen=True):
    """The rule beside the usual one."""

    desired: Scale
    visible_only: Scale
    #: Messages that run on workers which the usual rule would stop now. None: cannot be known.
    interrupted: int | None


def desired_workers(
    backlog: Backlog, pace: Pace | None, rules: ScalingRules, *,
    current: int | None = None, since_added_seconds: float = math.inf,
) -> Scale:  # fmt: skip
    """How many workers the queue needs now; `pace` None: no run was measured yet, and there is no profile.

    `current` is how many there are (None: unknown), `since_added_seconds` how long ago the last ones were added.
    """
    if backlog.ready is None or backlog.leased is None:
        unknown = "ready" if backlog.ready is None else "leased"
        return Scale(None, f"the broker does not say how many are {unknown}, so nobody can know")
    waiting, running = backlog.ready + (backlog.due or 0), backlog.leased
    needed, why = _for_backlog(waiting, running, pace, rules)
    busy = _workers(running, rules)
    if needed < busy:
        needed, why = busy, f"{why}; {needed} would do, but what runs keeps {busy} busy"
    if backlog.due is None:
        why += "; how many of the delayed ones are due is not known, and they are left out"
    return _cooled(*_bounded(needed, why, rules), rules, current, since_added_seconds)


def visible_only(
    backlog: Backlog, pace: Pace | None, rules: ScalingRules, *,
    current: int | None = None, since_added_seconds: float = math.inf,
) -> Scale:  # fmt: skip
    """The usual rule, which looks at what waits and forgets what runs. For comparison only."""
    if backlog.ready is None:
        return Scale(None, "the broker does not say how many are ready, so nobody can know")
    needed, why = _for_backlog(backlog.ready, 0, pace, rules)
    return _cooled(*_bounded(needed, why, rules), rules, current, since_added_seconds)


def compare(
    backlog: Backlog, pace: Pace | None, rules: ScalingRules, *,
    current: int | None = None, since_added_seconds: float = math.inf,
) -> Comparison:  # fmt: skip
    """Both rules on the same queue, and how many running messages the usual one would interrupt."""
    ours = desired_workers(backlog, pace, rules, current=current, since_added_seconds=since_added_seconds)
    usual = visible_only(backlog, pace, rules, current=current, since_added_seconds=since_added_seconds)
    if usual.workers is None or backlog.leased is None:
        return Comparison(ours, usual, None)
    return Comparison(ours, usual, max(0, backlog.leased - usual.workers * rules.slots))


def slots_needed(waiting: int, running: int, pace: Pace, target_age_seconds: float) -> int:
    """Slots by which all that waits has begun within the target age; never more than there are messages."""
    messages = waiting + running
    work = messages * pace.mean_seconds
    reserve = max(0.0, pace.tail_seconds - pace.mean_seconds)
    time = max(target_age_seconds - reserve, target_age_seconds / 2.0, pace.mean_seconds)
    return min(messages, max(1, math.ceil(work / time - _DUST)))


def _for_backlog(waiting: int, running: int, pace: Pace | None, rules: ScalingRules) -> tuple[int, str]:
    """Without bounds, and why."""
    if not waiting and not running:
        return 0, "nothing waits or runs"
    what = " and ".join(
        [*([f"{waiting:,} to begin"] if waiting else []), *([f"{running:,} that run"] if running else [])]
    )
    if pace is None:
        return max(1, _workers(running, rules)), f"{what}; no run was measured yet, and one worker finds out"
    slots = slots_needed(waiting, running, pace, rules.target_age_seconds)
    sums = f"{what} × {duration(pace.mean_seconds)} ({pace.evidence})"
    goal = f"within {duration(rules.target_age_seconds)}"
    return _workers(slots, rules), f"{sums} {goal} need {counted(slots, 'slot')}, {rules.slots} a worker"


def _workers(slots: int, rules: ScalingRules) -> int:
    return math.ceil(slots / rules.slots - _DUST)


def _bounded(needed: int, why: str, rules: ScalingRules) -> tuple[int, str]:
    if needed < rules.minimum:
        return rules.minimum, f"{why}; {rules.minimum} is the least"
    if rules.maximum is not None and needed > rules.maximum:
        return rules.maximum, f"{why}; it would take {needed:,}, and {rules.maximum} is the most"
    return needed, why


def _cooled(wanted: int, why: str, rules: ScalingRules, current: int | None, since_added_seconds: float) -> Scale:
    """Not fewer so soon after there were more: what grew the backlog may come again."""
    kept = min(wanted if current is None else current, math.inf if rules.maximum is None else rules.maximum)
    if kept <= wanted or since_added_seconds >= rules.cooldown_seconds:
        return Scale(wanted, why)
    left = duration(rules.cooldown_seconds - since_added_seconds)
    return Scale(int(kept), f"{why}; {wanted} would do, but the cooldown goes on for {left}")
