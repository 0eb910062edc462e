"""Direct: a handler that is called by hand, without a queue, gets a context that belongs to no worker.

    assert await resize("a.png") == {"width": 800}

Checkpoints are kept for as long as the context lives, progress goes nowhere, and what the handler hands on is
kept in `DirectLink.handed_on` instead of being sent. To see more than the bare function, use `tenure.testing`.

Used by `task.py`. The context of a message that a worker runs comes from `runtime/path/handling.py`.
"""

from typing import Any

import msgspec

from tenure.clock import SYSTEM_CLOCK
from tenure.message import Message, Outgoing, new_id
from tenure.record import Progress
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Call, Options
from tenure.tasks.context import Context, SyncContext
from tenure.tasks.sizing import checked


class DirectLink:
    """Answers a handler that no worker runs; satisfies `tenure.tasks.context.Link`."""

    deadline = float("inf")
    expected_end = None
    send_id = ""
    most_at_once = 1
    lease_lost = False
    stopping = False

    def __init__(self, message: Message) -> None:
        """Speak for a message that was never sent."""
        self._message = message
        self._checkpoint: bytes | None = None
        #: What the handler handed on.
        self.handed_on: list[Outgoing] = []

    async def touch(self, seconds: float | None) -> None:
        """Do nothing: there is no lease, so nothing ends."""

    async def set_size(self, size: float) -> None:
        """Check the size and forget it: nothing is learned from a direct call."""
        checked(size)

    def progress(self, progress: Progress) -> None:
        """Progress of a direct call is not kept."""

    async def checkpoint(self, data: bytes) -> None:
        """Keep it for this context."""
        self._checkpoint = data

    async def load_checkpoint(self) -> bytes | None:
        """Return the last checkpoint of this context."""
        return self._checkpoint

    def submit(self, call: Call[Any], options: Options) -> str:
        """Keep it instead of sending it; what is wrong with it is said anyway."""
        wall = SYSTEM_CLOCK.wall()
        out = outgoing(call, options, id=new_id(wall), client=None, sent_at=wall, parent=self._message)
        self.handed_on.append(out)
        return out.message.id


def with_context(arguments: tuple[Any, ...], *, task: str, queue: str, is_async: bool) -> tuple[Any, ...]:
    """The arguments with a context in front; one that the caller brought stays."""
    if arguments and isinstance(arguments[0], Context | SyncContext):
        return arguments
    wall = SYSTEM_CLOCK.wall()
    message = Message(id=new_id(wall), queue=queue, task=task, body=msgspec.Raw(b"{}"), sent_at=wall)
    link = DirectLink(message)
    if is_async:
        return (Context(message, 1, 0, link, None), *arguments)
    return (_DirectSyncContext(message, link), *arguments)


class _DirectSyncContext(SyncContext):
    """Never waits: what a `DirectLink` is asked is answered at once."""

    __slots__ = ()

    def __init__(self, message: Message, link: DirectLink) -> None:
        super(SyncContext, self).__init__(message, 1, 0, link, None)

    def _wait(self, work: Any) -> Any:
        try:
            work.send(None)
        except StopIteration as answer:
            return answer.value
        msg = "a direct call has nothing to wait for"
        raise RuntimeError(msg)
