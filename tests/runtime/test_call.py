"""A call and the options that one submit may set."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tenure import BadArgument, Message
from tenure.call import Call, outgoing, seconds
from tenure.message import Overrides


class Target(msgspec.Struct, frozen=True):
    name: str = "work"
    queue: str = "mail"


def out(parent: Message | None = None, **options: Any) -> Any:
    call: Call[object] = Call(Target(), msgspec.Raw(b'{"a":1}'))
    return outgoing(call, options, id="new", client="acme", sent_at=9.0, parent=parent)  # type: ignore[arg-type]


def test_without_options_a_call_is_a_plain_message() -> None:
    sent = out()
    assert sent.message == Message(
        id="new", queue="mail", task="work", body=msgspec.Raw(b'{"a":1}'), client="acme", sent_at=9.0
    )
    assert sent.delay_seconds == 0.0


def test_every_option_has_its_place() -> None:
    sent = out(
        priority=9, delay=timedelta(minutes=1), key="k", lease=60, max_attempts=2, max_hold=timedelta(hours=1),
        id="own", headers={"a": "b"}, correlation_id="c",
    )  # fmt: skip
    message = sent.message
    assert (message.id, message.priority, message.key, message.headers) == ("own", 9, "k", {"a": "b"})
    assert (message.correlation_id, sent.delay_seconds) == ("c", 60.0)
    assert message.overrides == Overrides(lease_seconds=60.0, max_attempts=2, max_hold_seconds=3600.0)


def test_a_parent_hands_on_its_correlation() -> None:
    first = out(id="first").message
    child = out(parent=first).message
    grandchild = out(parent=child).message
    assert (child.parent_id, child.correlation_id) == ("first", "first")
    assert grandchild.correlation_id == "first"
    assert out(parent=first, correlation_id="own").message.correlation_id == "own"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("priority", 10),
        ("priority", -1),
        ("priority", 5.0),
        ("priority", True),
        ("delay", -1),
        ("delay", float("nan")),
        ("delay", "1"),
        ("lease", 0),
        ("lease", float("inf")),
        ("max_hold", 0),
        ("max_attempts", 0),
        ("max_attempts", 1.5),
        ("key", 7),
        ("id", 7),
        ("correlation_id", b"x"),
        ("headers", {"a": 1}),
        ("headers", {1: "a"}),
        ("priorty", 9),
    ],
    ids=str,
)
def test_an_option_that_no_worker_could_read_is_refused_at_the_door(name: str, value: Any) -> None:
    with pytest.raises(BadArgument) as caught:
        out(**{name: value})
    assert name in str(caught.value)
    assert "nothing was sent" in str(caught.value)


@pytest.mark.parametrize("name", ["key", "id"])
def test_an_empty_key_is_a_mistake_not_none(name: str) -> None:
    with pytest.raises(BadArgument, match="empty"):
        out(None, **{name: ""})


def test_durations_are_seconds_or_timedeltas() -> None:
    assert seconds(5, "x") == 5.0
    assert seconds(timedelta(milliseconds=1500), "x") == 1.5
    with pytest.raises(BadArgument, match="from 2 seconds to ten years"):
        seconds(1, "x", least=2.0)
    for endless in (1e13, float("inf"), float("nan")):
        with pytest.raises(BadArgument, match="ten years"):
            seconds(endless, "x")
