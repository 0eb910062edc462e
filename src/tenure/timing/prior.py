"""A prior: what is believed of a task before it was measured, from its profile, or its size by a table, or nothing.

Used by `timing/learned.py` until there are runs enough. Pure.
"""

import msgspec

from tenure.timing.profile import PROFILES, SIZE_TABLES, Profile, SizeTable
from tenure.timing.why import amount, duration


class Estimate(msgspec.Struct, frozen=True):
    """Seconds that a run takes, and where the number is from."""

    seconds: float
    source: str


class Prior(msgspec.Struct, frozen=True):
    """The expectation before the first run."""

    profile: Profile | SizeTable | None = None
    #: What the profile is called, for people.
    name: str = ""

    def estimate(self, size: float | None = None) -> Estimate | None:
        """Estimate the duration of a run of that size. None: unknown."""
        match self.profile:
            case Profile(typical=typical):
                return Estimate(typical, f"profile {self.name}" if self.name else "its profile")
            case SizeTable() as table if size is not None:
                return Estimate(table.seconds_for(size), f"size table {self.name}" if self.name else "its size table")
        return None


NO_PRIOR = Prior()


def says(prior: Prior) -> str | None:
    """Describe the expectation in words. None: there is no profile."""
    match prior.profile:
        case Profile(p1=fast, typical=typical, worst=slow):
            return f"{duration(typical)} typical, {fast:g} to {duration(slow)}"
        case SizeTable(rows=rows) if rows:
            ends = (f"{duration(row.seconds)} at {amount(row.size_bytes)}" for row in (rows[0], rows[-1]))
            return f"by size, {' to '.join(ends)}"
    return None


def known_profiles() -> list[str]:
    """The names that a task may give."""
    return [*PROFILES, *SIZE_TABLES]


def prior_for(profile: str | Profile | SizeTable | None, task: str) -> Prior:
    """Find the prior in a task's options; without any, the profile of its own name, if there is one."""
    if isinstance(profile, Profile | SizeTable):
        return Prior(profile)
    name = task if profile is None else profile
    return Prior(PROFILES.get(name) or SIZE_TABLES.get(name), name)
