"""A call and the options that one submit may set."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from tenure import BadArgument, Message
from tenure.message import Overrides
from tenure.rules.arguments import seconds
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Call
from tenure.tasks.task_address import TaskAddress


class Target(msgspec.Struct, frozen=True):
    name: str = "work"
    queue: str = "mail"
    webhook: str | None = None
    follows_client: bool = False


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
        ("headers", "x"),
        ("priorty", 9),
        ("at", datetime(2030, 1, 1)),  # noqa: DTZ001 - naive on purpose
        ("at", 12.0),
        ("at", datetime(2200, 1, 1, tzinfo=UTC)),
        ("expires", datetime(2030, 1, 1)),  # noqa: DTZ001
        ("expires", datetime(1970, 1, 1, tzinfo=UTC)),
        ("expires", 0),
        ("unique", ""),
        ("unique", False),
        ("unique", 7),
        ("unique_window", 60),
    ],
    ids=str,
)
def test_an_option_that_no_worker_could_read_is_refused_at_the_door(name: str, value: Any) -> None:
    with pytest.raises(BadArgument) as caught:
        out(**{name: value})
    assert name in str(caught.value)
    assert "nothing was sent" in str(caught.value).lower()


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


# --- when -----------------------------------------------------------------------------------------------


def test_at_is_a_moment_in_any_zone() -> None:
    moment = datetime(1970, 1, 1, 2, 0, 39, tzinfo=timezone(timedelta(hours=2)))
    assert out(at=moment).delay_seconds == 30.0


def test_a_moment_that_has_passed_is_now() -> None:
    assert out(at=datetime(1970, 1, 1, tzinfo=UTC)).delay_seconds == 0.0


def test_a_naive_moment_is_refused_with_what_to_write() -> None:
    with pytest.raises(BadArgument, match=r"no time zone.*tzinfo=UTC.*nothing was sent"):
        out(at=datetime(2030, 1, 1))  # noqa: DTZ001 - naive on purpose


def test_delay_and_at_together_are_refused() -> None:
    with pytest.raises(BadArgument, match="give one of them"):
        out(at=datetime(2030, 1, 1, tzinfo=UTC), delay=1)


def test_expires_is_a_duration_or_a_moment() -> None:
    assert out(expires=timedelta(minutes=1)).message.expires_at == 69.0
    assert out(expires=60).message.expires_at == 69.0
    assert out(expires=datetime(1970, 1, 1, 0, 0, 20, tzinfo=UTC)).message.expires_at == 20.0


def test_what_would_expire_before_it_may_run_is_refused() -> None:
    with pytest.raises(BadArgument, match="not after the moment"):
        out(expires=60, delay=60)


# --- unique ---------------------------------------------------------------------------------------------


def test_unique_is_a_word_or_the_payload() -> None:
    word, payload = out(unique="site", unique_window=60), out(unique=True)
    assert (word.message.unique, word.unique_seconds) == ("word:site", 60.0)
    assert payload.message.unique.startswith("payload:")
    assert payload.unique_seconds is None
    assert out(unique=True).message.unique == payload.message.unique
    # A word that looks like a payload's is still a word.
    assert out(unique=payload.message.unique).message.unique != payload.message.unique


# --- options of a call's own ----------------------------------------------------------------------------


def test_a_call_may_bring_options_and_submit_overrules_them() -> None:
    call: Call[object] = Call(Target(), msgspec.Raw(b"{}"))
    dressed = call.having(key="a", priority=1).having(priority=2)
    sent = outgoing(dressed, {"priority": 9}, id="new", client=None, sent_at=9.0)
    assert (sent.message.key, sent.message.priority) == ("a", 9)
    assert outgoing(dressed, {}, id="new", client=None, sent_at=9.0).message.priority == 2
    assert call.options == {}


def test_an_id_that_the_sender_chose_belongs_to_its_namespace() -> None:
    call: Call[object] = Call(Target(queue="blue/mail"), msgspec.Raw(b"{}"))
    assert outgoing(call, {"id": "7"}, id="new", client=None, sent_at=9.0).message.id == "blue/7"
    assert outgoing(call, {"id": "blue/7"}, id="new", client=None, sent_at=9.0).message.id == "blue/7"
    assert out(id="7").message.id == "7"


@pytest.mark.parametrize(
    ("word", "meant"), [("countdown", "delay"), ("eta", "at"), ("max_retries", "max_attempts"), ("dely", "delay")]
)
def test_words_of_other_libraries_and_typing_errors_are_understood(word: str, meant: str) -> None:
    with pytest.raises(BadArgument, match=rf"did you mean {meant}\?. Nothing was sent"):
        out(None, **{word: 1})


def test_a_call_checks_its_own_options_where_they_are_written() -> None:
    call: Call[object] = Call(Target(), msgspec.Raw(b"{}"))
    with pytest.raises(BadArgument, match="did you mean priority"):
        call.having(prioriti=3)  # type: ignore[call-arg]


def test_a_message_may_go_to_another_queue_of_its_namespace() -> None:
    assert out(queue="slow").message.queue == "slow"
    call: Call[object] = Call(Target(queue="blue/mail"), msgspec.Raw(b"{}"))
    assert outgoing(call, {"queue": "slow"}, id="new", client=None, sent_at=9.0).message.queue == "blue/slow"
    for name in ("red/slow", "", "a b", "ü", 7):
        with pytest.raises(BadArgument, match="cannot name a queue"):
            out(queue=name)


@pytest.mark.parametrize("id", ["a\nb", " a", "a\x1b[0m"])
def test_an_id_that_cannot_be_seen_or_typed_is_refused(id: str) -> None:
    with pytest.raises(BadArgument, match="unprintable characters"):
        out(id=id)


async def test_a_call_without_an_app_cannot_be_sent() -> None:
    call: Call[object] = Call(Target(), msgspec.Raw(b"{}"))
    with pytest.raises(BadArgument, match="belongs to no app here"):
        await call.submit()


def test_a_task_without_a_queue_of_its_own_goes_to_its_clients_queue() -> None:
    for namespace in ("", "shop/"):
        call: Call[object] = Call(TaskAddress("work", f"{namespace}web-tasks", None, True), msgspec.Raw(b"1"))
        sent = outgoing(call, {"client": "acme"}, id="new", client="web", sent_at=9.0).message
        assert (sent.client, sent.queue) == ("acme", f"{namespace}acme-tasks")
        own = outgoing(call, {}, id="new", client="web", sent_at=9.0).message
        assert (own.client, own.queue) == ("web", f"{namespace}web-tasks")
        named = outgoing(call, {"client": "acme", "queue": "mail"}, id="new", client="web", sent_at=9.0).message
        assert (named.client, named.queue) == ("acme", f"{namespace}mail")
        bound = outgoing(call.having(client="acme"), {}, id="new", client="web", sent_at=9.0).message
        assert (bound.client, bound.queue) == ("acme", f"{namespace}acme-tasks")


def test_a_task_with_a_queue_stays_there_whoever_the_client_is() -> None:
    message = out(client="demo").message
    assert (message.client, message.queue) == ("demo", "mail")


def test_a_hand_off_stays_in_the_queue_of_its_parents_client() -> None:
    call: Call[object] = Call(TaskAddress("work", "web-tasks", None, True), msgspec.Raw(b"1"))
    parent = outgoing(call, {"client": "acme"}, id="first", client="web", sent_at=9.0).message
    child = outgoing(call, {}, id="next", client=parent.client, sent_at=9.0, parent=parent).message
    assert (child.client, child.queue) == ("acme", "acme-tasks")
    # The parent came by another queue: its client's may be one that no worker serves.
    elsewhere = msgspec.structs.replace(parent, queue="jobs")
    child = outgoing(call, {}, id="next", client=elsewhere.client, sent_at=9.0, parent=elsewhere).message
    assert (child.client, child.queue) == ("acme", "web-tasks")


@pytest.mark.parametrize("name", ["", "a.b", "a/b", "..", "zoë", "Acme", "a" * 64, None, 5])
def test_what_cannot_name_a_client_is_refused_before_anything_is_sent(name: Any) -> None:
    with pytest.raises(BadArgument, match=r"cannot name a client: .* at most 50 characters. Nothing was sent"):
        out(client=name)
