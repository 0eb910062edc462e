"""Which versions of Tenure work together: neighbouring minor versions do. Pure.

During a rolling upgrade two minor versions run side by side, and each reads what the other writes. Further apart they
were never tried together. Used by `client/operations/doctor`.
"""

import re

_NUMBERS = re.compile(r"(\d+)\.(\d+)")
#: So many minor versions apart are neighbours.
NEIGHBOURS = 1


def minor_of(version: str) -> tuple[int, int] | None:
    """Major and minor number of a version. None: it cannot be read."""
    found = _NUMBERS.match(version)
    return None if found is None else (int(found[1]), int(found[2]))


def are_neighbours(one: str, other: str) -> bool | None:
    """Whether two versions work together. None: one of them cannot be read."""
    first, second = minor_of(one), minor_of(other)
    if first is None or second is None:
        return None
    return first[0] == second[0] and abs(first[1] - second[1]) <= NEIGHBOURS
