"""What a delivery is, made of an announcement."""

from typing import Any

import msgspec
import pytest

from tenure.announcement import Announcement
from tenure.message import MessageState
from tenure.verdict import Reason
from tenure.webhooks.delivery import body_of, delivery_of, payload_of, webhook_id
from tenure.webhooks.targets import WebhookTarget

ORDERS = WebhookTarget("orders")


def ending(**changes: Any) -> Announcement:
    given: dict[str, Any] = {
        "id": "a", "queue": "mail", "task": "t", "targets": ("webhook:orders",), "ending": MessageState.COMPLETED,
        "ended_at": 1_767_225_600.25, "client": "acme", "result": b'{"n":1}',
    }  # fmt: skip
    return Announcement(**(given | changes))


def body(**changes: Any) -> dict[str, Any]:
    options = {name: changes.pop(name) for name in ("task_id", "public_url", "inline") if name in changes}
    return msgspec.json.decode(body_of(ending(**changes), **options), type=dict[str, Any])


def test_the_body_has_the_words_of_the_wire_format() -> None:
    assert body() == {
        "task_id": "a", "status": "completed", "result": {"n": 1}, "error": None, "error_code": None, "generation": 0,
        "ended_at": "2026-01-01T00:00:00.250Z", "result_url": None, "result_size": None,
    }  # fmt: skip


def test_a_failure_says_why_and_carries_no_traceback() -> None:
    reason = Reason("max_attempts", "gave up", "Traceback: secret", "ValueError")
    found = body(ending=MessageState.DEAD, reason=reason, result=None)
    assert (found["status"], found["error"], found["error_code"]) == ("failed", "gave up", "max_attempts")
    assert "secret" not in str(found)


def test_a_large_result_is_a_link_or_its_size() -> None:
    found = body(result=None, large_result=70_000, public_url="https://t.example.com", id="ns/a b")
    assert found["result"] is None
    assert found["result_size"] == 70_000
    assert found["result_url"] == "https://t.example.com/api/v1/messages/ns%2Fa%20b"
    assert body(result=None, large_result=70_000)["result_url"] is None
    assert body(inline=False)["result_size"] == 7


def test_another_id_for_the_receiver() -> None:
    assert body(task_id="uuid")["task_id"] == "uuid"


def test_the_result_arrives_byte_for_byte() -> None:
    raw = b'{"a":12345678901234567890,"b":1.10}'
    assert b'"result":' + raw in body_of(ending(result=raw))


@pytest.mark.parametrize(
    "changes", [{"id": "b"}, {"queue": "other"}, {"generation": 1}, {"id": "a\x1f0", "queue": "mai"}]
)
def test_the_webhook_id_is_another_one_for_another_ending(changes: dict[str, Any]) -> None:
    assert webhook_id(ending(**changes), ORDERS) != webhook_id(ending(), ORDERS)


def test_the_webhook_id_is_the_same_for_the_same_ending_and_receiver() -> None:
    same = webhook_id(ending(), ORDERS)
    assert webhook_id(ending(result=b"2", ended_at=9.0, place="7"), ORDERS) == same
    assert webhook_id(ending(), WebhookTarget("other")) != same
    assert webhook_id(ending(), WebhookTarget("orders", "https://a.example.com/")) != same


def test_a_delivery_is_a_message_of_the_reserved_queue() -> None:
    out = delivery_of(ending(), ORDERS, namespace=None, sent_at=5.0)
    message = out.message
    assert (message.queue, message.task, message.client) == ("webhooks", "webhook.deliver", "acme")
    assert message.announce == ()
    assert (message.correlation_id, message.parent_id) == ("a", "a")
    payload = payload_of(message)
    assert (payload.endpoint, payload.webhook_id, payload.url) == ("orders", message.id, None)
    assert bytes(payload.body) == body_of(ending())


def test_in_a_namespace_queue_and_id_are_of_it() -> None:
    message = delivery_of(ending(), ORDERS, namespace="ns", sent_at=5.0).message
    assert message.queue == "ns/webhooks"
    assert message.id == f"ns/{payload_of(message).webhook_id}"
