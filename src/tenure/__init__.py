"""Tenure: queue messages processed under a lease.

No message lost, no completed message run twice, a crashed worker's message back in seconds. Embedded on
SQLite with nothing to install.

    from tenure import Context, Reject, Retry, Snooze, Tenure
"""

from tenure.app import Tenure
from tenure.call import Call
from tenure.context import Context, SyncContext
from tenure.errors import (
    BadArgument,
    BadMessage,
    BrokerError,
    BrokerUnavailable,
    ConfigurationError,
    KeyConflict,
    LeaseLost,
    MessageCancelled,
    MessageNotFound,
    NoResult,
    PartlySent,
    PayloadInvalid,
    ResultTimeout,
    TaskFailed,
    TenureError,
    UnknownTask,
)
from tenure.event import Event
from tenure.handle import Handle, SyncHandle
from tenure.message import Message, MessageState
from tenure.record import Progress, Record
from tenure.task import Task
from tenure.verdict import Reject, Retry, Snooze

__all__ = [
    "BadArgument",
    "BadMessage",
    "BrokerError",
    "BrokerUnavailable",
    "Call",
    "ConfigurationError",
    "Context",
    "Event",
    "Handle",
    "KeyConflict",
    "LeaseLost",
    "Message",
    "MessageCancelled",
    "MessageNotFound",
    "MessageState",
    "NoResult",
    "PartlySent",
    "PayloadInvalid",
    "Progress",
    "Record",
    "Reject",
    "ResultTimeout",
    "Retry",
    "Snooze",
    "SyncContext",
    "SyncHandle",
    "Task",
    "TaskFailed",
    "Tenure",
    "TenureError",
    "UnknownTask",
    "__version__",
]


def __getattr__(name: str) -> str:
    """`tenure.__version__`, looked up only when asked for: reading metadata is slow."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("tenure")
    msg = f"module 'tenure' has no attribute {name!r}"
    raise AttributeError(msg)
