"""What a stream is made of: filtered, redacted, limited, and never more than one line of data."""

from typing import Any

import msgspec
import pytest

from tenure.client.operations.event_choice import EventChoice
from tenure.event import Event, EventKind, StoredEvent
from tenure.server.events import wire
from tenure.server.events.event_rights import EventRights
from tenure.server.events.event_writer import MOST_COMPLETED, EventWriter
from tenure.server.events.recent_events import MOST_EVENTS, RecentEvents
from tenure.server.events.wire import EncodedEvent
from tenure.server.redaction import Redaction

AT = 1_704_067_200.0
ALL = EventRights(sees_payload=True)


def event(kind: EventKind = EventKind.DEAD, at: float = AT, seq: int = 1, **fields: Any) -> EncodedEvent:
    return EncodedEvent(StoredEvent(seq, Event(kind, at, **fields)))


def written(choice: EventChoice, *events: EncodedEvent, rights: EventRights = ALL) -> list[int]:
    blocks = EventWriter(choice, rights).write(events)
    return [int(block.split(b"\n")[0].removeprefix(b"id: ")) for block in blocks]


def data_of(block: bytes) -> Any:
    return msgspec.json.decode(next(line for line in block.split(b"\n") if line.startswith(b"data: "))[6:])


def test_data_has_the_form_that_dashboards_know() -> None:
    data = {"count": 3, "dlq_count": 0, "triggered_by": "scheduler"}
    block = event(EventKind.REQUEUE, seq=4711, queue="mail", data=data).block(ALL)
    assert block.startswith(b"id: 4711\ndata: ")
    assert block.endswith(b"}\n\n")
    assert data_of(block) == {
        "type": "requeue",
        "timestamp": 1704067200000,
        "payload": {**data, "queue": "mail"},
    }


@pytest.mark.parametrize(
    "text", ["a\n\nid: 9\ndata: {}\n\n", "a\r\rdata: x", "\r\nevent: snapshot\r\n", "\x00", "\u2028"]
)
def test_no_value_begins_a_field(text: str) -> None:
    stored = event(queue=text, task=text, message_id=text, owner=text, data={"reason": text, text: text, "ids": [text]})
    for rights in (ALL, EventRights()):
        lines = stored.block(rights).splitlines()
        assert [line.partition(b":")[0] for line in lines] == [b"id", b"data", b""]
        assert data_of(stored.block(rights))["payload"]["queue"] == text


def test_an_event_that_is_no_json_is_told_without_what_it_says() -> None:
    assert data_of(event(data={"reason": "\ud800"}).block(ALL))["payload"] == {"unreadable": True}


def test_without_the_right_no_payload_and_no_error_is_shown() -> None:
    data = {
        "reason": "card 4111 refused", "payload": "{}", "stack": "x", "error": "y", "count": 1, "code": "error",
        "something_new": "z",
    }  # fmt: skip
    stored = event(queue="mail", message_id="m", data=data)
    assert data_of(stored.block(ALL))["payload"] == {**data, "queue": "mail", "message_id": "m"}
    shown = data_of(stored.block(EventRights()))["payload"]
    assert shown == {"count": 1, "code": "error", "redacted": True, "queue": "mail", "message_id": "m"}


def test_values_that_nobody_may_see_are_hidden_in_kept_payloads() -> None:
    data = {"payload": '{"user":"ada","password":"1234"}', "payload_bytes": 32}
    stored = EncodedEvent(StoredEvent(1, Event(EventKind.COMPLETED, AT, data=data)), Redaction(["password"]).redact)
    payload = data_of(stored.block(ALL))["payload"]
    assert msgspec.json.decode(payload["payload"]) == {"user": "ada", "password": "[redacted]"}
    assert payload["payload_bytes"] == 32
    assert "payload" not in data_of(stored.block(EventRights()))["payload"]


def test_what_has_nothing_to_hide_is_not_called_redacted() -> None:
    assert "redacted" not in data_of(event(data={"count": 1}).block(EventRights()))["payload"]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (EventChoice(), [1, 2, 4, 5]),
        (EventChoice(kinds=frozenset({"dead"})), [1, 5]),
        (EventChoice(kinds=frozenset({"dead", "completed"})), [1, 3, 5]),
        (EventChoice(kinds=frozenset({"dead"}), everything=True), [1, 5]),
        (EventChoice(everything=True), [1, 2, 3, 4, 5]),
        (EventChoice(queues=("mail",)), [1]),
        (EventChoice(queues=("acme-*",)), [2, 5]),
        (EventChoice(task="resize"), [2]),
        (EventChoice(message="m1"), [1, 2, 3]),
        (EventChoice(owner="one/a"), [4]),
        (EventChoice(owner="one"), [4]),
        (EventChoice(owner="a"), []),
        (EventChoice(queues=("acme-*",), task="send"), []),
    ],
)
def test_filters(wanted: EventChoice, ids: list[int]) -> None:
    events = (
        event(seq=1, queue="mail", message_id="m1"),
        event(EventKind.REQUEUE, seq=2, queue="acme-tasks", task="resize", data={"ids": ["m0", "m1"]}),
        event(EventKind.COMPLETED, seq=3, queue="other", message_id="m1"),
        event(EventKind.OWNER_JOINED, seq=4, owner="one/a"),
        event(seq=5, queue="acme-2", message_id="m2"),
    )
    assert written(wanted, *events) == ids


def test_a_queue_that_is_not_theirs_does_not_exist_for_them() -> None:
    events = (
        event(seq=1, queue="acme-1"),
        event(seq=2, queue="umbrella-1"),
        event(EventKind.OWNER_JOINED, seq=3, owner="a/b"),
    )
    assert written(EventChoice(), *events, rights=EventRights(queues=("acme-*",))) == [1]
    assert written(EventChoice(queues=("*",)), *events, rights=EventRights(queues=("acme-*",))) == [1]
    assert written(EventChoice(), *events, rights=EventRights(queues=())) == []
    assert written(EventChoice(), *events, rights=EventRights(prefix="acme")) == [1, 3]


def completed(seq: int, at: float) -> EncodedEvent:
    return event(EventKind.COMPLETED, at, seq, queue="mail", message_id=f"m{seq}")


def test_of_completed_messages_fifty_a_second_are_shown_and_the_others_counted() -> None:
    writer = EventWriter(EventChoice(everything=True), ALL)
    events = [completed(seq, AT + seq / 1000) for seq in range(1, 2001)]
    blocks = writer.write(events) + writer.end(2000)
    kinds = [data_of(block)["type"] for block in blocks]
    assert kinds.count("completed") == 3 * MOST_COMPLETED - 49  # the third second has one
    counts = [data_of(block)["payload"]["count"] for block in blocks if data_of(block)["type"] == "skipped"]
    assert sum(counts) + kinds.count("completed") == 2000


def test_places_never_go_back() -> None:
    writer = EventWriter(EventChoice(everything=True), ALL)
    events = [completed(seq, AT) for seq in range(1, 101)] + [event(at=AT, seq=101), completed(102, AT + 1)]
    blocks = writer.write(events) + writer.end(102)
    ids = [int(block.split(b"\n")[0].removeprefix(b"id: ")) for block in blocks]
    assert ids == sorted(ids)
    assert [data_of(block)["payload"].get("count") for block in blocks[-2:]] == [50, None]


def test_one_worker_with_a_wrong_clock_hides_nobody_elses() -> None:
    writer = EventWriter(EventChoice(everything=True), ALL)
    wrong = writer.write([completed(1, AT + 3600)])
    shown = [block for second in range(5) for block in writer.write([completed(10 + second, AT + second)])]
    assert len(wrong + shown) == 6
    back_and_forth = [completed(100 + number, AT + 3600 * (number % 2)) for number in range(1000)]
    kinds = [data_of(block)["type"] for block in writer.write(back_and_forth)]
    assert kinds.count("completed") <= 2 * MOST_COMPLETED


def test_the_messages_of_one_id_are_not_limited() -> None:
    events = [event(EventKind.COMPLETED, AT, seq, message_id="m") for seq in range(1, 101)]
    assert len(written(EventChoice(message="m"), *events)) == 100


def test_what_was_left_out_is_said_when_its_second_is_over() -> None:
    writer = EventWriter(EventChoice(everything=True), ALL)
    writer.write([completed(seq, AT) for seq in range(1, 53)])
    assert writer.flush(52, AT + 0.5) == []
    (said,) = writer.flush(60, AT + 1.0)
    assert said == wire.skipped(2, AT, 60)
    assert writer.flush(60, AT + 2.0) == []


def test_memory_keeps_the_newest_and_knows_how_far_it_reaches() -> None:
    recent = RecentEvents(10)
    recent.add([event(seq=11), completed(12, AT), event(seq=13)])
    assert [one.seq for one in recent.behind(10) or ()] == [11, 13]
    assert [one.seq for one in recent.behind(11) or ()] == [13]
    assert recent.behind(13) == []
    assert recent.behind(9) is None
    recent.add(event(seq=14 + number) for number in range(MOST_EVENTS))
    assert recent.behind(12) is None
    assert len(recent.behind(13) or ()) == MOST_EVENTS


def test_memory_is_bounded_in_bytes() -> None:
    recent = RecentEvents(0)
    recent.add(event(seq=1 + number, data={"ids": ["x" * 36] * 1000}) for number in range(100))
    kept = 100 - recent.begin
    assert 20 <= kept <= 50
    assert len(recent.behind(recent.begin) or ()) == kept
