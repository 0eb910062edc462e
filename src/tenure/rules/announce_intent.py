"""The rule for announcements where no one step can end a message and keep an announcement of it: SQS and Azure.

First an intent is written: what will be announced, and what its message is like now. Then the message ends, by
compare-and-set, only if it is still like that, and its row names the intent. So a reader of an intent finds out by
the message's row what became of it:

    the row names it                  the message ended so: it is announced
    the row is as the intent met it   the process is about to end the message, or died: it waits, and is not shown
    anything else                     the message went on without it, and its write can no longer succeed: it goes

What a message is like (`Met`) never comes back once it has changed: the fence rises with each lease and each claim.

The claim of a key and the message that runs under it are two rows, and each may end the message. There the claim names
the one ending of each message that is announced (`chosen`): a seal does so in its own step, and for the others the
reader does before it shows them. Pure; called by `rowstore/announcing.py` and `adapters/azure/announcing.py`.
"""

import enum

import msgspec

from tenure.announcement import RESULT_LIMIT, Announcement
from tenure.claim import Scope

#: The state of a message of which its store knows nothing yet.
ABSENT = "absent"
#: An intent for a message that is still absent is dropped after so long. Only a refused hand-off begins so.
ABSENT_SECONDS = 7 * 86_400.0


class Met(msgspec.Struct, frozen=True):
    """What a message is like, or a claim, as far as an ending of it depends on that."""

    state: str = ABSENT
    generation: int = 0
    fence: int = 0


class Intent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a process is about to do to a message."""

    #: The announcement, if it does. A large result, and the result of a seal, are in the row that is changed.
    says: Announcement
    #: What the message must be like for it. Of a seal: its claim.
    met: Met
    #: The claim that chooses among the endings of this message. None: the message's own row alone ends it.
    scope: Scope | None = None
    is_seal: bool = False
    #: Bytes of the result of a seal.
    size: int = 0


class Known(msgspec.Struct, frozen=True):
    """What a row says now."""

    met: Met = Met()
    #: The places of the intents by which the message ended, in whatever generation.
    ended_by: tuple[str, ...] = ()


class Belief(enum.Enum):
    """What became of an intent."""

    #: The message ended so.
    HOLDS = "holds"
    #: It may still end so.
    PENDING = "pending"
    #: It did not, and will not.
    VOID = "void"


def believe(intent: Intent, place: str, known: Known, *, chosen: str | None = None, age_seconds: float = 0.0) -> Belief:
    """What became of the intent at `place`; `chosen` is the place of the ending that the claim names. None: of none."""
    if place in known.ended_by:
        return Belief.HOLDS if chosen in (None, place) else Belief.VOID
    if intent.met != known.met or (known.met.state == ABSENT and age_seconds > ABSENT_SECONDS):
        return Belief.VOID
    return Belief.PENDING


def place_of(microseconds: int, last: int, suffix: str) -> tuple[str, int]:
    """A place behind `last`, in the order of time, and its number. The suffix keeps processes apart."""
    number = max(microseconds, last + 1)
    return f"{number:020d}-{suffix}", number


def number_of(place: str) -> int:
    """The number of a place, to make a later one behind it. 0: there is none."""
    return int(place.partition("-")[0] or 0)


def announced(intent: Intent, place: str, result: bytes | None) -> Announcement:
    """The announcement of an intent that holds; `result` is that of a seal, and need not be read if it is large."""
    if not intent.is_seal:
        return msgspec.structs.replace(intent.says, place=place)
    is_large = intent.size > RESULT_LIMIT
    return msgspec.structs.replace(
        intent.says,
        place=place,
        result=None if is_large else result or None,
        large_result=intent.size if is_large else None,
    )
