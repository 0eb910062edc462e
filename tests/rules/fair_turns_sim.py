"""A worker in made-up time that runs the messages of several queues, by turns or as they come."""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Mapping

from tenure.rules.fair_turns import FairTurns, Turn
from tenure.rules.rotation import rotated


class MadeUpWorker:
    """Slots, queues with the seconds that each of their messages takes, and what was run."""

    def __init__(self, slots: int, *, weights: Mapping[str, float] | None = None, is_fair: bool = True) -> None:
        """With nothing to do."""
        self.turns = FairTurns(slots, weights or {}) if is_fair else None
        self.slots = slots
        self.queues: dict[str, deque[tuple[float, float]]] = {}
        self.now = 0.0
        self.worked: defaultdict[str, float] = defaultdict(float)
        self.waits: dict[str, list[float]] = {}
        self.calls = self.empty_calls = 0
        self._calls = 0
        self._running: list[tuple[float, str, float]] = []
        self._arrivals: list[tuple[float, str, float]] = []

    def send(self, queue: str, count: int, seconds: float, *, at: float = 0.0, every: float = 0.0) -> None:
        """Messages that take so long, from a moment on."""
        for number in range(count):
            heapq.heappush(self._arrivals, (at + number * every, queue, seconds))

    def run(self, until: float, on_step: Callable[[], None] = lambda: None) -> None:
        """Work until then."""
        while self.now < until:
            while self._arrivals and self._arrivals[0][0] <= self.now:
                at, queue, seconds = heapq.heappop(self._arrivals)
                self.queues.setdefault(queue, deque()).append((at, seconds))
            self._fill()
            on_step()
            moments = [one[0][0] for one in (self._running, self._arrivals) if one]
            self.now = min([until, *moments])
            while self._running and self._running[0][0] <= self.now:
                _, queue, seconds = heapq.heappop(self._running)
                self.worked[queue] += seconds
                if self.turns is not None:
                    self.turns.ended(queue, seconds)

    def _fill(self) -> None:
        while (room := self.slots - len(self._running)) > 0:
            turn = Turn(room) if self.turns is None else self.turns.next(room)
            taken = self._lease(turn)
            asks_again = self.turns is not None and self.turns.answered(turn, taken)
            if not taken and not asks_again:
                return

    def _lease(self, turn: Turn) -> list[str]:
        """As a broker does it: each call begins with another queue, and fills up from the next."""
        self.calls += 1
        self._calls += 1
        taken: list[str] = []
        for queue in rotated(sorted(self.queues), self._calls):
            line = self.queues[queue]
            while line and queue not in turn.held_back and len(taken) < turn.want:
                at, seconds = line.popleft()
                self.waits.setdefault(queue, []).append(self.now - at)
                heapq.heappush(self._running, (self.now + seconds, queue, seconds))
                taken.append(queue)
        self.empty_calls += not taken
        return taken
