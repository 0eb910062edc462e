"""A span of time as people write it: "30", "30s", "5m", "2h". Pure. Read by the command line and the simulator."""

import re

_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)

#: For errors.
EXAMPLES = "30, 30s, 5m or 2h"


def seconds_in(text: str) -> float | None:
    """Seconds, from a number with or without a unit. None: it is no span of time."""
    found = _PATTERN.fullmatch(text.strip())
    unit = None if found is None else _UNITS.get(found[2].lower())
    return None if found is None or unit is None else float(found[1]) * unit
