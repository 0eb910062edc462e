"""A claim: the ledger's word on who may run a keyed message, and whether it was already done.

Where a claim exists it *is* the lease; the broker's visibility is then only a delivery timer.
Asked by `runtime/path/admission.py` for a whole batch; sealed by `runtime/path/outbox.py`.
"""

import hashlib

import msgspec

from tenure.announcement import AnnounceRequest
from tenure.message import Message, Outgoing


class Scope(msgspec.Struct, frozen=True):
    """The scope of a claim: a key within its queue and task, in one generation.

    A message without a key is its own scope, by id.
    """

    queue: str
    task: str
    key: str
    generation: int = 0

    @classmethod
    def of(cls, message: Message) -> "Scope":
        """The scope that `message` belongs to."""
        # The prefix keeps a user's key apart from every id.
        key = f"id:{message.id}" if message.key is None else f"key:{message.key}"
        return cls(message.queue, message.task, key, message.generation)


def digest(message: Message) -> str:
    """Identifies a payload under its key, wherever the payload is kept."""
    if message.ticket is not None:
        return message.ticket.digest
    # White space around it is lost when the envelope is read again.
    return hashlib.sha256(bytes(message.body).strip()).hexdigest()


class ClaimRequest(msgspec.Struct, frozen=True):
    """Ask to run `id` under `scope` for `seconds`. `digest` identifies the payload."""

    scope: Scope
    id: str
    owner: str
    seconds: float
    digest: str
    #: When message `id` was sent, by its own account. 0: it does not say.
    sent_at: float = 0.0
    #: Set for a message that Tenure did not send: its store does not know yet what it asks for.
    announce: AnnounceRequest | None = None


class Token(msgspec.Struct, frozen=True):
    """Proof of a claim: every later word to the ledger is compared with it."""

    scope: Scope
    id: str
    owner: str
    #: Rises strictly with each claim of the scope.
    fence: int
    seconds: float
    #: Which send the claim belongs to (`rules/send_id.py`): that of the key's first message, where several messages
    #: can come under one key. Empty: that of the message itself.
    send_id: str = ""


class Fresh(msgspec.Struct, frozen=True):
    """The claim was made: go ahead."""

    token: Token


class Running(msgspec.Struct, frozen=True):
    """Another run is under way; come back when its claim could have ended."""

    owner: str
    remaining_seconds: float


class Done(msgspec.Struct, frozen=True):
    """The work is done. The hand-offs may be incomplete after a crash: send them (idempotent), then ack."""

    result: bytes
    handoffs: tuple[Outgoing, ...] = ()


class Conflict(msgspec.Struct, frozen=True):
    """The key belongs to another payload."""

    holder_id: str


ClaimAnswer = Fresh | Running | Done | Conflict


class Seal(msgspec.Struct, frozen=True):
    """The end of a claim: done, with everything that must be remembered with it."""

    token: Token
    result: bytes
    handoffs: tuple[Outgoing, ...] = ()
    #: Set: the message asked to be announced. Its store keeps the announcement in the step of the seal.
    announce: AnnounceRequest | None = None
