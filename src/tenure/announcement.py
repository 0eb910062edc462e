"""An announcement: how a message ended, kept until all that asked for it have it.

A message asks by `Message.announce`. In the same step in which it is completed, dead or cancelled, its store keeps an
announcement (`rules/announcing.py`), because its envelope is gone by then. Keyed by id and generation, so an ending is
announced once, and a message that was redriven and ended again is announced again.

Made by the store. Next: `Broker.announcements`, read by the announcer.
"""

import msgspec

from tenure.message import Message, MessageState
from tenure.verdict import Reason

#: A result of so many bytes is kept with its announcement. A larger one stays with the message's record.
RESULT_LIMIT = 64 * 1024
#: A message may ask for so many targets.
MOST_TARGETS = 8
#: So many announcements are read in one call.
READ_LIMIT = 500
#: How a target begins that a webhook delivers to: an endpoint's name or a URL follows.
WEBHOOK_TARGET = "webhook:"
#: One that waits for longer is a finding.
LATE_SECONDS = 3_600.0


class AnnounceRequest(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a store keeps beside a message that asks for an announcement, for when its envelope is gone or elsewhere."""

    #: `Message.announce`.
    targets: tuple[str, ...]
    client: str | None = None
    correlation_id: str | None = None

    @classmethod
    def of(cls, message: Message) -> "AnnounceRequest | None":
        """What `message` asks for. None: nothing, as nearly all."""
        if not message.announce:
            return None
        return cls(message.announce, message.client, message.correlation_id)


class Announcement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One ending of one message."""

    #: The message's id. With its generation it identifies the ending.
    id: str
    #: How often the message had been redriven when it ended.
    generation: int = 0
    #: The queue that it ended in, with its namespace.
    queue: str
    #: The task's name. Empty: the message could not be read.
    task: str
    #: What asked for it, such as `webhook:orders` or `group:…`.
    targets: tuple[str, ...]
    #: completed, dead or cancelled.
    ending: MessageState
    #: Wall time by the store's clock.
    ended_at: float
    #: Why it is dead.
    reason: Reason | None = None
    client: str | None = None
    correlation_id: str | None = None
    #: JSON, of a completed message. None: it had none, or it is larger than `RESULT_LIMIT`.
    result: bytes | None = None
    #: Bytes of a result that is larger than that: it is in the message's record.
    large_result: int | None = None
    #: Its place among those that wait, for `Broker.announcements`. Opaque, and a text only of its own store.
    place: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """Identifies the ending. An id counts within its queue on some stores."""
        return self.queue, self.id, self.generation
