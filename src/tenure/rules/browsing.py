"""The filters of `Broker.browse`, the same for every store.

A store reads rows in its own order and asks `matches` for each; it may skip rows that it knows not to match. Pure.
"""

from tenure import envelope
from tenure.errors import BadArgument, BodyUndecodable
from tenure.message import Message, MessageState
from tenure.query import Browsed, Query

#: States in which only some fields of a message are kept (`BrokerTraits.ended_filters`).
FINISHED = frozenset({MessageState.COMPLETED, MessageState.CANCELLED})
#: Filters that look into the envelope.
_IN_ENVELOPE = ("client", "key", "text")
ENDED = FINISHED | {MessageState.DEAD}


def check(query: Query, ended_filters: frozenset[str]) -> None:
    """Refuse a query that cannot be answered: by a field that a state no longer keeps, or for nothing.

    `ended_filters`: fields by which completed and cancelled messages can be filtered here.
    """
    if not query.states:
        msg = "a query needs at least one state; nothing was read"
        raise BadArgument(msg)
    if query.limit < 1 or query.look_at < 1:
        msg = f"limit={query.limit} and look_at={query.look_at} must be at least 1; nothing was read"
        raise BadArgument(msg)
    if query.seconds is not None and not query.seconds >= 0:
        msg = f"seconds={query.seconds} must be at least 0; nothing was read"
        raise BadArgument(msg)
    asked = [name for name in ("task", "client", "key", "text") if getattr(query, name) is not None]
    lacking = [name for name in asked if name not in ended_filters]
    finished = [state.value for state in query.states if state in FINISHED]
    if lacking and finished:
        msg = (
            f"{' and '.join(finished)} messages do not keep their {' and '.join(lacking)} here, so they cannot be "
            "filtered by it; nothing was read. Leave the filter or the state out"
        )
        raise BadArgument(msg)


def matches(query: Query, row: Browsed, raw: bytes | None = None) -> bool:
    """Whether the query means this row. `raw`: its envelope, where `row` carries none."""
    if not may_match(query, row.task, moment_of(row)):
        return False
    if query.client is None and query.key is None and query.text is None:
        return True
    return _matches_inside(query, row, row.envelope if raw is None else raw)


def has_early_filter(query: Query) -> bool:
    """Whether `may_match` can say no."""
    return query.task is not None or query.since is not None or query.until is not None


def may_match(query: Query, task: str | None, moment: float | None) -> bool:
    """Whether the query may mean a row of this task and time (`moment_of`): no other filter is looked at."""
    if query.task is not None and task != query.task:
        return False
    if query.since is not None and (moment is None or moment < query.since):
        return False
    return query.until is None or (moment is not None and moment < query.until)


def moment_of(row: Browsed) -> float | None:
    """The time by which `Query.since` and `Query.until` count a row."""
    return row.finished_at if row.state in ENDED else row.sent_at


def needs_envelope(query: Query) -> bool:
    """Whether rows must be read with their envelopes to be judged."""
    return any(getattr(query, name) is not None for name in _IN_ENVELOPE)


def _matches_inside(query: Query, row: Browsed, raw: bytes) -> bool:
    text = None if query.text is None else query.text.casefold()
    # The body lies in the envelope as it is: most rows need not be decoded to know that the text is not in them.
    if text is not None and text not in _folded(raw) and not _is_beside(text, row):
        return False
    message = _decode(raw)
    if query.client is not None and (message is None or message.client != query.client):
        return False
    if query.key is not None and (message is None or message.key != query.key):
        return False
    return text is None or _is_beside(text, row) or text in _folded(raw if message is None else bytes(message.body))


def _is_beside(text: str, row: Browsed) -> bool:
    """Whether the text is in what a row shows without its body."""
    reason = row.reason
    return text in row.id.casefold() or (reason is not None and text in f"{reason.code} {reason.text}".casefold())


def _folded(raw: bytes) -> str:
    return raw.decode(errors="replace").casefold()


def _decode(raw: bytes) -> Message | None:
    try:
        return envelope.decode(raw)
    except BodyUndecodable:
        return None
