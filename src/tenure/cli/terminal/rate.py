"""Rates as people write them: "50/s", "100/m"."""

import re
from typing import TYPE_CHECKING, Any

import click

_PER = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/\s*([a-z]+))?", re.IGNORECASE)

if TYPE_CHECKING:
    _Parameter = click.ParamType[float]
else:
    _Parameter = click.ParamType  # not generic before click 8.2


class Rate(_Parameter):
    """An option that takes this many a time; the command gets how many a second."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """How many a second."""
        if isinstance(value, int | float):
            return float(value)
        found = _PATTERN.fullmatch(str(value).strip())
        unit = (found[2] or "").lower() if found else None
        if found is None or unit not in _PER or not float(found[1]):
            self.fail(f"{value!r} is not a rate above 0; write 50/s, 100/m or 1000/h", param, ctx)
        return float(found[1]) / _PER[unit]


RATE = Rate()
