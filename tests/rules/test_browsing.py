"""Which messages a query means: a table of cases."""

from typing import Any

import msgspec
import pytest

from tenure import envelope
from tenure.errors import BadArgument
from tenure.message import NO_COUNTERS, Message, MessageState
from tenure.query import Browsed, Query
from tenure.rules import browsing
from tenure.verdict import Reason

READY, DEAD, COMPLETED = MessageState.READY, MessageState.DEAD, MessageState.COMPLETED
TASK_ONLY = frozenset({"task"})


def _row(state: MessageState = READY, *, body: str = '{"to":"Ada"}', **fields: Any) -> Browsed:
    own = {name: fields.pop(name) for name in ("key", "client", "headers") if name in fields}
    message = Message(id="ab12", queue="mail", task="deliver", body=msgspec.Raw(body.encode()), **own)
    usual: dict[str, Any] = {
        "id": "ab12",
        "queue": "mail",
        "task": "deliver",
        "counters": NO_COUNTERS,
        "sent_at": 100.0,
    }
    return Browsed(state=state, **({"envelope": envelope.encode(message)} | usual | fields))


REASON = Reason("handler_error", "No such Printer")

#: Filters, the row, and whether it matches.
CASES: dict[str, tuple[dict[str, Any], Browsed, bool]] = {
    "no filter": ({}, _row(), True),
    "its task": ({"task": "deliver"}, _row(), True),
    "another task": ({"task": "deliver2"}, _row(), False),
    "a task that cannot be read": ({"task": "deliver"}, _row(task=None), False),
    "its client": ({"client": "shop"}, _row(client="shop"), True),
    "another client": ({"client": "shop"}, _row(client="shop2"), False),
    "no client": ({"client": "shop"}, _row(), False),
    "its key": ({"key": "k"}, _row(key="k"), True),
    "no key": ({"key": "k"}, _row(), False),
    "text in the payload": ({"text": "ada"}, _row(), True),
    "text in upper case": ({"text": "ADA"}, _row(), True),
    "text that folds to more letters": ({"text": "STRASSE"}, _row(body='"Stra\N{LATIN SMALL LETTER SHARP S}e"'), True),
    "text in the id": ({"text": "B1"}, _row(), True),
    "text in the reason": ({"text": "no such printer"}, _row(reason=REASON), True),
    "text that is the code of the reason": ({"text": "handler_error"}, _row(reason=REASON), True),
    "text in a header": ({"text": "zanzibar"}, _row(headers={"x": "zanzibar"}), False),
    "text in the key": ({"text": "zanzibar"}, _row(key="zanzibar"), False),
    "text that is the task": ({"text": "deliver"}, _row(), False),
    "empty text": ({"text": ""}, _row(), True),
    "sent at the start of the range": ({"since": 100.0}, _row(), True),
    "sent before the range": ({"since": 100.1}, _row(), False),
    "sent at the end of the range": ({"until": 100.0}, _row(), False),
    "sent before the end": ({"until": 100.1}, _row(), True),
    "an unknown time is in no range": ({"since": 0.0}, _row(sent_at=None), False),
    "an unknown time is before no end": ({"until": 1e12}, _row(sent_at=None), False),
    "ended within the range": ({"since": 200.0}, _row(DEAD, finished_at=200.0), True),
    "sent within the range, ended behind it": ({"until": 150.0}, _row(DEAD, finished_at=200.0), False),
    "completed within the range": ({"since": 150.0, "until": 250.0}, _row(COMPLETED, finished_at=200.0), True),
    "all filters": (
        {"task": "deliver", "client": "shop", "key": "k", "text": "ada", "since": 99.0, "until": 101.0},
        _row(client="shop", key="k"),
        True,
    ),
    "all but one": ({"task": "deliver", "client": "shop", "key": "l"}, _row(client="shop", key="k"), False),
    "unreadable, by text": ({"text": "dam"}, _row(envelope=b"\xff damaged"), True),
    "unreadable, by key": ({"key": "k"}, _row(envelope=b"\xff damaged"), False),
    "unreadable, by client": ({"client": "k"}, _row(envelope=b""), False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_row_matches_or_not(case: str) -> None:
    filters, row, expected = CASES[case]
    assert browsing.matches(Query(states=(row.state,), **filters), row) is expected


@pytest.mark.parametrize("case", CASES)
def test_a_row_is_judged_by_its_raw_bytes_where_it_carries_none(case: str) -> None:
    filters, row, expected = CASES[case]
    bare = msgspec.structs.replace(row, envelope=b"")
    assert browsing.matches(Query(states=(row.state,), **filters), bare, row.envelope) is expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, False),
        ({"task": "a", "since": 1.0}, False),
        ({"client": "a"}, True),
        ({"key": ""}, True),
        ({"text": ""}, True),
    ],
)
def test_some_filters_need_the_envelope(filters: dict[str, Any], *, expected: bool) -> None:
    assert browsing.needs_envelope(Query(states=(READY,), **filters)) is expected


REFUSED: dict[str, tuple[Query, str]] = {
    "no state": (Query(states=()), "at least one state"),
    "no messages": (Query(states=(READY,), limit=0), "limit=0"),
    "fewer than none": (Query(states=(READY,), limit=-1), "limit=-1"),
    "no rows": (Query(states=(READY,), look_at=0), "look_at=0"),
    "a field that is gone": (Query(states=(COMPLETED,), key="k"), "completed messages do not keep their key"),
    "two fields that are gone": (
        Query(states=(MessageState.CANCELLED, COMPLETED), client="a", text="b"),
        "cancelled and completed messages do not keep their client and text",
    ),
    "one state of several": (Query(states=(READY, COMPLETED), text="b"), "completed messages do not keep"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_query_that_cannot_be_answered_is_refused(what: str) -> None:
    query, text = REFUSED[what]
    with pytest.raises(BadArgument, match=text):
        browsing.check(query, TASK_ONLY)


@pytest.mark.parametrize(
    "query",
    [
        Query(states=(READY,), text="x", client="y", key="z"),
        Query(states=(DEAD,), text="x"),
        Query(states=tuple(MessageState), task="x", since=1.0, until=2.0),
    ],
)
def test_other_queries_are_answered(query: Query) -> None:
    browsing.check(query, TASK_ONLY)


def test_a_store_that_keeps_more_can_be_asked_for_more() -> None:
    query = Query(states=(COMPLETED,), client="x", key="y")
    browsing.check(query, frozenset({"task", "client", "key"}))
    with pytest.raises(BadArgument, match="task"):
        browsing.check(Query(states=(COMPLETED,), task="x"), frozenset())


def test_a_row_without_the_text_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search looks through thousands of rows, and decoding is most of the work."""
    decoded: list[bytes] = []
    monkeypatch.setattr(browsing, "_decode", decoded.append)
    assert not browsing.matches(Query(states=(READY,), text="zanzibar"), _row())
    assert not decoded
    browsing.matches(Query(states=(READY,), text="ada"), _row())
    assert len(decoded) == 1
