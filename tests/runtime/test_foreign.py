"""Foreign messages: what a route gets, what it may say, and what is refused."""

import base64
import json
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tenure import BadArgument, Call, Tenure
from tenure.envelope import decode, encode, join, split
from tenure.errors import BadTask, BodyUndecodable
from tenure.foreign import Foreign, Router, read_task
from tenure.lease import Lease
from tenure.message import Message, Overrides
from tenure.runtime.ownership.routing import Routing
from tenure.verdict import Dead

TASK = {
    "task_id": "7f9c",
    "task_type": "ingest",
    "payload": {"filename": "document.pdf", "document_set": "southhaven"},
    "webhook_url": "https://api.example.com/internal/notify",
    "custom_ack_timeout": 60,
    "custom_max_attempts": 5,
    "dequeued_at": 1_700_000_000.5,
}


def make_app(**options: Any) -> Tenure:
    app = Tenure("memory://", **options)

    @app.task(queue="images")
    async def resize(image: str, width: int = 800) -> None: ...

    return app


def foreign(said: object, **fields: Any) -> Foreign:
    raw = said if isinstance(said, bytes) else json.dumps(said).encode()
    return Foreign(**{"queue": "images", "id": "sqs-1", "raw": raw} | fields)


def lent(raw: bytes, **fields: Any) -> Lease:
    usual: dict[str, Any] = {
        "id": "sqs-1",
        "queue": "images",
        "owner": "w/1",
        "fence": 1,
        "receipt": "",
        "seconds": 30,
        "deadline": 0,
    }
    return Lease(**usual | {"envelope": raw} | fields)


# --- what lies there ------------------------------------------------------------------------------------


def test_json_is_read_also_within_base64() -> None:
    said = {"image": "größe.png"}
    raw = json.dumps(said).encode()
    for form in (raw, base64.b64encode(raw), base64.encodebytes(raw * 1), b"  " + raw + b"\n"):
        one = foreign(form)
        assert one.json() == said
        assert one.raw == form
    assert foreign(b"1234").json() == 1234, "JSON first: it could be base64, too"


@pytest.mark.parametrize("raw", [b"", b"resize a.png", b"\xff\x00", b"abcd", b"{", b"[" * 100_000])
def test_what_is_no_json_is_said_to_be_none(raw: bytes) -> None:
    one = foreign(raw)
    assert isinstance(one.text, str)
    assert read_task(one) is None
    with pytest.raises(BodyUndecodable, match="sqs-1"):
        one.json()


def test_a_call_takes_the_whole_object_or_a_part_of_it() -> None:
    app = make_app()
    resize = app.find("resize")
    one = foreign({"image": "a.png", "of_no_interest": 1})
    assert json.loads(bytes(one.call(resize).body)) == one.json()
    assert json.loads(bytes(one.call(resize, {"image": "b.png"}).body)) == {"image": "b.png"}


# --- seed shapes ----------------------------------------------------------------------------------------


def test_a_task_with_type_and_payload_is_read() -> None:
    task = read_task(foreign(TASK))
    assert task is not None
    assert (task.type, task.id) == ("ingest", "7f9c")
    assert task.payload == TASK["payload"]
    assert task.options == {
        "key": "7f9c", "correlation_id": "7f9c", "lease": 60, "max_attempts": 5,
        "webhook": f"{TASK['webhook_url']} task_id=7f9c",
    }  # fmt: skip
    assert task.rest == {"dequeued_at": TASK["dequeued_at"]}


def test_the_other_words_for_it_are_read_and_what_is_custom_counts_more() -> None:
    task = read_task(foreign({"type": "agent", "ack_timeout": 30, "custom_ack_timeout": 90}))
    assert task is not None
    assert (task.type, task.payload, task.id, task.options) == ("agent", {}, None, {"lease": 90})
    short = read_task(foreign({"type": "agent", "ack_timeout": 30}))
    assert short is not None
    assert short.options == {"lease": 30}


@pytest.mark.parametrize("said", [[], "x", {}, {"task_type": 5}, {"task_type": "a", "payload": []}, {"payload": {}}])
def test_what_is_not_of_that_kind_is_none(said: object) -> None:
    assert read_task(foreign(said)) is None


def test_a_task_becomes_a_message_with_what_its_sender_decided() -> None:
    app = make_app()
    resize = app.find("resize")

    @app.on_foreign("images")
    def route(one: Foreign) -> Call[Any] | None:
        task = read_task(one)
        return task.call(resize) if task is not None else None

    raw = json.dumps({**TASK, "payload": {"image": "a.png"}}).encode()
    message = app._router.message(lent(raw, sent_at=5.0, generation=2))
    assert message == Message(
        id="sqs-1", queue="images", task="resize", body=msgspec.Raw(b'{"image":"a.png"}'), key="7f9c",
        correlation_id="7f9c", client="default", sent_at=5.0, generation=2,
        overrides=Overrides(lease_seconds=60.0, max_attempts=5),
        announce=(f"webhook:{TASK['webhook_url']} task_id=7f9c",),
    )  # fmt: skip


# --- routes ---------------------------------------------------------------------------------------------


def test_a_queue_of_its_own_counts_more_than_the_route_for_all() -> None:
    app = make_app()
    resize = app.find("resize")
    assert not app._router.knows("images")

    @app.on_foreign
    def every(_: Foreign) -> None: ...

    @app.on_foreign("images")
    def images(one: Foreign) -> Call[Any]:
        return resize.bind(one.attributes["name"])

    assert app._router.message(lent(b"x", queue="mail")) is None
    message = app._router.message(lent(b"x", attributes={"name": "a.png"}))
    assert message is not None
    assert bytes(message.body) == b'{"image":"a.png"}'


def test_a_queue_is_of_the_apps_namespace() -> None:
    app = make_app(namespace="shop")
    app.on_foreign("images")(lambda _: None)
    assert app._router.knows("shop/images")
    assert not app._router.knows("images")


def test_two_routes_for_one_queue_are_refused_and_so_is_what_cannot_be_one() -> None:
    app = make_app()
    app.on_foreign("images")(lambda _: None)
    with pytest.raises(BadTask, match="'images' have a route already"):
        app.on_foreign("images")(lambda _: None)

    async def route(_: Foreign) -> None: ...

    for odd in (route, 5):
        with pytest.raises(BadTask, match="plain function"):
            app.on_foreign("mail")(odd)  # type: ignore[type-var]


@pytest.mark.parametrize("options", [{"delay": 5}, {"priority": 9}, {"id": "x"}, {"queue": "mail"}, {"unique": True}])
def test_options_that_come_too_late_are_refused(options: Any) -> None:
    app = make_app()
    resize = app.find("resize")
    app.on_foreign("images")(lambda _: resize.bind("a").having(**options))
    with pytest.raises(BadArgument, match="is already in its queue"):
        app._router.message(lent(b"{}"))


def test_an_answer_that_is_no_call_is_refused() -> None:
    app = make_app()
    app.on_foreign("images")(lambda _: {"image": "a.png"})  # type: ignore[type-var]
    with pytest.raises(BadArgument, match=r"neither task\.bind"):
        app._router.message(lent(b"{}"))


# --- the envelope apart ---------------------------------------------------------------------------------


def test_an_envelope_that_was_split_is_joined_again() -> None:
    tricky = ',"body":null'
    message = Message(
        id=tricky, queue="q", task=f'"{tricky}', body=msgspec.Raw(b' {"a": [1, 2] } '), headers={"body": "null"}
    )
    head, body = split(message)
    assert body == b' {"a": [1, 2] } '
    again = decode(join(head, body))
    assert encode(msgspec.structs.replace(again, body=message.body)) == encode(message)


def test_without_a_route_the_reason_says_how_to_have_one() -> None:
    lease: Any = SimpleNamespace(queue="images")
    for router in (None, Router(None)):
        verdict = Routing(router, 3).read(lease, BodyUndecodable("it carries no version"))
        assert isinstance(verdict, Dead)
        assert verdict.reason.code == "body_undecodable"
        assert "app.on_foreign" in verdict.reason.text
