"""An agenda: ids in order of a number, where any of them may leave or move at any time.

A heap whose outdated items stay until they come up, or until they are the larger part. Putting, moving, removing and
taking the first cost O(log n), spread over many calls. Used by `store.py`.
"""

import heapq

#: Compared from left to right, so that a tie in the first number is broken by the second.
Place = tuple[float, ...]

_TOO_FEW_TO_TIDY = 64


class Agenda:
    """Each id has at most one place."""

    def __init__(self) -> None:
        """Start empty."""
        self._places: dict[str, Place] = {}
        self._heap: list[tuple[Place, str]] = []

    def __len__(self) -> int:
        """Return the number of ids on the agenda."""
        return len(self._places)

    def put(self, id: str, place: Place) -> None:
        """Give `id` a place, or another one."""
        self._places[id] = place
        heapq.heappush(self._heap, (place, id))
        self._tidy()

    def remove(self, id: str) -> None:
        """Take `id` off, if it is there."""
        self._places.pop(id, None)
        self._tidy()

    def first(self) -> tuple[Place, str] | None:
        """The lowest place and the id that has it. None: there are none."""
        while self._heap:
            place, id = self._heap[0]
            if self._places.get(id) == place:
                return place, id
            heapq.heappop(self._heap)
        return None

    def _tidy(self) -> None:
        """Throw outdated items away once they are the larger part."""
        if len(self._heap) > 2 * len(self._places) + _TOO_FEW_TO_TIDY:
            self._heap = [(place, id) for id, place in self._places.items()]
            heapq.heapify(self._heap)
