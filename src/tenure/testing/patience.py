"""Patience: when a drain does not end by itself, and what to say then. Used by `kit.py`."""

from collections.abc import Sequence
from datetime import timedelta

from tenure import envelope
from tenure.broker import Browsed
from tenure.errors import BodyUndecodable
from tenure.message import MessageState
from tenure.testing.faults import KitError
from tenure.testing.virtual import VirtualClock

#: What one drain may take.
MOST_RUNS = 10_000
MOST_TIME = timedelta(days=30)
#: This long one handler may run, in virtual time; beyond it something waits for what will not come.
MOST_RUNNING = timedelta(hours=6)

#: This many messages are named.
_TOLD = 5
_ADVICE = (
    "Look for a handler that retries for ever, submits itself or waits for what never comes; "
    "or let a part of it happen with kit.advance(…)"
)


class Patience:
    """The limits that are left to one drain."""

    def __init__(self, clock: VirtualClock, *, runs: int, within: timedelta) -> None:
        """Begin the limits now."""
        self._clock = clock
        self._runs = runs
        self._within, self._ends = within, clock.monotonic() + within.total_seconds()
        #: Since when each message was seen under its present lease, or ready.
        self._since: dict[tuple[str, int | None], float] = {}

    @property
    def seconds_left(self) -> float:
        """The virtual seconds that are left."""
        return self._ends - self._clock.monotonic()

    def check(self, in_motion: Sequence[Browsed], *, is_out_of_runs: bool) -> None:
        """Raise `KitError` when it is too much. Runs are counted where they begin (`crew.py`)."""
        __tracebackhide__ = True
        if is_out_of_runs:
            raise _endless(f"{self._runs} runs of handlers", in_motion)
        if self.seconds_left < 0:
            raise _endless(f"{self._within} of virtual time", in_motion)
        stuck = self._stuck(in_motion)
        if stuck:
            raise _endless(f"{MOST_RUNNING} of virtual time", stuck)

    def _stuck(self, in_motion: Sequence[Browsed]) -> list[Browsed]:
        """Return the messages that are held for too long; if none is held, those that no worker leases."""
        now = self._clock.monotonic()
        leased = [one for one in in_motion if one.state is MessageState.LEASED]
        watched = leased or [one for one in in_motion if one.state is MessageState.READY]
        self._since = {(one.id, one.fence): self._since.get((one.id, one.fence), now) for one in watched}
        limit = MOST_RUNNING.total_seconds()
        return [one for one in watched if now - self._since[one.id, one.fence] > limit]


def too_many_at_once(messages: Sequence[Browsed]) -> KitError:
    """Make the error of an advance in which runs follow each other without end and no time passes."""
    return KitError(
        f"this advance does not get on: {MOST_RUNS} runs of handlers began within a moment, and these messages go on: "
        f"{_some(messages)}. Look for a handler that submits itself; or let them run before, with kit.drain(runs=…)"
    )


def _endless(limit: str, messages: Sequence[Browsed]) -> KitError:
    return KitError(f"this drain does not end: after {limit} these messages go on: {_some(messages)}. {_ADVICE}")


def _some(messages: Sequence[Browsed]) -> str:
    more = len(messages) - _TOLD
    return ", ".join(map(_told, messages[:_TOLD])) + (f" and {more} more" if more > 0 else "")


def _told(one: Browsed) -> str:
    try:
        task = envelope.decode(one.envelope).task
    except BodyUndecodable:
        task = "an unreadable message"
    return f"{task} {one.id} ({one.state}, run {one.counters.deliveries})"
