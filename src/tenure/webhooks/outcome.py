"""What comes of an attempt to deliver: it arrived, it is tried again, or it is given up. Pure.

    2xx                         arrived
    410                         the receiver is gone: given up, and its endpoint is disabled
    429, 503 with Retry-After   later, at the time that the receiver named; not counted as an attempt
    everything else             again, after a wait that grows from 5 s to 12 h, for three days; then given up

What is given up is a dead letter, to be replayed.
"""

import re
from collections.abc import Callable

import msgspec

from tenure.webhooks.transport import Answer

#: A delivery is given up so long after its first attempt in vain.
PATIENCE_SECONDS = 3 * 86_400.0
#: The waits between attempts; the last one repeats.
WAITS = (5.0, 30.0, 120.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 28_800.0, 43_200.0)
LEAST_RETRY_AFTER, MOST_RETRY_AFTER = 1.0, 3_600.0
_GONE, _TOO_MANY, _UNAVAILABLE = 410, 429, 503
_TEXT = re.compile(r"(?:HTTP (\d+)|no answer) after (\d+\.\d+) s(?:: (.*))?", re.DOTALL)


class Arrived(msgspec.Struct, frozen=True):
    """The receiver has it."""


class Again(msgspec.Struct, frozen=True):
    """The attempt failed; the next one is due in so many seconds."""

    after: float


class Later(msgspec.Struct, frozen=True):
    """The receiver asked for another time; no attempt was used."""

    after: float


class GivenUp(msgspec.Struct, frozen=True):
    """It becomes a dead letter."""

    #: The receiver said that it is gone for good.
    gone: bool = False


Outcome = Arrived | Again | Later | GivenUp


def judge(answer: Answer, attempt: int, waited: float, draw: Callable[[], float]) -> Outcome:
    """The outcome of attempt number `attempt` (from 1), `waited` seconds after the first one in vain."""
    if answer.is_ok:
        return Arrived()
    if answer.status == _GONE:
        return GivenUp(gone=True)
    left = PATIENCE_SECONDS - waited
    if left <= 0:
        return GivenUp()
    after = asked_for(answer)
    if after is not None:
        return Later(min(after, left))
    wait = WAITS[min(attempt, len(WAITS)) - 1]
    # Deliveries that failed together do not come back together.
    return Again(min(wait * (0.8 + 0.4 * draw()), left))


def asked_for(answer: Answer) -> float | None:
    """For how long the receiver asked to be left alone, within bounds. None: it did not."""
    if answer.status not in {_TOO_MANY, _UNAVAILABLE} or answer.retry_after is None:
        return None
    return min(MOST_RETRY_AFTER, max(LEAST_RETRY_AFTER, answer.retry_after))


class Attempt(msgspec.Struct, frozen=True):
    """One attempt, as a message's history tells it."""

    #: None: there was no answer.
    status: int | None
    seconds: float
    text: str


def describe(answer: Answer) -> str:
    """One line for the message's history."""
    what = "no answer" if answer.status is None else f"HTTP {answer.status}"
    return f"{what} after {answer.seconds:.3f} s" + (f": {answer.error}" if answer.error else "")


def attempt_in(text: str) -> Attempt | None:
    """Read what `describe` wrote, anywhere in a text. None: it is about no attempt."""
    found = _TEXT.search(text)
    return found and Attempt(int(found[1]) if found[1] else None, float(found[2]), found[3] or "")
