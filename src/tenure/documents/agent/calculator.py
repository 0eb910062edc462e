"""A calculator: numbers, + - * / // % **, parentheses and a few functions. Nothing is evaluated but these."""

import ast
import math
import operator
from collections.abc import Callable

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs, "ceil": math.ceil, "exp": math.exp, "floor": math.floor, "log": math.log, "max": max, "min": min,
    "round": round, "sqrt": math.sqrt,
}  # fmt: skip
_LONGEST = 300
#: Integers have no limit in Python, and those of a million digits take minutes.
_MOST_BITS = 1_024


def calculate(expression: str) -> float:
    """The value of an arithmetic expression. Raises `ValueError`."""
    if len(expression) > _LONGEST:
        raise ValueError(f"an expression has at most {_LONGEST} characters")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"{expression!r} cannot be calculated: {error}") from error
    if isinstance(value, complex) or not math.isfinite(value):
        raise ValueError(f"{expression!r} has no finite real value")
    return value


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _bounded(float(_value(left)) ** float(_value(right)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*map(_value, args)))
        case ast.Name(id="pi"):
            return math.pi
    raise ValueError(f"{ast.unparse(node)!r} is no arithmetic")


def _bounded(value: float) -> float:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise OverflowError("the number is too large")
    return value
