"""A claim: the ledger's word on who may run a keyed message, and whether it was already done.

Where a claim exists it *is* the lease; the broker's visibility is then only a delivery timer.
Asked by `runtime/admission.py` for a whole batch; sealed by `runtime/settling.py`.
"""

import hashlib

import msgspec

from tenure.message import Message, Outgoing


class Scope(msgspec.Struct, frozen=True):
    """What a claim is about: a key within its queue and task, in one generation.

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
    """Tells one payload from another under the same key, wherever the payload lies."""
    if message.ticket is not None:
        return message.ticket.digest
    # White space around it is lost when the envelope is read again.
    return hashlib.sha256(bytes(message.body).strip()).hexdigest()


class ClaimRequest(msgspec.Struct, frozen=True):
    """Ask to run `id` under `scope` for `seconds`. `digest` tells another payload under the same key."""

    scope: Scope
    id: str
    owner: str
    seconds: float
    digest: str
    #: When message `id` was sent, by its own account. 0: it does not say.
    sent_at: float = 0.0


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
    """Go ahead."""

    token: Token


class Running(msgspec.Struct, frozen=True):
    """Somebody runs it now; come back when the claim could have ended."""

    owner: str
    remaining_seconds: float


class Done(msgspec.Struct, frozen=True):
    """It is done. The hand-offs may not all have gone out before the crash: send them (idempotent), then ack."""

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
