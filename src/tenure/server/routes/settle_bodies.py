"""The bodies of `settle.py` and `settle_one.py`: what a client says of one message or of many, and the answers."""

from typing import Annotated

import msgspec

from tenure.server.consumers.settling import SettleOutcome
from tenure.server.consumers.touching import TouchOutcome
from tenure.server.routes.lease import LONGEST_LEASE_SECONDS, MOST_WANTED

_LONGEST_TEXT = 4_000
_LONGEST_DELAY_SECONDS = 3653 * 86_400

Reason = Annotated[str, msgspec.Meta(max_length=_LONGEST_TEXT)]
Delay = Annotated[float, msgspec.Meta(ge=0, le=_LONGEST_DELAY_SECONDS)]


class AckEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A message that is done."""

    token: str
    #: What it resulted in: any JSON value, kept for those who wait for the result.
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class NackEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A message whose work failed: an attempt is counted."""

    token: str
    #: For people: what went wrong.
    reason: Reason = ""
    #: The class of the error, by which failures are grouped.
    error: Annotated[str, msgspec.Meta(max_length=200)] = ""
    #: The traceback, shortened if it is long.
    traceback: str = ""
    #: When it may be leased again. Null: by the task's backoff.
    delay_seconds: Delay | None = None


class GiveBackEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A message that was not worked on: nothing is counted."""

    token: str
    #: When it may be leased again.
    delay_seconds: Delay = 0.0
    #: For people: why.
    reason: Reason = ""


class DeadLetterEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A message that can never succeed."""

    token: str
    #: For people: why.
    reason: Reason = ""
    #: The class of the error, by which failures are grouped.
    error: Annotated[str, msgspec.Meta(max_length=200)] = ""
    #: The traceback, shortened if it is long.
    traceback: str = ""


class TouchProgress(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """How far the work is."""

    #: 0 to 1. Null: not known.
    fraction: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    #: For people.
    note: Annotated[str, msgspec.Meta(max_length=1_000)] = ""


class TouchEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A message that is still worked on."""

    token: str
    #: It is held for this long from now; a lease is never shortened. Null: for the lease's own length.
    seconds: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_LEASE_SECONDS)] | None = None
    #: Shown to those who look at the message.
    progress: TouchProgress | None = None


_Many = msgspec.Meta(min_length=1, max_length=MOST_WANTED)


class Acks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages that are done."""

    leases: Annotated[list[AckEntry], _Many]


class Nacks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages whose work failed."""

    leases: Annotated[list[NackEntry], _Many]


class GiveBacks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages that were not worked on."""

    leases: Annotated[list[GiveBackEntry], _Many]


class DeadLetters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages that can never succeed."""

    leases: Annotated[list[DeadLetterEntry], _Many]


class Touches(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages that are still worked on."""

    leases: Annotated[list[TouchEntry], _Many]


class SettledLease(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one entry."""

    #: The message's id. Null: the token cannot be read.
    id: str | None
    outcome: SettleOutcome
    #: Why it failed or was refused: a stable code, and a sentence. Null: it was not.
    code: str | None = None
    detail: str | None = None
    #: For one that failed: it may have been carried out anyway.
    outcome_unknown: bool = False


class SettledLeases(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each entry, in order."""

    leases: list[SettledLease]


class TouchedByToken(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one lease."""

    #: The message's id. Null: the token cannot be read.
    id: str | None
    outcome: TouchOutcome
    #: How long it lasts from now. Null: it is not held.
    expires_in_seconds: float | None = None
    #: Why it is uncertain or was refused. Null: it is neither.
    code: str | None = None
    detail: str | None = None


class TouchedByTokens(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each entry, in order."""

    leases: list[TouchedByToken]
