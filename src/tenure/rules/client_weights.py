"""Weights of clients: how large each one's part of a worker's time is, compared with the others. Pure.

A client of weight 3 gets three times the work time of one of weight 1, as long as both have something waiting. Without
one it is 1. They come from a setting (`TENURE_CLIENT_WEIGHTS`), and operators set others, as posts on the board, so
that all workers agree: as with limits (`operator_limits.py`) the newest post of a queue counts, until it is withdrawn.

Used by `fair_turns.py`; read by every worker each second (`runtime/background/client_shares.py`).
"""

import math
from collections.abc import Iterable, Mapping

from tenure.errors import BadArgument
from tenure.notice import Post, PostKind
from tenure.rules.client_queue import check_client, queue_of_client

USUAL_WEIGHT = 1.0
#: Every client has the usual weight.
NO_WEIGHTS: Mapping[str, float] = {}
LEAST_WEIGHT, MOST_WEIGHT = 0.01, 100.0
#: Between a queue and what makes the name of the post new.
_MARK = "@"


def check_weight(weight: object) -> float:
    """The weight, if it is one. Raises `BadArgument`."""
    number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not number or not LEAST_WEIGHT <= float(weight) <= MOST_WEIGHT:  # type: ignore[arg-type]
        msg = f"weight={weight!r} is not a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
        raise BadArgument(msg)
    return float(weight)  # type: ignore[arg-type]


def weights_from(texts: Iterable[str]) -> dict[str, float]:
    """Read texts such as `acme=3`. Raises `ValueError`."""
    weights: dict[str, float] = {}
    for part in texts:
        name, equals, number = part.strip().partition("=")
        if not equals or name in weights:
            raise ValueError
        try:
            weights[check_client(name)] = check_weight(float(number))
        except BadArgument as error:
            raise ValueError from error
    return weights


def by_queue(weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of a setting, by queues without a namespace: they hold in each."""
    return {queue_of_client(client): weight for client, weight in weights.items()}


def weight_of(queue: str, weights: Mapping[str, float]) -> float:
    """The weight of a queue: its own, or that of the same client in any namespace."""
    if not weights:
        return USUAL_WEIGHT
    own = weights.get(queue)
    return weights.get(queue.rpartition("/")[2], USUAL_WEIGHT) if own is None else own


def post_of(queue: str, weight: float, at: float, by: str, nonce: str) -> Post:
    """The post that sets the weight of a client, by its queue. `nonce` makes its name new."""
    return Post(kind=PostKind.CLIENT_WEIGHT, name=f"{queue}{_MARK}{nonce}", at=at, by=by, data=repr(weight))


def posts_of(queue: str, posts: Iterable[Post]) -> list[Post]:
    """Every post that sets a weight for this queue, oldest first."""
    return sorted(
        (one for one in posts if one.kind is PostKind.CLIENT_WEIGHT and one.name.rpartition(_MARK)[0] == queue),
        key=lambda one: (one.at, one.name),
    )


def operator_weights(posts: Iterable[Post]) -> dict[str, float]:
    """What operators set, by queue: the newest of each counts. What cannot be read is left out."""
    newest: dict[str, tuple[float, str, float]] = {}
    for post in posts:
        queue, mark, _ = post.name.rpartition(_MARK)
        if post.kind is not PostKind.CLIENT_WEIGHT or not mark:
            continue
        weight = _weight_in(post.data)
        if weight is not None and (post.at, post.name) > newest.get(queue, (-math.inf, ""))[:2]:
            newest[queue] = (post.at, post.name, weight)
    return {queue: weight for queue, (_, _, weight) in newest.items()}


def _weight_in(data: str) -> float | None:
    try:
        return check_weight(float(data))
    except (ValueError, BadArgument):
        return None


def in_force(setting: Mapping[str, float], operators: Mapping[str, float]) -> dict[str, float]:
    """The weights by queue: what operators set counts more than the setting, which is by client."""
    return {**by_queue(setting), **operators}
