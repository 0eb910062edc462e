"""Looking at messages: what is asked for, and a page of the answer.

Looking is bounded. One call of `Broker.browse` reads at most `Query.look_at` rows and says how far it looked, so a rare
match in a million messages costs many short calls and never one long one. An empty page with a cursor is normal: it
means "nothing in this part, go on". What moves between two pages may be seen twice or not at all.

Asked of `Broker.browse` and `Broker.leases`. Filters are applied by `rules/browsing.py`, the same for every store;
cursors are made and read by `rules/cursor.py`.
"""

import msgspec

from tenure.message import Counters, MessageState
from tenure.record import Progress
from tenure.verdict import Reason

#: Rows that one call reads unless the query says otherwise.
LOOK_AT = 10_000


class Query(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which messages to look at. Filters are combined: a message must match all of them.

    Each state has one order within a queue: ready by arrival, delayed by due time, leased by deadline; dead, completed
    and cancelled by their end or by arrival, as `BrokerTraits.ended_order` says. States come one after the other, in
    the order in which the query names them. Between queues no order is promised, nor within a state that only a scan
    shows. A cursor goes on with the same states, queues and direction; filters and bounds may change.
    """

    states: tuple[MessageState, ...]
    #: Names, or patterns such as `*-tasks`. None: every queue.
    queues: tuple[str, ...] | None = None
    task: str | None = None
    client: str | None = None
    key: str | None = None
    #: Found anywhere in the id, the payload or the reason; upper and lower case count as the same.
    text: str | None = None
    #: Wall time, both ends: `since <= time < until`. The time is the end of an ended message, else when it was sent.
    since: float | None = None
    until: float | None = None
    #: False: `Browsed.envelope` stays empty.
    bodies: bool = True
    #: The other way round: newest arrival, latest deadline or newest end first.
    backwards: bool = False
    #: Most messages in the page.
    limit: int = 100
    #: Most rows that are read for it.
    look_at: int = LOOK_AT
    #: After this long the page ends, but not before 1,000 rows were read. None: `look_at` alone bounds it.
    seconds: float | None = None
    #: `Page.cursor` of the page before; empty: from the start.
    cursor: str = ""
    #: Also look through states that only a paid scan can show (`BrokerTraits.scannable`).
    scan: bool = False


class Browsed(msgspec.Struct, frozen=True, kw_only=True):
    """One message as the broker stores it, read without changing it."""

    id: str
    queue: str
    state: MessageState
    #: Empty: bodies were not asked for, or are not kept in this state.
    envelope: bytes = b""
    counters: Counters
    #: None: it cannot be read.
    task: str | None = None
    owner: str | None = None
    fence: int | None = None
    #: Seconds until the lease ends (negative: overdue). None: not leased.
    deadline_in: float | None = None
    #: Seconds until it may be leased. None: not delayed.
    due_in: float | None = None
    #: Why the last attempt failed, or why it is dead.
    reason: Reason | None = None
    #: Wall time. None: not kept.
    sent_at: float | None = None
    #: Of what has ended: the wall time of that.
    finished_at: float | None = None


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that one call found, and how far it looked."""

    messages: tuple[Browsed, ...] = ()
    #: Ask for the next page with it. None: the end was reached.
    cursor: str | None = None
    #: Rows that were read for this page, matching or not.
    looked_at: int = 0
    #: The time of the last row that was read (as `Query.since` counts it). None: no row was read, or it has no time.
    looked_until: float | None = None
    #: True: another match was seen behind these. False, with a cursor: not known.
    has_more: bool = False


class HeldLease(msgspec.Struct, frozen=True, kw_only=True):
    """One lease as the store knows it. Times are Unix seconds by the store's clock. None: cannot be known."""

    id: str
    queue: str
    task: str | None
    owner: str
    fence: int
    #: Number of the run.
    attempt: int
    leased_at: float | None
    deadline: float
    #: Seconds until `deadline` at the moment of reading; negative: overdue.
    deadline_in: float
    #: What each touch grants.
    seconds: float
    #: Touches so far. Short messages end before their first one.
    beats: int = 0
    #: None: not touched yet.
    last_beat_at: float | None = None
    progress: Progress | None = None
    #: Of the work, in the unit of its task; sent with a beat.
    size: float | None = None
    #: How long the worker expects the run to take; sent with a beat.
    predicted_seconds: float | None = None
    #: False: the holder never joined the roster (an HTTP client, a loop of the user's own).
    has_presence: bool = True


class Leases(msgspec.Struct, frozen=True, kw_only=True):
    """The current leases, soonest deadline first."""

    leases: tuple[HeldLease, ...] = ()
    #: True: there are more than were asked for.
    is_cut: bool = False
    #: The moment of reading, Unix seconds by the store's clock.
    now: float
    #: When the store was last swept, and when the next sweep is due. None: no sweep has run here.
    last_sweep_at: float | None = None
    next_sweep_at: float | None = None
