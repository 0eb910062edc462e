"""Names of keys.

All keys of a queue carry the same hash tag, so that a cluster keeps them on one server, and begin with the queue's
prefix; what belongs to no queue has a tag of its own. A queue may have any name: what would end the tag is escaped.
"""

from urllib.parse import quote, unquote_to_bytes

from tenure.claim import Scope

#: In the place of a queue's name; no queue is called so, because such a name is escaped.
_NO_QUEUE = "%"
_SIGNS = ("queues", "roster", "meta", "journal", "pauses", "posts", "ticks", "kv!kinds")
#: Names that are remembered.
_MOST_KEPT = 100_000


class RedisNames:
    """The names under one prefix."""

    def __init__(self, prefix: str, *, is_cluster: bool) -> None:
        """`prefix` is the first part of every key."""
        self._prefix = prefix
        self._is_cluster = is_cluster
        self._queues: dict[str, str] = {}
        #: The other way round; None: it is foreign.
        self._by_prefix: dict[bytes, str | None] = {}
        #: The prefix of what belongs to no queue.
        self.common = f"{prefix}:{{{_NO_QUEUE}}}:"
        self.queues = f"{self.common}queues"
        #: Non-empty queues (`lua/listed.lua`), and queues with leases.
        self.busy = f"{self.common}busy"
        self.lent = f"{self.common}lent"
        #: In a cluster: queues in which messages ask to be announced (`announcing.py`).
        self.announcing = f"{self.common}announcing"
        #: All channels: what a user may listen to is written down by this very text (docs/how-to/run-on-redis.md).
        self.channels = f"{prefix}:*"
        #: One of these keys exists once a message, worker, pause, post, tick, event or document was stored.
        self.signs = tuple(f"{self.common}{name}" for name in _SIGNS)

    def queue(self, queue: str) -> str:
        """The prefix of a queue's keys."""
        found = self._queues.get(queue)
        if found is None:
            found = self._queues[queue] = f"{self._prefix}:{{{quote(queue, safe=_PLAIN)}}}:"
        return found

    def queue_of(self, prefix: bytes) -> str | None:
        """The queue whose keys begin so. None: they are foreign."""
        try:
            return self._by_prefix[prefix]
        except KeyError:
            if len(self._by_prefix) >= _MOST_KEPT:
                self._by_prefix.clear()
            queue = self._by_prefix[prefix] = self._read(prefix)
            return queue

    def _read(self, prefix: bytes) -> str | None:
        start, end = f"{self._prefix}:{{".encode(), b"}:"
        if not prefix.startswith(start) or not prefix.endswith(end):
            return None
        try:
            queue = unquote_to_bytes(prefix[len(start) : -len(end)]).decode()
        except UnicodeDecodeError:
            return None
        # Only as we would write it: another spelling is another key.
        return queue if self.queue(queue).encode() == prefix and queue else None

    def beside(self, queue: str) -> str:
        """Return the prefix of keys that belong to no queue, as the scripts of `queue` reach them.

        In a cluster a script reaches only keys of its own slot, so each queue has its copy.
        """
        return f"{self.queue(queue)}all:" if self._is_cluster else self.common

    def wake(self, queue: str) -> str:
        """The channel that announces messages to lease."""
        return f"{self.queue(queue)}{_WAKE}"

    def woken(self, channel: bytes) -> str | None:
        """The queue whose channel that is. None: it is no such channel."""
        return self.queue_of(channel[: -len(_WAKE)]) if channel.endswith(_WAKE.encode()) else None


_WAKE = "wake"
_PLAIN = " !\"#$&'()*+,-./:;<=>?@[\\]^_`|~"


def scope_text(scope: Scope) -> str:
    """Encode a scope as one text that no other scope of its queue has."""
    return f"{len(scope.task)}:{scope.task}:{scope.generation}:{scope.key}"


def unique_text(task: str, unique: str) -> str:
    """Likewise for what may wait only once."""
    return f"{len(task)}:{task}:{unique}"
