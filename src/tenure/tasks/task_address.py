"""A task by its name and queue, for calls of tasks whose code need not be here."""

import msgspec


class TaskAddress(msgspec.Struct, frozen=True, gc=False):
    """What a `Call` needs of a task."""

    name: str
    queue: str
    #: What is notified when its messages end. None: nothing.
    webhook: str | None = None
    #: It has no queue of its own: a message of another client goes to that client's queue.
    follows_client: bool = False
