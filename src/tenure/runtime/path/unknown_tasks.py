"""Messages that this worker cannot run, because it does not have their task or a newer Tenure wrote them.

In a rolling deploy an old worker meets the tasks of a new one. While a worker that has the task is alive and serves the
queue, such a message goes back for a moment, however long the deploy takes. If no live worker has the task, the message
goes back for longer each time, and after ten minutes it becomes a dead letter.

Used by `admission.py`. How long no worker has had the task follows from the give-backs in the message's history.
"""

import random
from collections.abc import Callable
from typing import TypeGuard

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE, Probe
from tenure.rules import presence
from tenure.rules.queue_pattern import matches
from tenure.runtime.delivery import Delivery
from tenure.runtime.ownership.owned import UNKNOWN_TASK
from tenure.runtime.path.repeated_returns import GIVE_UP_SECONDS, given_back_for
from tenure.state import State
from tenure.verdict import Dead, Reason, Returned, Verdict

#: The code of what another one that is alive knows.
KNOWN_ELSEWHERE = "known_elsewhere"
_LONGEST_SECONDS = 60.0
#: A message that another worker knows comes back after this time or up to twice as much, so that they do not all come
#: back at once.
_ELSEWHERE_SECONDS = 1.0
#: Who is alive is asked this often at most, however many such messages there are.
_ROSTER_SECONDS = 1.0


def unknown(task: str) -> Returned:
    """Make the verdict on a message whose task this worker does not have; `turn_away` sets the delay."""
    return Returned(0.0, Reason(UNKNOWN_TASK, f"no live worker has a task {task!r}; deploy one, or delete the message"))


def is_unknown(verdict: Verdict) -> TypeGuard[Returned]:
    """Whether it is of a message that this worker cannot run, as by `unknown`, or because it cannot read it yet."""
    return isinstance(verdict, Returned) and verdict.reason.code == UNKNOWN_TASK


class UnknownTasks:
    """Decides for how long such messages are returned."""

    def __init__(
        self, state: State, clock: Clock, draw: Callable[[], float] = random.random, *, probe: Probe = SYSTEM_PROBE
    ) -> None:
        """Ask `state` who is alive, and what became of such a message before."""
        self._probe = probe
        self._roster = state.roster
        self._records = state.records
        self._clock = clock
        self._draw = draw
        #: What each worker that is alive serves and knows, and when that was asked. None: it could not be.
        self._known: list[Owner] | None = None
        self._asked_at = float("-inf")

    async def turn_away(self, delivery: Delivery, reason: Reason) -> Returned | Dead:
        """Return it for a moment, for longer each time, or make it a dead letter."""
        message = delivery.message
        if message is not None and await self._is_known_elsewhere(delivery.queue, message.task):
            text = f"this worker has no task {message.task!r}, and another live worker does"
            return Returned(_ELSEWHERE_SECONDS * (1.0 + self._draw()), Reason(KNOWN_ELSEWHERE, text))
        try:
            record = await self._records.get(delivery.id, delivery.queue)
        except BrokerUnavailable:
            record = None  # then as if it were the first time: too soon does no harm, too late might
        met, seconds = given_back_for(record.history if record is not None else (), UNKNOWN_TASK, self._clock.wall())
        if seconds >= GIVE_UP_SECONDS:
            return Dead(reason)
        return Returned(min(_LONGEST_SECONDS, 2.0 ** min(met + 1, 6)), reason)

    async def _is_known_elsewhere(self, queue: str, task: str) -> bool:
        """Whether another worker knows the task. We are on the roster too, but do not know it."""
        now = self._clock.monotonic()
        if now - self._asked_at >= _ROSTER_SECONDS:
            self._known = await self._ask()
            self._asked_at = now
        # Not to be asked: nothing is put aside on a guess.
        return self._known is None or any(task in one.tasks and matches(queue, one.queues) for one in self._known)

    async def _ask(self) -> list[Owner] | None:
        try:
            return presence.judge(await self._roster.members(), self._probe).owners
        except BrokerUnavailable:
            return None
