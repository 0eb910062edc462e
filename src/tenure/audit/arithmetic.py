"""Sums of constants, as people write them: `5 * MINUTES`. Used by `module.py`."""

import ast


def number(value: float | str | None) -> float | None:
    """The number that a constant is, also as a text. None: it is none."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return None


def reckoned(operator: ast.operator, left: float | str | None, right: float | str | None) -> float | None:
    """Work out one operation. None: it is not known."""
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    match operator:
        case ast.Mult():
            return left * right
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Div() | ast.FloorDiv() if right:
            return left / right
    return None
