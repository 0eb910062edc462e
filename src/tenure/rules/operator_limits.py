"""The limits that operators set, as posts on the board, and which limit is in force.

A change is a new post; the older ones of the queue are withdrawn after it, and until then the newest counts. So there
is no moment without a limit, and of two operators at once the later one wins. What an operator sets counts instead of
what the code says, field by field, until it is cleared. Pure.

Read by every worker each second (`runtime/background/queue_limits.py`); written by `client/operator.py`.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tenure.limit import Limit
from tenure.notice import Post, PostKind

#: Between the name of a queue and what makes the name of the post new.
_MARK = "@"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Limit).decode


class OperatorLimit(msgspec.Struct, frozen=True):
    """What an operator set for a queue, when, and who it was."""

    queue: str
    limit: Limit
    at: float
    by: str = ""
    #: The name of its post.
    post: str = ""


def post_of(queue: str, limit: Limit, at: float, by: str, nonce: str) -> Post:
    """The post that sets a limit. `nonce` makes its name new."""
    return Post(
        kind=PostKind.LIMIT,
        name=f"{queue}{_MARK}{nonce}",
        at=at,
        by=by,
        data=_encode(limit).decode(),
    )


def operator_limits(posts: Iterable[Post]) -> dict[str, OperatorLimit]:
    """The newest limit of each queue."""
    found: dict[str, OperatorLimit] = {}
    for one in every_limit(posts):
        known = found.get(one.queue)
        if known is None or (one.at, one.post) > (known.at, known.post):
            found[one.queue] = one
    return found


def every_limit(posts: Iterable[Post]) -> list[OperatorLimit]:
    """Every post that sets a limit, also those that no longer count. What cannot be read is left out."""
    found = []
    for post in posts:
        queue, mark, _ = post.name.rpartition(_MARK)
        if post.kind is PostKind.LIMIT and mark:
            try:
                limit = _decode(post.data)
            except msgspec.DecodeError:
                continue
            found.append(OperatorLimit(queue, limit, post.at, post.by, post.name))
    return found


def in_force(code: Mapping[str, Limit], operators: Mapping[str, OperatorLimit]) -> dict[str, Limit]:
    """The limit of each queue that has one."""
    limits = dict(code)
    for queue, one in operators.items():
        limits[queue] = merged(code.get(queue), one.limit)
    return {queue: limit for queue, limit in limits.items() if not limit.is_none}


def merged(under: Limit | None, over: Limit) -> Limit:
    """`over` where it says something, else `under`."""
    if under is None:
        return over
    return Limit(
        under.running if over.running is None else over.running,
        under.per_second if over.per_second is None else over.per_second,
    )
