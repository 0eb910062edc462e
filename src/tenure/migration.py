"""A migration: what is carried from the layout of an earlier version into the one that is in use now.

Only a store whose layout is not read by later versions has one: of Azure that of the versions before the shared core.
Made by `assembly.migration`; run by `tenure migrate store`. Everything that a store does not carry is named
(`left_behind`).
"""

from typing import Protocol

import msgspec


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """What was carried, or would be, counted by what people call it."""

    dead_letters: int = 0
    #: Messages that were completed within the retention: their results, and that a second send of them is known.
    completed: int = 0
    cancelled: int = 0
    #: Keys of which the work is done.
    keys: int = 0
    #: Access tokens, secrets, webhook endpoints, quotas and other small documents.
    documents: int = 0
    #: Pauses, limits and other things that operators told the workers.
    notices: int = 0
    #: The newest tick of each schedule: so none is missed, and none comes twice.
    schedules: int = 0
    #: Entries of the audit log.
    acts: int = 0
    #: How long runs took, from which leases are learned.
    samples: int = 0
    #: Rows of statistics.
    tallies: int = 0

    def plus(self, other: "Carried") -> "Carried":
        """The sum of both."""
        names = self.__struct_fields__
        return Carried(**{name: getattr(self, name) + getattr(other, name) for name in names})


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """What must end before anything is carried; of each kind only as many as were looked at."""

    waiting: int = 0
    delayed: int = 0
    leased: int = 0
    #: Endings that were not announced to all that asked for them.
    announcements: int = 0
    #: Workers of the earlier version that were heard of within the last minute.
    workers: tuple[str, ...] = ()
    #: Whether there may be more: looking is bounded.
    is_partial: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands in the way."""
        return not (self.waiting or self.delayed or self.leased or self.announcements or self.workers)


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """How a migration ended, or how one would."""

    #: `nothing` to carry, `would_carry`, `carried`, `already_carried`, or `unfinished`: something stands in the way.
    outcome: str
    place: str
    is_dry_run: bool
    carried: Carried = Carried()
    unfinished: Unfinished = Unfinished()
    #: What stays where it was, in words.
    left_behind: tuple[str, ...] = ()


class Migrator(Protocol):
    """A store that can carry over what an earlier version kept."""

    async def migrate(self, *, dry_run: bool) -> Migration:
        """Carry everything over; with `dry_run` only count it. Repeated after any end it goes on where it was."""
        ...
