"""Strangers: messages that this worker cannot run, because it knows no such task or a newer Tenure wrote them.

In a rolling deploy an old worker meets the tasks of a new one. While a worker that knows the task is alive and serves
the queue, a stranger goes back for a moment, and is that one's to take, however long the deploy rests half way. What
nobody alive knows goes back for longer each time, and is put aside when that has been so for ten minutes.

Used by `admission.py`. How long nobody has known it is told by the reasons that the give-backs left in its history.
"""

import random
from collections.abc import Callable

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.owner import Owner
from tenure.probe import SYSTEM_PROBE, Probe
from tenure.rules import presence
from tenure.rules.queue_pattern import matches
from tenure.runtime.delivery import Delivery
from tenure.runtime.patience import GIVE_UP_SECONDS, given_back_for
from tenure.state import State
from tenure.verdict import Dead, Reason, Returned

#: The code of what nobody alive knows, and what its time is counted by.
UNKNOWN_TASK = "unknown_task"
#: The code of what another one that is alive knows.
KNOWN_ELSEWHERE = "known_elsewhere"
_LONGEST_SECONDS = 60.0
#: What somebody else knows comes back after this, and up to twice as much: all together would be met together again.
_ELSEWHERE_SECONDS = 1.0
#: Who is alive is asked this often at most, however many strangers there are.
_ROSTER_SECONDS = 1.0


def unknown(task: str) -> Reason:
    """Why a message for that task is a stranger here."""
    return Reason(UNKNOWN_TASK, f"no worker that is alive knows a task {task!r}; deploy one, or delete the message")


def unreadable(text: str) -> Reason:
    """Why a message that a newer Tenure wrote is a stranger here."""
    return Reason(UNKNOWN_TASK, text)


class Strangers:
    """Turns strangers away, for as long as seems right."""

    def __init__(
        self, state: State, clock: Clock, draw: Callable[[], float] = random.random, *, probe: Probe = SYSTEM_PROBE
    ) -> None:
        """Ask `state` who is alive, and what became of a stranger before."""
        self._probe = probe
        self._roster = state.roster
        self._records = state.records
        self._clock = clock
        self._draw = draw
        #: What each worker that is alive serves and knows, and when that was asked. None: it could not be.
        self._known: list[Owner] | None = None
        self._asked_at = float("-inf")

    async def turn_away(self, delivery: Delivery, reason: Reason) -> Returned | Dead:
        """Back for a moment, or for longer each time, or at last put aside."""
        message = delivery.message
        if message is not None and await self._is_known_elsewhere(delivery.queue, message.task):
            text = f"this worker knows no task {message.task!r}, and another one that is alive does"
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
        """We are on the roster too, but do not know it."""
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
