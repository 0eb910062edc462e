"""Operations on a store from outside, as values: `app.operate`, and behind it one file a subject.

operate.py      `Operate`, the facade: every operation of the subjects below; `blocking.py`: the same without async
access.py       who asks, which queues they see, whether they see payloads; all subjects go through it
naming.py       names of queues as people write them; `ids.py`: beginnings of ids; `presence.py`: who is alive
queues.py       depths, pause, resume, purge, delete an empty queue
limits.py       how many of a queue may run at once or start in a time
overview/       everything of one moment: queues and tasks with their rates, leases, workers, one sentence
figures.py      what was counted over some time, and its course
messages.py     a page of messages (`message_list`, `listed_message`, `run_figures`), one with its timeline
                (`message_detail`, `life`); cancel and delete
run_now.py      a delayed message runs now; `children.py`: the messages that a handler has handed on
dead.py         dead letters: list, groups (`dead_groups`, `fingerprint`), redrive, delete; `resend`: move and edit
workers.py, schedules.py, leases.py, acts.py, events.py, settings.py, health.py    one subject each
bulk.py         acts on many messages: bounded, at a rate, found / done / skipped
redaction.py    what is left out for people who may not see payloads

The structs are what `tenure … --json` prints and what the server answers. Every act is written to the journal and the
audit log (`operator.py`). `None` is "cannot be known", 0 is "none".
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from tenure.client.operations.blocking import SyncOperate
    from tenure.client.operations.dead import DeadQuery
    from tenure.client.operations.events import EventQuery
    from tenure.client.operations.messages import MessageQuery
    from tenure.client.operations.operate import Operate

__all__ = ["DeadQuery", "EventQuery", "MessageQuery", "Operate", "SyncOperate"]

#: The module in which each name for programs is. They are imported when they are first used.
_HOMES = {
    "SyncOperate": "blocking",
    "DeadQuery": "dead",
    "EventQuery": "events",
    "MessageQuery": "messages",
    "Operate": "operate",
}

if not TYPE_CHECKING:  # else type checkers would take every name for a public one

    def __getattr__(name: str) -> object:
        """Import one of the names above."""
        import importlib  # noqa: PLC0415 - not before something is asked for

        if name not in _HOMES:
            msg = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
