"""What the rows of versions before the shared core say, as far as it is carried.

    <part>     s:<id>      a letter: a message as it was sent, and that it has ended
               m:<id>      a life: who holds it, what was counted, and how it ended
    k<part>    k:<scope>   a claim: sent, running or done
    announce   a:<place>   an intent: an ending that is to be announced
    common     o:<owner>   a worker        p…   a pause, a post, or the cancels      t:…   a tick
    kv         d:<kind>:…  a document      acts, d<hash>, y<step>   e:<place>   acts, samples, statistics

These are read as they were written by released versions, so nothing here may change.
"""

import hashlib
import zlib
from typing import Any

import msgspec

from tenure.announcement import AnnounceRequest
from tenure.claim import Scope
from tenure.message import NO_COUNTERS, Counters, MessageState, Outgoing
from tenure.record import Ending
from tenure.verdict import Reason

COMMON, ANNOUNCE, DOCUMENTS, ACTS = "common", "announce", "kv", "acts"


class Asked(msgspec.Struct, frozen=True):
    """What a message asks for that is to be announced when it ends."""

    request: AnnounceRequest
    scope: Scope


class Life(msgspec.Struct, kw_only=True):
    """Where a message is, from its first lease on."""

    id: str
    queue: str
    place: int
    state: MessageState
    task: str = ""
    fence: int = 0
    deliveries: int = 0
    attempts: int = 0
    crashes: int = 0
    lost: int = 0
    reason: Reason | None = None
    history: list[Ending] = []
    finished_at: float | None = None
    generation: int | None = None
    is_foreign: bool = False
    sent_at: float | None = None
    wire: str = ""
    asked: Asked | None = None
    announced: int = -1

    @property
    def counters(self) -> Counters:
        """The four counters as a value."""
        return Counters(self.deliveries, self.attempts, self.crashes, self.lost)


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it was sent."""

    id: str
    queue: str
    task: str
    place: int
    sent_at: float
    envelope: bytes
    key: str
    generation: int
    digest: str
    is_ended: bool
    ended_at: float | None
    counters: Counters
    wire: str

    @property
    def scope(self) -> Scope:
        """The scope of its claim, unless it was redriven."""
        return Scope(self.queue, self.task, self.key, self.generation)


class Claim(msgspec.Struct, kw_only=True):
    """Who may run something, and whether it is done."""

    id: str = ""
    digest: str = ""
    sent_at: float = 0.0
    state: str = "sent"
    fence: int = 0
    finished_at: float | None = None


class DoneClaim(msgspec.Struct, frozen=True):
    """A claim that is done, and what it left behind."""

    claim: Claim
    result: bytes
    handoffs: tuple[Outgoing, ...]


_life = msgspec.json.Decoder(Life).decode
_claim = msgspec.json.Decoder(Claim).decode
_counters = msgspec.json.Decoder(Counters).decode
_handoffs = msgspec.json.Decoder(tuple[Outgoing, ...]).decode

Fields = dict[str, Any]


def read_life(fields: Fields) -> tuple[Life, bytes | None]:
    """A life, and the bytes of its message where they lie with it."""
    return _life(fields["Life"]), fields.get("Envelope")


def read_letter(fields: Fields) -> Letter:
    """A letter."""
    counted = fields.get("Counters")
    return Letter(
        id=fields["Id"], queue=fields["Queue"], task=fields["Task"], place=int(fields["Place"]),
        sent_at=float(fields["SentAt"]), envelope=fields.get("Envelope", b""), key=fields["Key"],
        generation=int(fields["Generation"]), digest=fields.get("Digest", ""), is_ended=bool(fields["IsEnded"]),
        ended_at=fields.get("EndedAt"), counters=NO_COUNTERS if counted is None else _counters(counted),
        wire=fields.get("Wire", ""),
    )  # fmt: skip


def read_done(fields: Fields) -> DoneClaim | None:
    """A claim that is done. None: it is not."""
    claim = _claim(fields["Claim"])
    if claim.state != "done":
        return None
    handoffs = fields.get("Handoffs", b"")
    return DoneClaim(claim, fields.get("Result", b""), _handoffs(handoffs) if handoffs else ())


def claim_row(scope: Scope, partitions: int) -> tuple[str, str]:
    """Part and key of the row of a scope."""
    words = "\0".join((scope.queue, scope.task, scope.key, str(scope.generation)))
    name = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    return f"k{zlib.crc32(name.encode()) % partitions:02d}", f"k:{name}"


def samples_part(queue: str, task: str) -> str:
    """The part with the samples of a task."""
    words = f"{queue}\0{task}"
    return f"d{hashlib.sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()}"
