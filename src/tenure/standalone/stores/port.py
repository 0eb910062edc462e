"""The operations that a deduplicator needs of a store, each made of steps (`tenure.standalone.steps`)."""

from typing import Protocol

import msgspec

from tenure.standalone.steps import Steps


class Found(msgspec.Struct, frozen=True):
    """A record as it is stored."""

    record: bytes
    #: Changes with every write: a later write names the one it has seen.
    tag: str


class Store(Protocol):
    """Keeps records by key. A verb whose condition does not hold changes nothing; what else fails raises."""

    def read(self, key: str) -> Steps[Found | None]:
        """The record. None: there is none."""
        ...

    def add(self, key: str, record: bytes, keep_seconds: float) -> Steps[str | None]:
        """Insert it, if there is none; its tag. None: there is one."""
        ...

    def swap(self, key: str, record: bytes, tag: str, keep_seconds: float) -> Steps[str | None]:
        """Replace the one with that tag; the new tag. None: it is another one by now, or gone."""
        ...

    def drop(self, key: str, tag: str) -> Steps[None]:
        """Remove the one with that tag, if it is still there."""
        ...

    def prune(self, prefix: str, before: float) -> Steps[int]:
        """Remove the records whose keys begin so and that were last written before a moment (Unix seconds); how many.

        0 where the store removes old records by itself.
        """
        ...
