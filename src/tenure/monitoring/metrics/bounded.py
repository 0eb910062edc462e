"""Bounds how many values a label has: the first ones keep their names, the rest is `other`.

A name keeps its place for as long as the process lives, so that no counter ever goes back. Each process bounds its own.
"""

from collections.abc import Iterable

from tenure.monitoring.catalogue.labels import OTHER
from tenure.timing import tallied


class BoundedNames:
    """The values of one label."""

    def __init__(self, most: int) -> None:
        """Keep at most `most` names."""
        self._most = most
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        """Return the name, or `other`."""
        if name in self._known:
            return name
        if name == tallied.OTHER or len(self._known) >= self._most:
            return OTHER
        self._known.add(name)
        return name

    def keep(self, names: Iterable[str]) -> None:
        """Free the places of all others: of what is a gauge nothing goes back."""
        self._known.intersection_update(names)


class BoundedLabels:
    """The queues and tasks that have names of their own."""

    def __init__(self, most: int) -> None:
        """Keep at most `most` queues, and as many tasks."""
        self.queues = BoundedNames(most)
        self.tasks = BoundedNames(most)
