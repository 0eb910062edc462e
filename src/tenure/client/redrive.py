"""Redriving: which dead letters are meant, and at what pace they go.

What is meant is found first, and then moved batch by batch: what dies again meanwhile is not moved a second time. There
is nothing to resume: after an interruption the same command starts again, and a moved message is not a dead letter any
more. Nothing here changes anything; `operator.py` acts and records. Used by it and by `tenure dead`.
"""

import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

import msgspec

from tenure import envelope
from tenure.broker import Broker, Browsed, Query
from tenure.client.browse_all import browse_all
from tenure.clock import Clock
from tenure.errors import BodyUndecodable
from tenure.message import Message, MessageState
from tenure.rules.fingerprint import fingerprint

_PAGE = 500


class OpenedLetter(msgspec.Struct, frozen=True):
    """A dead letter, read as far as it can be read."""

    browsed: Browsed
    message: Message | None
    #: Why it cannot be read; empty where it can.
    unreadable: str = ""

    @property
    def task(self) -> str | None:
        """The task, where it is known."""
        return None if self.message is None else self.message.task

    @property
    def code(self) -> str:
        """The code of the reason."""
        return "unknown" if self.browsed.reason is None else self.browsed.reason.code


class Which(msgspec.Struct, frozen=True, kw_only=True):
    """A choice of dead letters. Where several things are given, all of them must hold."""

    task: str | None = None
    #: The code of the reason.
    reason: str | None = None
    #: What it died of, as a group of dead letters is named (`rules/fingerprint.py`).
    fingerprint: str | None = None
    #: Wall times: it died not before the one, and before the other.
    since: float | None = None
    before: float | None = None
    #: As the broker looks for them.
    client: str | None = None
    key: str | None = None
    text: str | None = None
    #: Stop after this many.
    limit: int | None = None

    def holds(self, letter: OpenedLetter) -> bool:
        """Whether this one is meant."""
        if (self.task is not None and letter.task != self.task) or self.reason not in (None, letter.code):
            return False
        if self.fingerprint is not None and fingerprint(letter.browsed.task, letter.browsed.reason) != self.fingerprint:
            return False
        if self.since is None and self.before is None:
            return True
        died_at = letter.browsed.finished_at
        if died_at is None:
            return False
        return (self.since is None or died_at >= self.since) and (self.before is None or died_at < self.before)


class Redrive(msgspec.Struct, frozen=True):
    """The result of a redrive: how many it found, and how many it moved."""

    #: The ids that were meant.
    found: tuple[str, ...]
    #: How many there are of each task and reason: "resize (rejected)".
    kinds: dict[str, int]
    #: Those that were moved; the others were no longer dead when it came to it, or it was a dry run.
    moved: tuple[str, ...] = ()


async def find(broker: Broker, queues: Sequence[str] | None, which: Which) -> AsyncIterator[OpenedLetter]:
    """The dead letters of these queues (names and patterns; None: all) that are meant; of each the first ones first."""
    left = math.inf if which.limit is None else which.limit
    query = Query(
        states=(MessageState.DEAD,),
        queues=None if queues is None else tuple(queues),
        task=which.task,
        client=which.client,
        key=which.key,
        text=which.text,
        since=which.since,
        until=which.before,
        limit=_PAGE,
    )
    if (queues is not None and not queues) or left <= 0:
        return
    async for browsed in browse_all(broker, query):
        letter = _read(browsed)
        if which.holds(letter):
            yield letter
            left -= 1
            if left <= 0:
                return


def _read(browsed: Browsed) -> OpenedLetter:
    try:
        return OpenedLetter(browsed, envelope.decode(browsed.envelope))
    except BodyUndecodable as error:
        return OpenedLetter(browsed, None, str(error))


def kinds_of(letters: Iterable[OpenedLetter]) -> Counter[str]:
    """Count the dead letters by task and reason."""
    return Counter(kind_of(letter) for letter in letters)


def kind_of(letter: OpenedLetter) -> str:
    """Task and reason, as one text."""
    return f"{letter.task or 'unreadable'} ({letter.code})"


async def in_turn(
    ids: Sequence[str],
    clock: Clock,
    pause: Callable[[float], Awaitable[None]],
    *,
    batch_limit: int,
    per_second: float | None,
) -> AsyncIterator[Sequence[str]]:
    """Batches of `ids`, each when its time has come: at most `per_second`, or one after the other.

    `pause` is asked to wait for this many seconds, and may end early.
    """
    # A quarter of a second's worth at once: even enough for the workers, and few enough steps.
    size = batch_limit if per_second is None else max(1, min(batch_limit, math.floor(per_second / 4)))
    started = clock.monotonic()
    for start in range(0, len(ids), size):
        if per_second is not None:
            await pause(max(0.0, started + start / per_second - clock.monotonic()))
        yield ids[start : start + size]
