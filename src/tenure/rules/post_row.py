"""A post as stores keep it: JSON that a worker of another version can read, too.

A newer version may know kinds of posts that this one does not. They are left out, and the others are read: a worker
that cannot read the board would miss every pause. Pure.
"""

from collections.abc import Iterable

import msgspec

from tenure.notice import Post, PostKind, standing_posts

_KINDS = frozenset(PostKind)


class PostRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A post of any kind, with the fields of `Post`."""

    kind: str
    name: str
    at: float = 0.0
    by: str = ""
    until: float | None = None
    data: str = ""

    def is_over(self, wall: float) -> bool:
        """Whether its time is over at `wall`, by the store's clock."""
        return self.until is not None and self.until <= wall


def row_of(post: Post) -> PostRow:
    """Make the row of a post."""
    until = None if post.until is None else float(post.until)
    return PostRow(post.kind.value, post.name, post.at, post.by, until, post.data)


def posts_of(rows: Iterable[PostRow], wall: float) -> tuple[Post, ...]:
    """The posts to show at `wall`, of kinds that this version knows."""
    posts = (
        Post(kind=PostKind(row.kind), name=row.name, at=row.at, by=row.by, until=row.until, data=row.data)
        for row in rows
        if row.kind in _KINDS
    )
    return standing_posts(posts, wall)
