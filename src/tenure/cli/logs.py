"""Logging of a worker process: lines for people, or one JSON object a line for machines. On standard error.

Records may carry fields: those of `ctx.log` say which message they are about, those of `runtime/reporting.py` also
what became of it. In JSON all of them stand beside the line.
"""

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

_ABOUT = ("task", "message_id", "attempt")
#: What became of a message. A line that has these says in words what its fields say.
_OUTCOME = ("code", "next")
#: Tells a reported end from what a handler says.
_REPORTER = "tenure.worker"


def install(style: str, *, verbose: bool) -> None:
    """Log everything at INFO and above; with `verbose`, Tenure's own DEBUG too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if style == "json" else _Text())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("tenure").setLevel(logging.DEBUG if verbose else logging.INFO)


class _Text(logging.Formatter):
    """Time, level, logger, message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03d %(levelname)-7s %(name)s  %(message)s%(about)s", "%Y-%m-%d %H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line; what a handler says (`ctx.log`) is told which message it was. Our own lines name theirs."""
        about = {} if record.name == _REPORTER else _fields(record, _ABOUT)
        record.about = f" [{' '.join(f'{name}={value}' for name, value in about.items())}]" if about else ""
        return super().formatMessage(record)


class _Json(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON; what has no JSON form is shown as its repr."""
        entry: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record, _ABOUT + _OUTCOME),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        elif record.exc_text:
            entry["traceback"] = record.exc_text
        return msgspec.json.encode(entry, enc_hook=repr).decode()


def _fields(record: logging.LogRecord, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: record.__dict__[name] for name in names if record.__dict__.get(name) is not None}
