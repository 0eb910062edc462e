"""What is shown to nobody, whatever their scopes."""

from typing import Any

import msgspec
import pytest

from tenure import Tenure
from tenure.config import Settings
from tenure.server.principal import AccessScope
from tenure.server.redaction import REDACTED, Redaction
from tenure.server.route import Ask, Reply, Route
from tenure.testing.virtual import VirtualClock

from .asking import serving

NAMES = ("password", "token", "authorization", "api_key")


def redacted(value: Any) -> Any:
    return msgspec.json.decode(Redaction(NAMES).redact(msgspec.json.encode(value)))


@pytest.mark.parametrize(
    ("key", "is_hidden"),
    [("password", True), ("PASSWORD", True), ("user_password", True), ("apiToken", True), ("X-Token", True),
     ("Authorization", True), ("api_key", True), ("apiKey", True), ("my-api-key-2", True), ("tokens", False),
     ("key", False), ("api", False), ("passwords_changed", False), ("id", False), ("", False)],
)  # fmt: skip
def test_a_name_means_every_key_that_has_it_as_a_word(key: str, is_hidden: bool) -> None:
    assert Redaction(NAMES).hides(key) is is_hidden
    assert redacted({"body": {key: 1}}) == {"body": {key: REDACTED if is_hidden else 1}}


def test_it_looks_wherever_messages_carry_something_and_nowhere_else() -> None:
    secret = {"password": "x"}
    hidden = {"password": REDACTED}
    answer: dict[str, Any] = {
        "token": "an answer's own field", "body": {"a": [secret]}, "result": secret,
        "headers": {"Token": "x", "b": "c"}, "message": {"body": secret}, "messages": [{"payload": secret}],
        "raw": '{"body":{"password":"x"}}', "kept_payload": {"text": '{"password":"x"'},
        "reason": {"text": "no password here"},
        "changes": [{"path": "$.password", "before": "x", "after": "y"}, {"path": "$.a", "before": 1, "after": 2}],
    }  # fmt: skip
    assert redacted(answer) == {
        **answer, "body": {"a": [hidden]}, "result": hidden, "headers": {"Token": REDACTED, "b": "c"},
        "message": {"body": hidden}, "messages": [{"payload": hidden}], "raw": '{"body":{"password":"[redacted]"}}',
        "kept_payload": {"text": REDACTED},
        "changes": [{"path": "$.password", "before": REDACTED, "after": REDACTED}, answer["changes"][1]],
    }  # fmt: skip


def test_what_has_none_of_the_names_stays_as_it_is_to_the_last_digit() -> None:
    raw = b'{"body": {"n": 12345678901234567890123, "x": 1.10}}'
    assert Redaction(NAMES).redact(raw) is raw
    assert b"12345678901234567890123" in Redaction(NAMES).redact(raw.replace(b"x", b"token"))
    assert Redaction(()).redact(raw) is raw
    assert b"1e999" in Redaction(NAMES).redact(b'{"body": {"n": 1e999, "token": 1}}')


async def test_answers_of_routes_are_redacted_unless_they_hand_out_a_secret(virtual_clock: VirtualClock) -> None:
    async def show(ask: Ask[None, None]) -> Reply:
        return Reply(value={"body": {"pin": 1, "token": 2}})

    route = Route(method="GET", path="/shown", scope=AccessScope.READ, handler=show, summary="Show")
    app = Tenure("memory://", clock=virtual_clock, settings=Settings(server_redact=("pin",)))
    async with serving(app, routes=(route,)) as (_, client):
        assert (await client.get("/api/v1/shown")).json() == {"body": {"pin": REDACTED, "token": 2}}
        made = await client.post("/api/v1/tokens", json={"name": "pin", "scopes": ["read"]})
        assert made.json()["token"].startswith("tnr_")


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5_000, "123456789012345678901234567890", "1e-999"])
def test_a_number_that_no_program_holds_stays_as_it_was_written(number: str) -> None:
    encoded = b'{"sent_at":1.5,"body":{"token":"x","n":%s,"m":0.25}}' % number.encode()
    shown = Redaction(NAMES).redact(encoded)
    assert shown.startswith(b'{"sent_at":1.5,"body":{"token":"[redacted]","n":')
    assert shown.endswith(b',"m":0.25}}')
    if number != "1e-999":  # fits a float: it is 0
        assert number.encode() in shown


def test_the_deepest_payload_is_redacted_too() -> None:
    deep: Any = {"token": "x"}
    for _ in range(249):
        deep = [{"a": deep}]  # 499 levels: more are not sent
    shown = Redaction(NAMES).redact(msgspec.json.encode({"body": deep}))
    assert shown.count(b"[redacted]") == 1
    assert b'"x"' not in shown
    hopeless = b'{"body":' + b'{"a":' * 900 + b'{"token":"secret"}' + b"}" * 901
    assert b"secret" not in Redaction(NAMES).redact(hopeless)
