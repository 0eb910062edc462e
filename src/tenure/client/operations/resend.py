"""Move and edit: a dead letter is sent again as a new message, and then deleted.

Send first, delete second: a crash between the two leaves both, and none is lost. The new message's id is derived from
the old one's and what is asked for, so the repeat makes no second message.
"""

from typing import Any

import msgspec


class MovedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one dead letter."""

    id: str
    #: Of the message that was sent in its place. None: none was.
    new_id: str | None
    queue: str
    #: Why it was left alone. Empty: it was moved.
    problem: str = ""


class MoveResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a move came to, in the order of the ids."""

    messages: tuple[MovedMessage, ...]
    found: int
    done: int
    skipped: int
    dry_run: bool = False


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One difference. A field that was not there before, or is not there after, is missing in `had` or `has`."""

    #: As in `payload.width`, `payload.images[2]`, `queue`, `priority`.
    path: str
    #: `added`, `removed`, `changed`.
    kind: str
    before: Any = None
    after: Any = None


class EditResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit changed, or would change."""

    id: str
    #: Of the message that was sent in its place. None: it was a dry run.
    new_id: str | None
    queue: str
    changes: tuple[Change, ...]
    #: Whether the payload was checked by the task's signature. False: the app does not know the task.
    checked: bool
    dry_run: bool = False
    #: `before` and `after` are left out.
    redacted: bool = False
