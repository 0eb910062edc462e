"""The policies that can be compared: what runs in each column of the table.

    fixed:600       a loop of one's own: receive with a fixed timeout, run, delete and hope. The real worker without
                    ledger and heartbeat, which is not told when its leases end; a delete that fails is not tried
                    again, and one by a receipt that is no longer the newest does nothing
    extended:600:300:240
                    the same loop with a heartbeat of its own: a timeout of 600 s, and every 240 s it is set to 300 s
                    from then, if that is later (`extending.py`)
    heartbeat:30    Tenure as it is: a short lease that is renewed while the handler runs; claim, seal, retried delete
    learned         Tenure with the heartbeat off: the lease is not renewed, it follows the measured runs, and a run
    that outlives it is ended
    lease:600       Tenure with the heartbeat off and a chosen lease

Read by `running.py`.
"""

from enum import StrEnum

import msgspec

from tenure.errors import BadArgument
from tenure.timing.beat import BeatPlan
from tenure.timing.span import EXAMPLES, seconds_in


class PolicyKind(StrEnum):
    """The way a lease is kept."""

    FIXED = "fixed"
    EXTENDED = "extended"
    HEARTBEAT = "heartbeat"
    LEARNED = "learned"
    LEASE = "lease"


#: Where no length is given.
USUAL_LEASE = 30.0


class SimulatedPolicy(msgspec.Struct, frozen=True):
    """One column."""

    kind: PolicyKind
    #: None: it is learned.
    lease_seconds: float | None
    #: When a loop of one's own extends it, and by how much. None: it does not.
    plan: BeatPlan | None = None

    @property
    def name(self) -> str:
        """The policy as it is written on the command line."""
        if self.plan is not None:
            return f"{self.kind}:{self.lease_seconds:g}:{self.plan.extension_seconds:g}:{self.plan.interval_seconds:g}"
        return self.kind if self.lease_seconds is None else f"{self.kind}:{self.lease_seconds:g}"

    @property
    def has_ledger(self) -> bool:
        """Whether runs are claimed and sealed."""
        return self.kind not in (PolicyKind.FIXED, PolicyKind.EXTENDED)

    @property
    def beats(self) -> bool:
        """Whether the worker's heartbeat renews leases."""
        return self.kind is PolicyKind.HEARTBEAT


def policy_of(text: str) -> SimulatedPolicy:
    """Parse `fixed:600`, `extended:600:300:240`, `heartbeat:30`, `learned` or `lease:600`. Raises `BadArgument`."""
    word, _, number = text.strip().partition(":")
    allowed = "fixed:SECONDS, extended:TIMEOUT:EXTENSION:INTERVAL, heartbeat:SECONDS, learned or lease:SECONDS"
    if word not in tuple(PolicyKind):
        msg = f"{text!r} is not a policy; write {allowed}; nothing was simulated"
        raise BadArgument(msg)
    kind = PolicyKind(word)
    if kind is PolicyKind.EXTENDED:
        return _extended(number.split(":"), text)
    if (kind is PolicyKind.LEARNED and number) or (kind in (PolicyKind.FIXED, PolicyKind.LEASE) and not number):
        msg = f"{text!r} is not a policy; write {allowed}; nothing was simulated"
        raise BadArgument(msg)
    if kind is PolicyKind.LEARNED:
        return SimulatedPolicy(kind, None)
    return SimulatedPolicy(kind, _seconds(number, text) if number else USUAL_LEASE)


def _extended(numbers: list[str], text: str) -> SimulatedPolicy:
    if len(numbers) != 3:  # noqa: PLR2004 - timeout, extension, interval
        msg = f"{text!r}: write extended:TIMEOUT:EXTENSION:INTERVAL, as extended:600:300:240; nothing was simulated"
        raise BadArgument(msg)
    timeout, extension, interval = (_seconds(number, text) for number in numbers)
    if interval >= min(timeout, extension):
        msg = (
            f"{text!r}: an interval of {interval:g} s is too long for a timeout of {timeout:g} s that is extended "
            f"by {extension:g} s; nothing was simulated"
        )
        raise BadArgument(msg)
    return SimulatedPolicy(PolicyKind.EXTENDED, timeout, BeatPlan.of(extension, interval, MOST_SECONDS))


def _seconds(number: str, text: str) -> float:
    seconds = seconds_in(number)
    if seconds is None or not 1.0 <= seconds <= MOST_SECONDS:
        msg = (
            f"{text!r}: a lease lasts from 1 to {MOST_SECONDS:g} seconds, written as {EXAMPLES}; nothing was simulated"
        )
        raise BadArgument(msg)
    return seconds


#: As on SQS.
MOST_SECONDS = 43_200.0

#: What is compared unless something else is asked for.
USUAL = (
    SimulatedPolicy(PolicyKind.FIXED, 600.0),
    SimulatedPolicy(PolicyKind.FIXED, 90.0),
    SimulatedPolicy(PolicyKind.HEARTBEAT, USUAL_LEASE),
    SimulatedPolicy(PolicyKind.LEARNED, None),
)
