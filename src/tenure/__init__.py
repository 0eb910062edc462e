"""Tenure: queue messages processed under a lease.

No message lost, no completed message run twice, a crashed worker's message back in seconds. Embedded on
SQLite with nothing to install.

    from tenure import Context, Reject, Retry, Snooze, Tenure

The names are imported when they are first used: so that `tenure` on the command line can be interrupted from its
first moment on, and a command that needs no app does not wait for one.
"""

#: As in `typing`, which is not imported for it.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from tenure.app import Tenure
    from tenure.errors import (
        BadArgument,
        BadMessage,
        BrokerError,
        BrokerUnavailable,
        ConfigurationError,
        GroupNotFound,
        KeyConflict,
        LeaseLost,
        MessageCancelled,
        MessageNotFound,
        NoResult,
        PartlySent,
        PayloadInvalid,
        QuotaExceeded,
        ResultTimeout,
        TaskFailed,
        TenureError,
        UnknownTask,
    )
    from tenure.event import Event
    from tenure.group import GroupProgress, GroupResult, GroupState, MemberResult, MemberState
    from tenure.groups.handle import GroupHandle, SyncGroupHandle
    from tenure.message import Message, MessageState
    from tenure.record import Progress, Record
    from tenure.service import QueueService
    from tenure.tasks.batch import BatchContext
    from tenure.tasks.call import Call
    from tenure.tasks.context import Context, SyncContext
    from tenure.tasks.handle import Handle, SyncHandle
    from tenure.tasks.task import Task
    from tenure.tasks.update import Update
    from tenure.verdict import Reject, Retry, Snooze

    __version__: str

__all__ = [
    "BadArgument",
    "BadMessage",
    "BatchContext",
    "BrokerError",
    "BrokerUnavailable",
    "Call",
    "ConfigurationError",
    "Context",
    "Event",
    "GroupHandle",
    "GroupNotFound",
    "GroupProgress",
    "GroupResult",
    "GroupState",
    "Handle",
    "KeyConflict",
    "LeaseLost",
    "MemberResult",
    "MemberState",
    "Message",
    "MessageCancelled",
    "MessageNotFound",
    "MessageState",
    "NoResult",
    "PartlySent",
    "PayloadInvalid",
    "Progress",
    "QueueService",
    "QuotaExceeded",
    "Record",
    "Reject",
    "ResultTimeout",
    "Retry",
    "Snooze",
    "SyncContext",
    "SyncGroupHandle",
    "SyncHandle",
    "Task",
    "TaskFailed",
    "Tenure",
    "TenureError",
    "UnknownTask",
    "Update",
    "__version__",
]

#: The module in which each public name is.
_HOMES = {
    "Tenure": "app",
    "BatchContext": "tasks.batch",
    "Call": "tasks.call",
    "Context": "tasks.context",
    "SyncContext": "tasks.context",
    "BadArgument": "errors",
    "BadMessage": "errors",
    "BrokerError": "errors",
    "BrokerUnavailable": "errors",
    "ConfigurationError": "errors",
    "GroupNotFound": "errors",
    "KeyConflict": "errors",
    "LeaseLost": "errors",
    "MessageCancelled": "errors",
    "MessageNotFound": "errors",
    "NoResult": "errors",
    "PartlySent": "errors",
    "PayloadInvalid": "errors",
    "QuotaExceeded": "errors",
    "ResultTimeout": "errors",
    "TaskFailed": "errors",
    "TenureError": "errors",
    "UnknownTask": "errors",
    "Event": "event",
    "GroupHandle": "groups.handle",
    "GroupProgress": "group",
    "GroupResult": "group",
    "GroupState": "group",
    "MemberResult": "group",
    "MemberState": "group",
    "SyncGroupHandle": "groups.handle",
    "Handle": "tasks.handle",
    "SyncHandle": "tasks.handle",
    "Message": "message",
    "MessageState": "message",
    "Progress": "record",
    "Record": "record",
    "Task": "tasks.task",
    "Update": "tasks.update",
    "QueueService": "service",
    "Reject": "verdict",
    "Retry": "verdict",
    "Snooze": "verdict",
}

if not TYPE_CHECKING:  # else type checkers would take every name for a public one

    def __getattr__(name: str) -> object:
        """A public name, a module of this package, or the version, whose metadata is slow to read."""
        import importlib  # noqa: PLC0415 - not before something is asked for

        if name == "__version__":
            from importlib.metadata import version  # noqa: PLC0415

            return version("tenure")
        try:
            if name in _HOMES:
                value = getattr(importlib.import_module(f"tenure.{_HOMES[name]}"), name)
                globals()[name] = value
                return value
            return importlib.import_module(f"tenure.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"tenure.{name}":
                raise
        msg = f"module 'tenure' has no attribute {name!r}"
        raise AttributeError(msg)

    def __dir__() -> list[str]:
        """List the public names, for a prompt."""
        return sorted({*globals(), *__all__})
