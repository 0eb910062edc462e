"""The rule for key-values and posts: every store can keep them and find them again by name.

One rule for every store. `KeyValues.put` and `Board.post` ask it before anything is stored; the other verbs only ask
whether there can be such a thing at all. Names are held to the rule for the ids of messages (`sendable.py`). Pure.
"""

import re

from tenure.errors import BadArgument
from tenure.key_value import MOST_BYTES, MOST_NAME
from tenure.notice import MOST_POSTS, Post
from tenure.rules.sendable import UNSEEN

MOST_KIND = 50
#: Seconds. A moment beyond every calendar is a mistake, and not every store can keep it.
_LAST_MOMENT = 1e12
_KIND = re.compile(rf"[A-Za-z0-9][A-Za-z0-9.-]{{0,{MOST_KIND - 1}}}\Z")


def can_be_kept(kind: str, name: str) -> bool:
    """Whether a store can keep a document of this kind and name."""
    return _KIND.match(kind) is not None and not _wrong_name(name)


def is_kind(kind: str) -> bool:
    """Whether a store can keep documents of this kind."""
    return _KIND.match(kind) is not None


def can_be_posted(name: str) -> bool:
    """Whether a store can keep a post of this name."""
    return not _wrong_name(name)


def is_moment(wall: float) -> bool:
    """Whether it is a wall time that every store can keep."""
    return -_LAST_MOMENT <= wall <= _LAST_MOMENT


def check_key_value(kind: str, name: str, data: bytes, expires_at: float | None) -> None:
    """Raise `BadArgument` if this document cannot be kept."""
    wrong = ""
    if not is_kind(kind):
        wrong = f"kind={kind!a} is not 1 to {MOST_KIND} letters, digits, dots and dashes"
    elif why := _wrong_name(name):
        wrong = f"name={name!a} {why}"
    elif len(data) > MOST_BYTES:
        wrong = f"{kind} {name!a} has {len(data):,} bytes, and a store keeps {MOST_BYTES:,} at most"
    elif expires_at is not None and not is_moment(expires_at):
        wrong = f"expires_at={expires_at!r} is not a moment"
    if wrong:
        raise BadArgument(f"{wrong}; nothing was stored")


def check_post(post: Post) -> None:
    """Raise `BadArgument` if this post cannot be kept."""
    wrong = ""
    if why := _wrong_name(post.name):
        wrong = f"name={post.name!a} {why}"
    elif post.by and (why := _wrong_name(post.by)):
        wrong = f"by={post.by!a} {why}"
    elif post.data and (why := _wrong_name(post.data)):
        wrong = f"data={post.data!a} {why}"
    else:
        for field, moment in (("at", post.at), ("until", post.until)):
            if moment is not None and not is_moment(moment):
                wrong = f"{field}={moment!r} is not a moment"
    if wrong:
        raise BadArgument(f"{wrong}; nothing was posted")


def check_room(standing: int) -> None:
    """Raise `BadArgument` if no further post may stand beside this many."""
    if standing >= MOST_POSTS:
        raise BadArgument(
            f"{standing} posts are on the board already, and every worker reads all of them each "
            f"second; nothing was posted. Withdraw some, or wait until some expire"
        )


def _wrong_name(name: str) -> str:
    """Say what is wrong with a name; empty: nothing."""
    if not name:
        return "must not be empty"
    if len(name) > MOST_NAME:
        return f"has {len(name)} characters, and a store keeps {MOST_NAME} at most"
    if not name.isprintable() and UNSEEN.search(name):
        return "has control characters, or characters that are not text"
    return ""
