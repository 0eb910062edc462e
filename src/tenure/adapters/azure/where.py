"""Which rows: conditions on their fields, told to the table's service in its own words, or looked at here.

    EQ("State", "leased") | IS("IsUnput")

A field that a row does not have fulfils nothing. Used by whoever scans rows; carried out by `rows.py` or
`table_rows.py`.
"""

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "ge": operator.ge,
}  # fmt: skip


class Where(msgspec.Struct, frozen=True):
    """A condition on one field (`left` is its name, `right` the value), or two conditions (`and`, `or`)."""

    left: Any
    act: str
    right: Any

    def __and__(self, other: "Where") -> "Where":
        """Both."""
        return Where(self, "and", other)

    def __or__(self, other: "Where") -> "Where":
        """One of them at least."""
        return Where(self, "or", other)

    def holds(self, fields: Mapping[str, Any]) -> bool:
        """Whether it is true of a row with these fields."""
        match self.act:
            case "and":
                return bool(self.left.holds(fields) and self.right.holds(fields))
            case "or":
                return bool(self.left.holds(fields) or self.right.holds(fields))
        value = fields.get(self.left)
        return value is not None and _HOLDS[self.act](value, self.right)

    def told(self, values: dict[str, Any]) -> str:
        """For the service; every value is put into `values` under a name of its own."""
        if self.act in ("and", "or"):
            return f"( {self.left.told(values)} ) {self.act} ( {self.right.told(values)} )"
        name = f"v{len(values)}"
        values[name] = self.right
        # The SDK looks for parameters between blanks.
        return f"{self.left} {self.act} @{name}"


def _make(act: str, field: str, value: object) -> Where:
    return Where(field, act, value)


EQ = partial(_make, "eq")
NE = partial(_make, "ne")
LT = partial(_make, "lt")
GE = partial(_make, "ge")
#: Of fields that are true or false.
IS = partial(_make, "eq", value=True)
IS_NOT = partial(_make, "eq", value=False)
