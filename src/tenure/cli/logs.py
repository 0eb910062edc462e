"""Logging of a worker process: lines for people, or one JSON object a line for machines. On standard error.

A line for people is one line: what an exception or a handler says cannot forge another one (`terminal/plain.py`).
What follows below a line, a traceback, is indented.

Records may carry fields: those of `ctx.log` say which message they are about, those of `runtime/path/reporting.py` also
what became of it, those of `sinks/log_events.py` are events. In JSON all of them stand beside the line.
"""

import logging
import sys
import textwrap
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from tenure.cli.terminal.colour import wants_colour
from tenure.cli.terminal.plain import one_line, plain_lines

_ABOUT = ("task", "message_id", "attempt")
#: What became of a message. A line that has these says in words what its fields say.
_OUTCOME = ("code", "next", "seconds", "waited_seconds")
#: For machines: what a message belongs to.
_RELATED = ("correlation_id",)
#: All fields of an event (`tenure.sinks.log_events`).
_EVENT = "event_fields"
#: For lines of handlers. Tenure's own lines name their message themselves.
_HANDLERS, _OWN = "tenure.task", "tenure."
#: Of the sixteen colours that every terminal has. INFO, which most lines are, has none.
_COLOURS: dict[int, dict[str, Any]] = {
    logging.DEBUG: {"dim": True},
    logging.WARNING: {"fg": "yellow"},
    logging.ERROR: {"fg": "red"},
    logging.CRITICAL: {"fg": "red", "bold": True},
}
_TIME_WIDTH = len("2030-01-31 09:00:00.000 ")
#: SDKs that log every single request at INFO.
_TALKATIVE = ("azure", "botocore", "aiobotocore")


def install(style: str, *, verbose: bool, process: int | None = None) -> None:
    """Log everything at INFO and above; with `verbose`, Tenure's own DEBUG too. `process`: which of several we are."""
    handler = logging.StreamHandler(sys.stderr)
    coloured = wants_colour(sys.stderr)
    handler.setFormatter(_Json(process) if style == "json" else _Text(process, coloured=coloured))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("tenure").setLevel(logging.DEBUG if verbose else logging.INFO)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Text(logging.Formatter):
    """Time, level, logger, message."""

    def __init__(self, process: int | None = None, *, coloured: bool = False) -> None:
        self._coloured = coloured
        which = "" if process is None else f"[{process}] "
        line = f"%(asctime)s.%(msecs)03d %(levelname)-7s %(name)s  {which}%(message)s%(about)s"
        super().__init__(line, "%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """The line, and below it the traceback."""
        record.message, record.asctime = record.getMessage(), self.formatTime(record, self.datefmt)
        trace = record.exc_text or (self.formatException(record.exc_info) if record.exc_info else "")
        stack = self.formatStack(record.stack_info) if record.stack_info else ""
        below = [textwrap.indent(plain_lines(text), "  ") for text in (trace, stack) if text]
        return "\n".join([self.formatMessage(record), *below])

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line. One that a handler logs (`ctx.log`) gets its message added; our own lines name theirs."""
        is_own = record.name.startswith(_OWN) and record.name != _HANDLERS
        about = {} if is_own else _fields(record, _ABOUT)
        record.about = f" [{' '.join(f'{name}={value}' for name, value in about.items())}]" if about else ""
        line = one_line(super().formatMessage(record))
        return _coloured(line, record) if self._coloured else line


def _coloured(line: str, record: logging.LogRecord) -> str:
    """The level in its colour. Only the level: what else stands in the line is made plain before."""
    level = one_line(record.levelname)
    before, after = line[:_TIME_WIDTH], line[_TIME_WIDTH + len(level) :]
    colours = _COLOURS.get(record.levelno)
    return line if colours is None else f"{before}{click.style(level, **colours)}{after}"


class _Json(logging.Formatter):
    """A formatter that writes one JSON object a line."""

    def __init__(self, process: int | None = None) -> None:
        super().__init__()
        self._which = {} if process is None else {"process": process}

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON; what has no JSON form is shown as its repr."""
        entry: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **self._which,
            "message": record.getMessage(),
            **_fields(record, _ABOUT + _RELATED + _OUTCOME),
            **record.__dict__.get(_EVENT, {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        elif record.exc_text:
            entry["traceback"] = record.exc_text
        try:
            return msgspec.json.encode(entry, enc_hook=repr).decode()
        except UnicodeEncodeError:  # file names that are not UTF-8 are lone surrogates in Python
            return msgspec.json.encode({name: _sayable(value) for name, value in entry.items()}).decode()


def _sayable(value: Any) -> Any:
    """Make a value that JSON can hold, whatever it is."""
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text.encode("utf-8", "backslashreplace").decode()


def _fields(record: logging.LogRecord, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: record.__dict__[name] for name in names if record.__dict__.get(name) is not None}
