"""Fair turns: which queues a worker asks next, so that each client gets its part of the worker's time. Pure.

Deficit round robin by work time, the time that handlers took. In a round each client may use its quantum: 0.1 s for
each slot of the worker, times its weight. A client that used it up is held back while others have something waiting.
When nothing is left of those, the next round begins: every client gets another quantum, and one that took more than its
part pays that back first. So a client that floods its queue cannot keep the others waiting, whether its messages are
many and short or few and long, and a slot is never idle while a message waits.

How long a message will take is not known when it is leased, so it is charged what those of its client took on average,
and put right when it ended. One call leases at most what is worth a quantum. Credit is not saved up: who has nothing
waiting begins with one quantum when something comes. What was used too much is paid back as long as others wait, and
forgotten when nothing does.

Each worker decides for itself, by what it ran: if each shares its time fairly, so do all of them. Within a queue the
order is that of `rotation.py`. Asked by `runtime/path/intake.py`; told of ends by `runtime/path/reporting.py`.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tenure.rules.client_queue import CLIENT_SUFFIX, client_of_queue
from tenure.rules.client_weights import NO_WEIGHTS, weight_of
from tenure.rules.queue_pattern import WILDCARD, is_pattern

#: The work time of one round, for each slot of the worker.
QUANTUM_SECONDS = 0.1
#: No more queues than this are held back at once, those that used most: every lease call names them.
MOST_HELD_BACK = 1_000
#: So many queues are remembered. Those that have nothing are forgotten first.
_MOST_KNOWN = 10_000
#: How much the newest run weighs in the mean.
_WEIGHT = 0.2


class Turn(NamedTuple):
    """What to ask for: at most so many messages, from every served queue but these."""

    want: int
    held_back: tuple[str, ...] = ()


class _Account:
    """What one queue may still use in this round, and what is known of its messages. Times are seconds."""

    __slots__ = ("charged", "credit", "gives", "mean", "running")

    def __init__(self, credit: float) -> None:
        self.credit = credit
        #: Messages that were leased and have not ended, and what was charged for them.
        self.running = 0
        self.charged = 0.0
        #: None: none has ended yet.
        self.mean: float | None = None
        #: The last answer brought something of it, so there may be more.
        self.gives = False


def shares_out(queues: Iterable[str]) -> bool:
    """Whether a worker that serves these names and patterns serves the queues of several clients."""
    clients = 0
    for queue in queues:
        if is_pattern(queue):
            # The queue of every client that a pattern matches ends like this.
            clients += 2 if queue.endswith((CLIENT_SUFFIX, WILDCARD)) and _may_be_clients(queue) else 0
        else:
            clients += client_of_queue(queue) is not None
    return clients > 1


def _may_be_clients(pattern: str) -> bool:
    return pattern.endswith(CLIENT_SUFFIX) or pattern.rpartition("/")[2] == WILDCARD


class FairTurns:
    """The turns of the queues that one worker serves."""

    def __init__(self, slots: int, weights: Mapping[str, float] = NO_WEIGHTS) -> None:
        """Begin a round in which nothing was used yet."""
        self._quantum = QUANTUM_SECONDS * slots
        #: By queue (`client_weights.weight_of`); may be replaced at any time.
        self.weights = weights
        self._accounts: dict[str, _Account] = {}
        #: Those whose credit is used up.
        self._held: dict[str, _Account] = {}
        #: The others that used some of theirs since they last had nothing.
        self._begun: dict[str, _Account] = {}
        #: Of these: how long the messages of the slowest one take, or took a moment ago. None: look.
        self._slowest: float | None = 0.0
        #: The mean of all queues, for one of which nothing is known.
        self._mean = 0.0
        #: So many answers in a row brought nothing.
        self._empty = 0
        #: Whether there is anything to share out. False: the other methods are not called, or change nothing.
        self.is_on = False

    def serve(self, queues: Iterable[str]) -> None:
        """Serve these names and patterns from now on."""
        self.is_on = shares_out(queues)

    def next(self, want: int) -> Turn:
        """Choose what the next lease call asks for."""
        slowest = self._slowest
        if slowest is None:
            slowest = max((one.mean or 0.0 for one in self._begun.values() if one.gives), default=0.0)
            self._slowest = slowest
        slowest = max(slowest, self._mean)
        most = want if slowest * want <= self._quantum else max(1, math.floor(self._quantum / slowest))
        held: Iterable[str] = self._held
        if len(self._held) > MOST_HELD_BACK:
            held = heapq.nsmallest(MOST_HELD_BACK, self._held, key=lambda queue: self._held[queue].credit)
        return Turn(most, tuple(held))

    def answered(self, turn: Turn, queues: Sequence[str]) -> bool:
        """Take note of the answer: the queue of each message. True: ask again at once, others may have something."""
        if queues:
            self._empty = 0
            for queue, count in Counter(queues).items():
                self._charge(queue, count)
            return False
        self._renew(self._begun)
        if not turn.held_back:
            # Nothing waits anywhere, so no queue is owed a turn.
            self._renew(self._held)
            self._empty = 0
            return False
        self._begin_round()
        return True

    def ended(self, queue: str, seconds: float | None) -> None:
        """A message of the queue has left the worker. None: it was not run."""
        account = self._accounts.get(queue)
        if account is None:
            return
        if account.running:
            share = account.charged / account.running
            account.running -= 1
            account.charged -= share
            account.credit += share
        if seconds is not None:
            account.credit -= seconds
            account.mean = seconds if account.mean is None else account.mean + _WEIGHT * (seconds - account.mean)
            self._mean += _WEIGHT * (seconds - self._mean)
        self._place(queue, account)

    # -- inside ------------------------------------------------------------------------------------

    def _charge(self, queue: str, count: int) -> None:
        account = self._accounts.get(queue)
        if account is None:
            if len(self._accounts) >= _MOST_KNOWN:
                self._drop_idle()
            account = self._accounts[queue] = _Account(self._full(queue))
        expected = count * (self._mean if account.mean is None else account.mean)
        account.running += count
        account.charged += expected
        account.credit -= expected
        account.gives = True
        self._place(queue, account)

    def _place(self, queue: str, account: _Account) -> None:
        """Hold it back if it has used up its part; else it is asked."""
        if account.credit <= 0:
            self._held[queue] = account
            if self._begun.pop(queue, None) is not None and account.mean == self._slowest:
                self._slowest = None
            return
        self._held.pop(queue, None)
        self._begun[queue] = account
        if account.gives and self._slowest is not None and (account.mean or 0.0) > self._slowest:
            self._slowest = account.mean

    def _renew(self, some: dict[str, _Account]) -> None:
        """These have nothing waiting: whatever comes next finds a whole quantum."""
        for queue, account in some.items():
            account.gives, account.credit = False, self._full(queue)
        some.clear()
        self._slowest = None

    def _begin_round(self) -> None:
        """Let the next ones in: those first that took least too much.

        Whether they have something is known only after they were asked. If the next answers are empty too, half of
        them and then all are asked, so that few calls are made for nothing.
        """
        waiting = [one for one in self._held.items() if one[1].gives] or list(self._held.items())
        if not waiting:  # messages that ended during the call were cheaper than expected
            return
        rounds = sorted(map(self._rounds, waiting))
        self._advance(rounds[(0, len(rounds) // 2, -1)[min(self._empty, 2)]])
        self._empty += 1

    def _advance(self, rounds: int) -> None:
        for queue, account in list(self._held.items()):
            full = self._full(queue)
            account.credit = min(full, account.credit + rounds * full)
            self._place(queue, account)
        self._slowest = None

    def _rounds(self, held: tuple[str, _Account]) -> int:
        """After how many rounds it is asked again."""
        queue, account = held
        return math.floor(-account.credit / self._full(queue)) + 1

    def _full(self, queue: str) -> float:
        return self._quantum * weight_of(queue, self.weights)

    def _drop_idle(self) -> None:
        for queue in [queue for queue, one in self._accounts.items() if not one.running]:
            if queue not in self._held and queue not in self._begun:
                del self._accounts[queue]
