"""Notices: what operators and schedules tell every worker.

Kept by `Board`, read once a second by `runtime/background/board_watch.py`.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

#: This many ids of cancelled messages are kept on the board: a worker that reads it once a second misses none of them
#: unless more were cancelled in between, and then only the count shows it.
KEPT_CANCELS = 32
#: This many posts may stand at once: every worker reads all of them once a second.
MOST_POSTS = 500


#: A request to one worker is kept for this long, so that a worker whose process stood still for a few minutes sees it.
#: The worker withdraws it when it leaves.
WORKER_POST_SECONDS = 600.0


def newest_cancels(known: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """The ids to keep on the board, oldest first, when `more` were cancelled."""
    return tuple([*known, *more][-KEPT_CANCELS:])


class Pause(msgspec.Struct, frozen=True):
    """A queue from which nothing is leased until it is resumed."""

    queue: str
    #: Wall time; for showing.
    at: float
    by: str = ""


class PostKind(StrEnum):
    """The request of a post."""

    #: `name` is a schedule: send no message for its ticks until the post is withdrawn.
    PAUSED_SCHEDULE = "paused_schedule"
    #: `name` is a message that runs: its holder answers with the stack of its handler.
    STACK = "stack"
    #: `name` is the id of a worker (`key_value.name_of`): it leases nothing more, and stops when its handlers are done.
    DRAIN_WORKER = "drain_worker"
    #: `name` is the id of a worker: it stops, as on SIGTERM.
    STOP_WORKER = "stop_worker"
    #: The limit that an operator set for a queue (`rules/operator_limits.py`): the newest of each queue counts.
    LIMIT = "limit"
    #: The weight that an operator set for a client (`rules/client_weights.py`): the newest of each queue counts.
    CLIENT_WEIGHT = "client_weight"


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """A notice from operators to workers besides pauses: it stays until it is withdrawn or expires."""

    kind: PostKind
    #: What it is about.
    name: str
    #: Wall time; for showing.
    at: float
    by: str = ""
    #: Wall time by the store's clock from which on it counts as withdrawn. None: it stands until it is withdrawn.
    until: float | None = None
    #: What else it says, as text.
    data: str = ""

    def is_over(self, wall: float) -> bool:
        """Whether its time is over at `wall`, by the store's clock."""
        return self.until is not None and self.until <= wall


def standing_posts(posts: Iterable[Post], wall: float) -> tuple[Post, ...]:
    """The posts to show at `wall`: by kind and name, without those whose time is over."""
    return tuple(sorted((post for post in posts if not post.is_over(wall)), key=lambda post: (post.kind, post.name)))


class Notices(msgspec.Struct, frozen=True):
    """The pauses and posts that a worker must know now."""

    paused: tuple[Pause, ...] = ()
    #: How many leased messages were ever cancelled. When it changes, a worker asks which of its leases still stand.
    cancels: int = 0
    #: The ids of the last `KEPT_CANCELS` of them, so that only their holder asks. In no order.
    cancelled: tuple[str, ...] = ()
    #: In the order of kind and name, without those whose time is over.
    posts: tuple[Post, ...] = ()


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """The newest moment of a schedule for which its message was sent. Times are wall times."""

    schedule: str
    at: float
    #: The message of that tick. Empty: the schedule was only seen for the first time, or the tick was skipped.
    message_id: str = ""
    #: What the schedule says, for people: "0 3 * * * Europe/Berlin".
    spec: str = ""
    task: str = ""
    queue: str = ""
    next_at: float | None = None
    #: True: no tick has come yet. A worker saw the schedule, or a changed line of it, for the first time at `at`.
    first_seen: bool = False
