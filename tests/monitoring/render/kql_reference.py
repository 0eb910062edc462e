"""A reference implementation of the KQL that our queries use: runs a query's syntax tree on rows.

Small on purpose: an operator or a function that no query uses is not there, and one that is asked for anyhow is an
error. Nulls are None; what is computed of one is null; a comparison with one is false. Whole numbers divide to whole
numbers, as in Kusto.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

Node = dict[str, Any]
Row = dict[str, Any]
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run(tree: Node, tables: Mapping[str, Sequence[Row]]) -> list[Row]:
    """The rows that a query answers."""
    known: dict[str, list[Row]] = {name: [dict(row) for row in rows] for name, rows in tables.items()}
    answer: list[Row] = []
    for statement in _elements(_part(tree, "Statements")):
        if statement["type"] == "LetStatement":
            known[_text(_part(statement, "Name"))] = _rows(_part(statement, "Expression"), known)
        else:
            answer = _rows(_part(statement, "Expression"), known)
    return answer


# -- the tree -------------------------------------------------------------------------------------


def _part(node: Node, name: str) -> Node:
    return next(one for one in node["children"] if one is not None and one["name"] == name)


def _has(node: Node, name: str) -> bool:
    return any(one is not None and one["name"] == name for one in node.get("children", ()))


def _elements(node: Node) -> list[Node]:
    """What a list holds, without its commas."""
    return [one["children"][0] for one in node.get("children", ())]


def _text(node: Node) -> str:
    if "text" in node:
        return str(node["text"]).strip()
    return "".join(_text(one) for one in node["children"] if one is not None)


# -- rows -----------------------------------------------------------------------------------------


def _rows(node: Node, known: Mapping[str, list[Row]]) -> list[Row]:
    match node["type"]:
        case "NameReference":
            return [dict(row) for row in known[_text(node)]]
        case "ParenthesizedExpression":
            return _rows(_part(node, "Expression"), known)
        case "UnionOperator":
            rows = [row for one in _elements(_part(node, "Expressions")) for row in _rows(one, known)]
            # A column that only one of the tables has is null in the others.
            columns = dict.fromkeys(name for row in rows for name in row)
            return [{**columns, **row} for row in rows]
        case "PipeExpression":
            operator = _part(node, "Operator")
            if operator["type"] == "JoinOperator":
                return _joined(operator, _rows(_part(node, "Expression"), known), known)
            return _OPERATORS[operator["type"]](operator, _rows(_part(node, "Expression"), known))
    raise NotImplementedError(node["type"])


def _filtered(node: Node, rows: list[Row]) -> list[Row]:
    return [row for row in rows if _value(_part(node, "Condition"), row) is True]


def _extended(node: Node, rows: list[Row]) -> list[Row]:
    # All of one `extend` see the row as it was.
    return [row | {name: _value(of, row) for name, of in _named(node)} for row in rows]


def _projected(node: Node, rows: list[Row]) -> list[Row]:
    return [{name: _value(of, row) for name, of in _named(node)} for row in rows]


def _named(node: Node, part: str = "Expressions") -> Iterator[tuple[str, Node]]:
    for one in _elements(_part(node, part)):
        if one["type"] == "SimpleNamedExpression":
            yield _text(_part(one, "Name")), _part(one, "Expression")
        else:
            yield _own_name(one), one


def _own_name(node: Node) -> str:
    """The name of a column that was given none: `bin(timestamp, 1h)` is `timestamp`."""
    if node["type"] == "FunctionCallExpression" and _text(_part(node, "Name")) == "bin":
        return _own_name(_arguments(node)[0])
    return _text(node)


def _summarized(node: Node, rows: list[Row]) -> list[Row]:
    by = list(_named(_part(node, "ByClause"))) if _has(node, "ByClause") else []
    groups: dict[tuple[Any, ...], list[Row]] = {} if by else {(): rows}
    for row in rows if by else ():
        groups.setdefault(tuple(_value(of, row) for _, of in by), []).append(row)
    answer = []
    for key, members in groups.items():
        made = dict(zip((name for name, _ in by), key, strict=True))
        for name, of in _named(node, "Aggregates"):
            if of["type"] == "FunctionCallExpression" and _text(_part(of, "Name")) == "arg_max":
                made |= _arg_max(of, members)
            else:
                made[name] = _value(of, {}, members)
        answer.append(made)
    return answer


def _arg_max(node: Node, rows: list[Row]) -> Row:
    by, *others = _arguments(node)
    best = max(rows, key=lambda row: _value(by, row))
    return {_text(one): _value(one, best) for one in (by, *others)}


def _sorted(node: Node, rows: list[Row]) -> list[Row]:
    for one in reversed(_elements(_part(node, "Expressions"))):
        of, is_descending = one, True
        if one["type"] == "OrderedExpression":
            of, is_descending = _part(one, "Expression"), "asc" not in _text(_part(one, "Ordering"))
        rows = sorted(rows, key=lambda row, of=of: _order(_value(of, row)), reverse=is_descending)  # type: ignore[misc]
    return rows


def _order(value: Any) -> tuple[bool, Any]:
    """Nulls come first in ascending order."""
    return (value is not None, 0 if value is None else value)


def _joined(node: Node, left: list[Row], known: Mapping[str, list[Row]]) -> list[Row]:
    assert "kind=inner" in _text(_part(node, "Parameters")), "only inner joins"
    on = [_text(one) for one in _elements(_part(_part(node, "ConditionClause"), "Expressions"))]
    right = _rows(_part(node, "Expression"), known)
    return [{**other, **one} for one in left for other in right if all(one[column] == other[column] for column in on)]


_OPERATORS: Mapping[str, Callable[[Node, list[Row]], list[Row]]] = {
    "FilterOperator": _filtered,
    "ExtendOperator": _extended,
    "ProjectOperator": _projected,
    "SummarizeOperator": _summarized,
    "SortOperator": _sorted,
}


# -- values ---------------------------------------------------------------------------------------


def _value(node: Node, row: Row, group: list[Row] | None = None) -> Any:  # noqa: PLR0911 - one return a kind of node
    """Of one row, or of a group where an aggregate is asked for."""
    match node["type"]:
        case "NameReference":
            return row[_text(node)]
        case "LiteralExpression":
            return _literal(_text(node))
        case "ParenthesizedExpression":
            return _value(_part(node, "Expression"), row, group)
        case "PathExpression":
            bag = _value(_part(node, "Expression"), row, group)
            return (bag or {}).get(_text(_part(node, "Selector")))
        case "ElementExpression":
            bag = _value(_part(node, "Expression"), row, group)
            return (bag or {}).get(_value(_part(_part(node, "Selector"), "Expression"), row, group))
        case "InExpression":
            allowed = _elements(_part(_part(node, "Right"), "Expressions"))
            is_in = _value(_part(node, "Left"), row, group) in [_value(one, row, group) for one in allowed]
            return is_in != _text(_part(node, "Operator")).startswith("!")
        case "BinaryExpression":
            operator = _text(_part(node, "Operator"))
            return _combined(operator, *(_value(_part(node, side), row, group) for side in ("Left", "Right")))
        case "FunctionCallExpression":
            name, arguments = _text(_part(node, "Name")), _arguments(node)
            if name in _AGGREGATES:
                assert group is not None, f"{name} outside of summarize"
                return _AGGREGATES[name]([[_value(one, row) for one in arguments] for row in group])
            return _FUNCTIONS[name](*(_value(one, row, group) for one in arguments))
    raise NotImplementedError(node["type"])


def _arguments(node: Node) -> list[Node]:
    return _elements(_part(_part(node, "ArgumentList"), "Expressions"))


def _literal(text: str) -> Any:
    if text.startswith('"'):
        return text[1:-1]
    if text.endswith("(null)"):
        return None
    if span := re.fullmatch(r"(\d+)(ms|[smhd])", text):
        return timedelta(seconds=int(span[1]) * _UNITS[span[2]])
    return float(text) if "." in text else int(text)


def _combined(operator: str, left: Any, right: Any) -> Any:
    if operator in ("and", "or"):
        return (left is True and right is True) if operator == "and" else (left is True or right is True)
    if left is None or right is None:
        return False if operator in _COMPARE else None
    if operator in _COMPARE:
        return _COMPARE[operator](left, right)
    if operator == "/":
        if isinstance(left, int) and isinstance(right, int):
            return None if right == 0 else int(left / right)
        return math.nan if right == 0 else left / right
    return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right}[operator]()


_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
}


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _bin(value: Any, size: Any) -> Any:
    if isinstance(value, datetime):
        return value - (value - _EPOCH) % size
    return None if value is None else value // size * size


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": lambda value: None if value is None else abs(value),
    "bin": _bin,
    "coalesce": lambda *values: next((one for one in values if one is not None), None),
    "iff": lambda condition, then, other: then if condition is True else other,
    "isnotempty": lambda value: value not in (None, ""),
    "round": lambda value: None if value is None else float(round(value)),
    "not": lambda value: value is not True,
    "substring": lambda text, start, length: text[start : start + length],
    "todouble": _number,
    "toint": _whole,
    "tolong": _whole,
    "tostring": lambda value: "" if value is None else str(value),
}


def _there(column: list[list[Any]]) -> list[Any]:
    return [values[0] for values in column if values[0] is not None]


def _chosen(column: list[list[Any]]) -> list[Any]:
    """Of those whose second argument is true."""
    return [values[0] for values in column if values[1] is True and values[0] is not None]


def _percentile(column: list[list[Any]]) -> Any:
    """The smallest value that so many percent of the weight do not exceed."""
    rows = sorted((value, weight) for value, weight, _ in column if value is not None)
    needed = column[0][2] / 100 * sum(weight for _, weight in rows) if rows else 0.0
    seen = 0.0
    for value, weight in rows:
        seen += weight
        if seen >= needed:
            return value
    return None


_AGGREGATES: Mapping[str, Callable[[list[list[Any]]], Any]] = {
    "avg": lambda column: sum(_there(column)) / len(_there(column)) if _there(column) else math.nan,
    "count": len,
    "countif": lambda column: sum(values[0] is True for values in column),
    "dcount": lambda column: len(set(_there(column))),
    "max": lambda column: max(_there(column), default=None),
    "maxif": lambda column: max(_chosen(column), default=None),
    "min": lambda column: min(_there(column), default=None),
    "minif": lambda column: min(_chosen(column), default=None),
    "percentilew": _percentile,
    "sum": lambda column: sum(_there(column)),
    "sumif": lambda column: sum(_chosen(column)),
}
