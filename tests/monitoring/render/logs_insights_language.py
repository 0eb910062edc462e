"""A small grammar of CloudWatch Logs Insights, and a reference implementation: reads a query, then runs it on lines.

    query       command { "|" command }
    command     "fields" column { "," column }            "filter" condition
                "stats" column { "," column } [ "by" column { "," column } ]
                "sort" name ( "asc" | "desc" )            "limit" number            "dedup" name
    column      condition [ "as" name ]

Conditions have `and`, `or`, `not`, comparisons, `in […]`, `like`, arithmetic and the functions below. A name is a field
of a line or a column that was made before. Anything else is an error, with its place.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

Row = dict[str, Any]
_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<text>"[^"\n]*"|'[^'\n]*')|(?P<number>\d+(?:\.\d+)?(?![\w.]))|(?P<span>\d+[smhd]\b)"""
    r"""|(?P<name>@?[A-Za-z_][\w.]*)|(?P<sign>!=|<=|>=|[=<>|,()\[\]*+/-])"""
)
_WORDS = frozenset({"and", "or", "not", "in", "like", "as", "by"})
_COMMANDS = frozenset({"fields", "filter", "stats", "sort", "limit", "dedup"})
_FUNCTIONS = frozenset({"coalesce", "strcontains", "ispresent", "bin", "abs"})
_AGGREGATES = frozenset({"count", "count_distinct", "sum", "avg", "min", "max"})


class NotLogsInsights(Exception):
    """The text is no query."""


class Query(msgspec.Struct):
    """A query that was read."""

    commands: list[tuple[str, Any]]
    #: Fields of lines that it reads.
    reads: set[str]


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._made: set[str] = set()
        self.reads: set[str] = set()

    def query(self) -> Query:
        commands = [self._command()]
        while self._took("|"):
            commands.append(self._command())
        if self._kind() != "end":
            raise NotLogsInsights(f"unexpected {self._value()!r}")
        return Query(commands, self.reads)

    def _command(self) -> tuple[str, Any]:
        name = self._need("name")
        if name not in _COMMANDS:
            raise NotLogsInsights(f"there is no command {name!r}")
        match name:
            case "fields":
                return name, self._columns()
            case "filter":
                return name, self._condition()
            case "stats":
                columns = self._columns()
                by = self._columns() if self._took("by") else []
                self._made = {alias for alias, _ in (*columns, *by)}
                return name, (columns, by)
            case "sort":
                by_name = self._name()
                is_descending = self._took("desc")
                if not is_descending:
                    self._need_sign("asc")
                return name, (by_name, is_descending)
            case "limit":
                return name, int(self._need("number"))
        return name, self._name()

    def _columns(self) -> list[tuple[str, Any]]:
        found = [self._column()]
        while self._took(","):
            found.append(self._column())
        self._made |= {name for name, _ in found}
        return found

    def _column(self) -> tuple[str, Any]:
        begin = self._at
        of = self._condition()
        written = "".join(value for _, value in self._tokens[begin : self._at])
        return (self._need("name") if self._took("as") else written), of

    def _condition(self) -> Any:
        left = self._both()
        while self._took("or"):
            left = ("or", left, self._both())
        return left

    def _both(self) -> Any:
        left = self._negated()
        while self._took("and"):
            left = ("and", left, self._negated())
        return left

    def _negated(self) -> Any:
        return ("not", self._negated()) if self._took("not") else self._compared()

    def _compared(self) -> Any:
        left = self._added()
        for sign in ("=", "!=", "<=", ">=", "<", ">", "like"):
            if self._took(sign):
                return (sign, left, self._added())
        if self._took("in"):
            self._need_sign("[")
            values = [self._added()]
            while self._took(","):
                values.append(self._added())
            self._need_sign("]")
            return ("in", left, values)
        return left

    def _added(self) -> Any:
        left = self._multiplied()
        while (sign := self._value()) in ("+", "-"):
            self._at += 1
            left = (sign, left, self._multiplied())
        return left

    def _multiplied(self) -> Any:
        left = self._single()
        while (sign := self._value()) in ("*", "/"):
            self._at += 1
            left = (sign, left, self._single())
        return left

    def _single(self) -> Any:
        kind, value = self._kind(), self._value()
        if self._took("("):
            inner = self._condition()
            self._need_sign(")")
            return inner
        self._at += 1
        if kind == "text":
            return ("value", value[1:-1])
        if kind == "number":
            return ("value", float(value) if "." in value else int(value))
        if kind == "span":
            return ("value", value)
        if kind != "name" or value in _WORDS:
            raise NotLogsInsights(f"unexpected {value!r}")
        if self._took("("):
            return self._call(value)
        self._at -= 1
        return ("field", self._name())

    def _call(self, name: str) -> Any:
        if name not in _FUNCTIONS | _AGGREGATES:
            raise NotLogsInsights(f"there is no function {name!r}")
        if name == "count" and self._took("*"):
            self._need_sign(")")
            return ("call", name, [])
        if self._took(")"):
            raise NotLogsInsights(f"{name}() needs an argument")
        arguments = [self._condition()]
        while self._took(","):
            arguments.append(self._condition())
        self._need_sign(")")
        return ("call", name, arguments)

    def _name(self) -> str:
        name = self._need("name")
        if name not in self._made:
            self.reads.add(name)
        return name

    def _kind(self) -> str:
        return self._tokens[self._at][0]

    def _value(self) -> str:
        return self._tokens[self._at][1]

    def _took(self, value: str) -> bool:
        if self._value() == value and self._kind() in ("name", "sign"):
            self._at += 1
            return True
        return False

    def _need(self, kind: str) -> str:
        if self._kind() != kind:
            raise NotLogsInsights(f"expected a {kind}, found {self._value()!r}")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _need_sign(self, sign: str) -> None:
        if not self._took(sign):
            raise NotLogsInsights(f"expected {sign!r}, found {self._value()!r}")


def _tokens(text: str) -> Sequence[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotLogsInsights(f"unexpected {text[at]!r}")
        if match.lastgroup is not None:
            found.append((match.lastgroup, match.group()))
        at = match.end()
    return [*found, ("end", "the end")]


def read(text: str) -> Query:
    """Read a query. Raises `NotLogsInsights`."""
    return _Reader(text).query()


def run(text: str, lines: Sequence[Row]) -> list[Row]:
    """What a query answers of these lines; each has `@timestamp`."""
    rows = [dict(line) for line in lines]
    shown: list[str] = []
    for name, what in read(text).commands:
        match name:
            case "fields":
                rows = [row | {alias: _value(of, row) for alias, of in what} for row in rows]
                shown += [alias for alias, _ in what]
            case "filter":
                rows = [row for row in rows if _value(what, row) is True]
            case "stats":
                rows, shown = _counted(rows, *what), []
            case "sort":
                by, is_descending = what
                there = [row for row in rows if row.get(by) is not None]
                rows = sorted(there, key=lambda row, by=by: row[by], reverse=is_descending)  # type: ignore[misc]
            case "limit":
                rows = rows[:what]
    return [{alias: row.get(alias) for alias in shown} for row in rows] if shown else rows


def _counted(rows: list[Row], columns: list[tuple[str, Any]], by: list[tuple[str, Any]]) -> list[Row]:
    groups: dict[tuple[Any, ...], list[Row]] = {} if by else {(): rows}
    for row in rows if by else ():
        groups.setdefault(tuple(_value(of, row) for _, of in by), []).append(row)
    return [
        {
            **dict(zip((alias for alias, _ in by), key, strict=True)),
            **{alias: _value(of, {}, members) for alias, of in columns},
        }
        for key, members in groups.items()
    ]


def _value(of: Any, row: Row, group: list[Row] | None = None) -> Any:  # noqa: PLR0911 - one return a kind of node
    kind, *parts = of
    if kind == "value":
        return parts[0]
    if kind == "field":
        return row.get(parts[0])
    if kind == "call":
        name, arguments = parts
        if name in _AGGREGATES:
            if group is None:
                raise NotLogsInsights(f"{name}() outside of stats")
            column = [_value(arguments[0], one) if arguments else 1 for one in group]
            return _COUNTS[name]([one for one in column if one is not None])
        return _CALLS[name](*(_value(one, row, group) for one in arguments))
    if kind == "not":
        return _value(parts[0], row, group) is not True
    left = _value(parts[0], row, group)
    if kind == "in":
        return left in [_value(one, row, group) for one in parts[1]]
    right = _value(parts[1], row, group)
    if kind in ("and", "or"):
        return (left is True and right is True) if kind == "and" else (left is True or right is True)
    if left is None or right is None:
        return None
    return _SIGNS[kind](left, right)


def _bin(span: str) -> str:
    """Of the line's time; a test has all of its lines in one."""
    return span


_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
    "like": lambda left, right: right in left,
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right if right else None,
}
_CALLS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "bin": _bin,
    "coalesce": lambda *values: next((one for one in values if one is not None), None),
    "ispresent": lambda value: value is not None,
    "strcontains": lambda text, word: int(word in (text or "")),
}
_COUNTS: Mapping[str, Callable[[list[Any]], Any]] = {
    "avg": lambda column: sum(column) / len(column) if column else None,
    "count": len,
    "count_distinct": lambda column: len(set(column)),
    "max": lambda column: max(column, default=None),
    "min": lambda column: min(column, default=None),
    "sum": sum,
}


def timed(line: Row) -> Row:
    """A line of `--log json` as Logs Insights has it."""
    return {**line, "@timestamp": datetime.fromisoformat(line["at"])}
