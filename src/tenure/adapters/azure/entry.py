"""What the table knows of a message: two rows.

    s:<id>   the letter: written once by `send`, with the bytes; says whether it was put into the queue, and its end
    m:<id>   the life: who holds it and until when, what was counted, and how it ended

The life begins with the first lease (whoever inserts it first has the message), with a delay, or with a cancel. **It is
the truth about a message; the queue is only what delivers it.** A message that the queue shows, but that somebody holds
by its life, is hidden again; one that is finished is deleted. With an ack the life ends: its row goes, and the letter
is marked, in one step; what was counted goes with the mark.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tenure.adapters.azure.naming import part_of, row_id
from tenure.adapters.azure.rows import Change, Row
from tenure.announcement import AnnounceRequest
from tenure.claim import Scope
from tenure.message import NO_COUNTERS, Counters, Message, MessageState
from tenure.record import HISTORY_LIMIT, Ending, Progress
from tenure.verdict import Reason

#: The fields of a life without its bytes.
BRIEF = ("Life",)


class Asked(msgspec.Struct, frozen=True):
    """What a message asks for that is to be announced when it ends (`announcing.py`)."""

    request: AnnounceRequest
    #: Of its claim, as the message was sent.
    scope: Scope

    @classmethod
    def of(cls, message: Message | None) -> "Asked | None":
        """What `message` asks for. None: nothing, as nearly all."""
        request = None if message is None else AnnounceRequest.of(message)
        return None if message is None or request is None else cls(request, Scope.of(message))


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it was sent."""

    id: str
    queue: str
    task: str
    #: Place in the order of arrival.
    place: int
    sent_at: float
    envelope: bytes
    #: The scope of its claim: key and generation.
    key: str
    generation: int = 0
    #: Of its payload: a claim under the same key is about it only if it is about this.
    digest: str = ""
    #: Whether it is known to be in the queue.
    is_put: bool = False
    message_id: str = ""
    receipt: str = ""
    is_ended: bool = False
    #: Once it has ended: when (wall time), and what was counted. None: an older version ended it.
    ended_at: float | None = None
    counters: Counters = NO_COUNTERS
    #: The form in which it stands in its queue (`wire.py`). Empty: the usual one.
    wire: str = ""
    asked: Asked | None = None
    #: Once its life has ended: `Life.intents`.
    intents: tuple[str, ...] = ()
    etag: str = ""


class Life(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Where a message is, from its first lease on. Changed on a copy, and written back by comparison."""

    id: str
    queue: str
    place: int
    state: MessageState
    #: Empty: not known, because the message is foreign, damaged, or was lent by an older version.
    task: str = ""
    #: The service's id and receipt for the copy in the queue. Empty: not known.
    message_id: str = ""
    receipt: str = ""
    owner: str | None = None
    fence: int = 0
    request_id: str = ""
    seconds: float = 0.0
    #: On the account's time line. None while leased: lent without one.
    deadline: float | None = None
    #: On the same line: when it was lent, and last touched. With it, what the holder said of the work.
    leased_at: float | None = None
    last_beat: float | None = None
    beats: int = 0
    size: float | None = None
    predicted_seconds: float | None = None
    #: Its holder never joined the roster.
    lacks_presence: bool = False
    #: Its lease got a fresh window after an outage, and was not touched since.
    is_graced: bool = False
    due: float | None = None
    deliveries: int = 0
    attempts: int = 0
    crashes: int = 0
    lost: int = 0
    reason: Reason | None = None
    history: list[Ending] = []
    progress: Progress | None = None
    finished_at: float | None = None
    #: It still has to be put into the queue (or, if it is dead, into the poison queue).
    is_unput: bool = False
    #: Its generation, if not as the letter says (after a redrive).
    generation: int | None = None
    #: Not sent by us, so that there is no letter.
    is_foreign: bool = False
    #: Wall time by its sender; of a foreign one by the service. None: not known.
    sent_at: float | None = None
    #: The form in which it stands in its queue (`wire.py`). Empty: the usual one.
    wire: str = ""
    #: None: it is not to be announced, as nearly always.
    asked: Asked | None = None
    #: The newest generation whose end is announced. -1: none.
    announced: int = -1
    #: The places of the intents by which it ended (`announcing.py`), in all of its generations.
    intents: tuple[str, ...] = ()

    @property
    def counters(self) -> Counters:
        """The four counters as a value."""
        return Counters(self.deliveries, self.attempts, self.crashes, self.lost)

    @property
    def current_generation(self) -> int:
        """Its generation, where the life is all that is known: only of one that asked, or was redriven."""
        if self.generation is not None:
            return self.generation
        return 0 if self.asked is None else self.asked.scope.generation

    def tell(self, ending: Ending) -> None:
        """Add to its history, which is bounded."""
        self.history = [*self.history, ending][-HISTORY_LIMIT:]


class Kept(msgspec.Struct):
    """A life as it was read: with its version, and what is too large for the rest."""

    life: Life
    etag: str = ""
    #: Set where the letter does not have them: a foreign message, a dead one, one in a new generation.
    envelope: bytes | None = None
    checkpoint: bytes | None = None


def unborn(letter: Letter) -> Life:
    """The life of a message that was never lent."""
    return Life(
        id=letter.id,
        queue=letter.queue,
        place=letter.place,
        state=MessageState.READY,
        task=letter.task,
        sent_at=letter.sent_at,
        asked=letter.asked,
    )


def cancelled(life: Life, wall: float) -> Life:
    """The life of a message that was taken back. Nothing tells where its copy in the queue is: it goes too."""
    new = msgspec.structs.replace(
        life, state=MessageState.CANCELLED, owner=None, deadline=None, due=None, finished_at=wall, progress=None,
        is_unput=False, message_id="", receipt="",
    )  # fmt: skip
    new.tell(Ending(wall, "cancelled", life.owner))
    return new


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Life).decode
_asked = msgspec.json.Decoder(Asked).decode
_counters = msgspec.json.Decoder(Counters).decode


def life_row(kept: Kept, partitions: int) -> Row:
    """The row of a life."""
    life = kept.life
    fields: dict[str, Any] = {
        "Queue": life.queue, "State": life.state.value, "Owner": life.owner or "", "Life": _encode(life),
        "IsUnput": life.is_unput, "Deadline": (life.deadline or 0.0) if life.state is MessageState.LEASED else None,
        "Envelope": kept.envelope, "Checkpoint": kept.checkpoint, "Asked": True if life.asked is not None else None,
    }  # fmt: skip
    return Row(part_of(life.id, partitions), f"m:{row_id(life.id)}", fields, kept.etag)


def read_life(row: Row) -> Kept:
    """The life in a row."""
    fields = row.fields
    return Kept(_decode(fields["Life"]), row.etag, fields.get("Envelope"), fields.get("Checkpoint"))


def letter_row(letter: Letter, partitions: int) -> Row:
    """The row of a letter."""
    fields: dict[str, Any] = {
        "Id": letter.id, "Queue": letter.queue, "Task": letter.task, "Place": place_text(letter.place),
        "SentAt": letter.sent_at, "Envelope": letter.envelope, "Key": letter.key, "Generation": letter.generation,
        "Digest": letter.digest,
        "IsPut": letter.is_put, "MessageId": letter.message_id, "Receipt": letter.receipt, "IsEnded": letter.is_ended,
        "Wire": letter.wire, "EndedAt": letter.ended_at, **counter_fields(letter.counters),
        "Asked": None if letter.asked is None else _encode(letter.asked), **intent_fields(letter.intents),
    }  # fmt: skip
    return Row(part_of(letter.id, partitions), letter_key(letter.id), fields, letter.etag)


def read_letter(row: Row) -> Letter:
    """The letter in a row."""
    fields = row.fields
    return Letter(
        id=fields["Id"], queue=fields["Queue"], task=fields["Task"], place=int(fields["Place"]),
        sent_at=float(fields["SentAt"]), envelope=fields.get("Envelope", b""), key=fields["Key"],
        generation=int(fields["Generation"]), digest=fields.get("Digest", ""), is_put=bool(fields["IsPut"]),
        message_id=fields.get("MessageId", ""),
        receipt=fields.get("Receipt", ""), is_ended=bool(fields["IsEnded"]), ended_at=fields.get("EndedAt"),
        wire=fields.get("Wire", ""), counters=_read_counters(fields), etag=row.etag,
        asked=_asked(fields["Asked"]) if fields.get("Asked") else None,
        intents=tuple(str(fields.get("Intents", "")).split()),
    )  # fmt: skip


def counter_fields(counters: Counters) -> dict[str, Any]:
    """The counters as one field of a letter; none while there is nothing to tell."""
    return {} if counters == NO_COUNTERS else {"Counters": _encode(counters)}


def intent_fields(intents: tuple[str, ...]) -> dict[str, Any]:
    """The intents by which a message ended, as one field of a letter; none for one that did not ask."""
    return {"Intents": " ".join(intents)} if intents else {}


def _read_counters(fields: Mapping[str, Any]) -> Counters:
    told = fields.get("Counters")
    return NO_COUNTERS if told is None else _counters(told)


def place_text(place: int) -> str:
    """A place as a field; of two, the later is also the greater text. It has more digits than a number may have."""
    return f"{place:020d}"


def letter_key(id: str) -> str:
    """The key of a letter's row."""
    return f"s:{row_id(id)}"


def mark_letter(id: str, partitions: int, **fields: Any) -> Change:
    """Change some fields of a letter, whatever else it says."""
    return Change("merge", Row(part_of(id, partitions), letter_key(id), fields))
