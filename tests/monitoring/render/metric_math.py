"""A reference implementation of the metric math that our alarms use: IF, FILL, ABS, arithmetic, comparisons, AND.

A series without points is None. What is computed of one is None, but for FILL.
"""

import ast
from collections.abc import Mapping

Value = float | None


def evaluate(expression: str, known: Mapping[str, Value]) -> Value:
    """The value of an expression over series and other expressions, by their ids."""
    return _value(ast.parse(expression.replace(" AND ", " and "), mode="eval").body, known)


def _value(node: ast.expr, known: Mapping[str, Value]) -> Value:  # noqa: PLR0911 - one return a kind of node
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=id):
            return known[id]
        case ast.Call(func=ast.Name(id="FILL"), args=[of, other]):
            value = _value(of, known)
            return _value(other, known) if value is None else value
        case ast.Call(func=ast.Name(id="ABS"), args=[of]):
            value = _value(of, known)
            return None if value is None else abs(value)
        case ast.Call(func=ast.Name(id="IF"), args=[condition, then, other]):
            holds = _value(condition, known)
            return None if holds is None else _value(then if holds else other, known)
        case ast.BoolOp(op=ast.And(), values=values):
            found = [_value(one, known) for one in values]
            return None if None in found else float(all(found))
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            one, two = _value(left, known), _value(right, known)
            if one is None or two is None:
                return None
            return float(one > two if isinstance(sign, ast.Gt) else one >= two)
        case ast.BinOp(left=left, op=sign, right=right):
            return _combined(sign, _value(left, known), _value(right, known))
    raise NotImplementedError(ast.dump(node))


def _combined(sign: ast.operator, left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    match sign:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Div():
            return left / right if right else None
    raise NotImplementedError(ast.dump(sign))
