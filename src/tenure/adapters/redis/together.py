"""Together: scripts that act on many queues in one run (`lua/each.lua`), so that a batch costs little for each queue.

A batch of fifty messages may be in fifty queues. Each queue has its part of the arguments and its own answer; what is
wrong in one does not stop the others. In a cluster a script reaches one queue. Used by `sending.py` and `settling.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from tenure.adapters.redis.script import Script
from tenure.adapters.redis.store import RedisStore
from tenure.adapters.redis.topology import ScriptCall

#: Queues, and messages, in one run: a server does nothing else meanwhile.
_MOST_QUEUES = 50
_MOST_MESSAGES = 250

T = TypeVar("T")


class CommandPart(NamedTuple):
    """The arguments for one queue."""

    queue: str
    values: Sequence[Any]


def groups(store: RedisStore, parts: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Group the queues into runs, in order; `size`: messages of one."""
    most = 1 if store.link.is_cluster else _MOST_QUEUES
    some: list[T] = []
    messages = 0
    for part in parts:
        own = size(part)
        if some and (len(some) >= most or messages + own > _MOST_MESSAGES):
            yield some
            some, messages = [], 0
        some.append(part)
        messages += own
    if some:
        yield some


def call(store: RedisStore, script: Script, head: Sequence[Any], parts: Sequence[CommandPart]) -> ScriptCall:
    """Make the call for one run over these queues."""
    arguments = list(head)
    for part in parts:
        arguments.append(len(part.values))
        arguments += part.values
    return store.call(script, [part.queue for part in parts], arguments)


async def run(store: RedisStore, calls: Iterable[ScriptCall], sizes: Sequence[int]) -> list[Any]:
    """Run them; one answer for each queue. `sizes`: the queues of each call.

    An error of one queue is raised when all have answered.
    """
    answers: list[Any] = []
    for size, answer in zip(sizes, await store.run_all(calls, keeps=True), strict=True):
        if size == 1:
            answers.append(answer)
        else:
            answers += answer
    return store.checked(answers)
