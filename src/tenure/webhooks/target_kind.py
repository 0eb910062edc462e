"""A target kind: what a message may ask for when it ends, by the beginning of its target's text.

`webhook:…` is one (`webhook_target.py`), `group:…` another (`groups/group_kind.py`): objects with these verbs, given to
the announcer under their names.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from tenure.announcement import Announcement
from tenure.broker import Refused
from tenure.message import Outgoing


class Made(msgspec.Struct, frozen=True):
    """What one target of one ending becomes. Neither: nothing, the target has what it asked for."""

    #: A message to send.
    outgoing: Outgoing | None = None
    #: A message that cannot be sent to anybody: it becomes a dead letter, to be replayed.
    aside: Refused | None = None


NOTHING = Made()


class TargetKind(Protocol):
    """One kind of target."""

    async def begin(self, endings: Sequence[tuple[Announcement, str]]) -> None:
        """These endings and targets of one page are next: what is done for many at once is done here.

        It may be repeated. What it raises stops the page, which is read again.
        """
        ...

    async def lane(self, ending: Announcement, target: str) -> str | None:
        """Whose turn it is: endings of one lane go out in their order. None: it waits for nothing."""
        ...

    async def room(self, lane: str) -> int:
        """How many messages of this lane may be made now. 0: its endings wait as announcements."""
        ...

    async def make(self, ending: Announcement, target: str) -> Made:
        """What becomes of it. Made again for the same ending it is the same message, by its id."""
        ...

    async def reserve(self, lane: str, ids: Sequence[str]) -> None:
        """These messages are about to be sent. May raise `TakenOver`."""
        ...

    async def is_reserved(self, lane: str, id: str) -> bool:
        """Whether this message has its place already, from an earlier `reserve`: it needs no room."""
        ...
