"""Quiet queues: a lease that found less than it asked for has also seen that nothing is left, and when more falls due.

A worker that got one message of ten asks again, finds nothing, and waits; and the wait looks at the queue once more.
Both questions are answered already, if nothing was said on the channels of these queues since before that lease. So a
message that comes alone costs its worker two scripts, the lease and the ack.

Only what was heard without a gap counts, only for a moment, and each answer is used once: whoever asks again asks the
server. Used by `lending.py` and `waiting.py`; the subscription is the one that waiting made (`subscriber.py`).
"""

from collections.abc import Iterable, Sequence

import msgspec

from tenure.adapters.redis.store import RedisStore

#: For so long a lease's answer counts. Shorter than any wait of an idle worker, after which the server is asked.
_FRESH_SECONDS = 2.0
#: Sets of queues that are remembered: a process has an intake or two.
_MOST = 8

#: What had been said on the channels of some queues, up to a moment.
Heard = tuple[object, ...]


class _Quiet(msgspec.Struct):
    heard: Heard
    since: float
    #: When the first message falls due that is known to wait there. None: none does.
    due: float | None
    answers_lease: bool = True


class QuietQueues:
    """What the last leases saw of the queues that are listened to."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store."""
        self._store = store
        self._quiet: dict[frozenset[str], _Quiet] = {}

    def heard(self, queues: Iterable[str]) -> Heard | None:
        """What was said about these queues so far. None: they are not all listened to. Ask before the lease."""
        names, listener = self._store.names, self._store.listener
        marks = tuple(listener.mark(names.wake(queue)) for queue in sorted(queues))
        return None if None in marks else marks

    def note(self, queues: Sequence[str], heard: Heard | None, due_in: int) -> None:
        """A lease left nothing there. `due_in`: microseconds until something falls due; below 0: nothing will."""
        if heard is None:
            return
        if len(self._quiet) >= _MOST:
            self._quiet.clear()
        now = self._store.clock.monotonic()
        due = None if due_in < 0 else now + due_in / 1e6
        self._quiet[frozenset(queues)] = _Quiet(heard, now, due)

    def forget(self, queues: Sequence[str]) -> None:
        """They are being asked, so what was known of them is out of date."""
        self._quiet.pop(frozenset(queues), None)

    def answers_lease(self, queues: Sequence[str]) -> bool:
        """Whether there is nothing to lease, by the last lease. Says so once; then the server must be asked."""
        known = self._known(queues)
        if known is None or not known.answers_lease:
            return False
        known.answers_lease = False
        return True

    def take(self, queues: Sequence[str]) -> tuple[bool, float | None]:
        """Whether it is known that nothing can be leased; if so, when something falls due, in seconds, or None."""
        known = self._known(queues)
        self.forget(queues)
        if known is None:
            return False, None
        return True, None if known.due is None else known.due - self._store.clock.monotonic()

    def _known(self, queues: Sequence[str]) -> _Quiet | None:
        known = self._quiet.get(frozenset(queues))
        if known is None:
            return None
        now = self._store.clock.monotonic()
        is_over = now - known.since >= _FRESH_SECONDS or (known.due is not None and known.due <= now)
        return None if is_over or self.heard(queues) != known.heard else known
