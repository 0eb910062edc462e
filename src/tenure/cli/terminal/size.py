"""Sizes as people write them: "500", "80kB", "1.5GB", "2GiB". Without a unit in whatever the task counts."""

import math
import re
from typing import TYPE_CHECKING, Any

import click

_POWERS = "kmgt"
_UNITS = {"": 1.0, "b": 1.0}
_UNITS |= {f"{letter}b": 1000.0 ** (place + 1) for place, letter in enumerate(_POWERS)}
_UNITS |= {f"{letter}ib": 1024.0 ** (place + 1) for place, letter in enumerate(_POWERS)}
_PATTERN = re.compile(r"(\d+(?:\.\d+)?(?:e\+?\d{1,3})?)\s*([a-z]*)", re.IGNORECASE)

if TYPE_CHECKING:
    _Parameter = click.ParamType[float]
else:
    _Parameter = click.ParamType  # not generic before click 8.2


class Size(_Parameter):
    """An option that takes an amount of work; the command gets a number."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Bytes, or this many of what the task counts."""
        if isinstance(value, int | float):
            return float(value)
        found = _PATTERN.fullmatch(str(value).strip())
        number = math.inf if found is None else float(found[1]) * _UNITS.get(found[2].lower(), math.inf)
        if not 0 <= number < math.inf:  # what is no number at all compares false, too
            self.fail(f"{value!r} is not a size; write 500, 80kB, 1.5GB or 2GiB", param, ctx)
        return number


SIZE = Size()
