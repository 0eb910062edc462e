"""The envelope: a message as bytes, versioned, its payload left unread."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tenure.claim import digest
from tenure.envelope import VERSION, decode, encode
from tenure.errors import BodyUndecodable
from tenure.message import Message, Overrides

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.floats(0, 1e9)
BODY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
).map(lambda value: msgspec.Raw(msgspec.json.encode(value)))

MESSAGES = st.builds(
    Message,
    id=TEXT, queue=TEXT, task=TEXT, body=BODY, priority=st.integers(0, 9), key=st.none() | TEXT,
    client=st.none() | TEXT, correlation_id=st.none() | TEXT, parent_id=st.none() | TEXT,
    headers=st.dictionaries(TEXT, TEXT, max_size=3), sent_at=NUMBER, expires_at=st.none() | NUMBER,
    generation=st.integers(0, 100),
    overrides=st.builds(
        Overrides, lease_seconds=st.none() | NUMBER, max_attempts=st.none() | st.integers(1, 99),
        max_hold_seconds=st.none() | NUMBER,
    ),
)  # fmt: skip


@given(MESSAGES)
def test_what_is_encoded_is_decoded_again(message: Message) -> None:
    again = decode(encode(message))
    assert again == message
    assert bytes(again.body) == bytes(message.body)


def test_people_can_read_it() -> None:
    message = Message(id="m", queue="q", task="t", body=msgspec.Raw(b'{"a": 1}'))
    assert encode(message) == b'{"tenure":1,"id":"m","queue":"q","task":"t","body":{"a": 1}}'


@given(st.binary(max_size=60))
@example(b"")
@example(b"{}")
@example(b"null")
@example(b'{"tenure":1}')
@example(b'{"id":"m","queue":"q","task":"t","body":{}}')
@example(b'{"tenure":"x","id":"m"}')
@example(b'{"tenure":1,"id":5,"queue":"q","task":"t","body":{}}')
@example(b'\xff\xfe{"tenure":1}')
@example(b'{"tenure":1,"id":"\xff","queue":"q","task":"t","body":{}}')
def test_what_is_no_envelope_is_said_to_be_none(raw: bytes) -> None:
    with pytest.raises(BodyUndecodable) as caught:
        decode(raw)
    assert not caught.value.newer
    assert "not a Tenure envelope" in str(caught.value)


@pytest.mark.parametrize("body", [b'{"new_shape":true}', b'{"id":"m","queue":"q","task":"t","body":{}}'])
def test_a_newer_envelope_is_for_a_newer_worker(body: bytes) -> None:
    raw = b'{"tenure":%d,' % (VERSION + 1) + body[1:]
    with pytest.raises(BodyUndecodable) as caught:
        decode(raw)
    assert caught.value.newer
    assert "upgrade this worker" in str(caught.value)


def test_fields_that_a_newer_minor_release_adds_are_ignored() -> None:
    raw = b'{"tenure":1,"id":"m","queue":"q","task":"t","body":{},"colour":"blue"}'
    assert decode(raw).id == "m"


def test_a_payload_nested_beyond_all_reason_is_unreadable_and_kills_nobody() -> None:
    deep = b"[" * 200_000 + b"]" * 200_000
    message = Message(id="d", queue="q", task="t", body=msgspec.Raw(deep))
    with pytest.raises(BodyUndecodable):
        decode(encode(message))


def test_white_space_around_a_payload_makes_no_other_payload() -> None:
    """Else a keyed message would be in conflict with itself once it was read."""
    message = Message(id="m", queue="q", task="t", body=msgspec.Raw(b'{"x":2}\n'), key="k")
    assert digest(message) == digest(decode(encode(message)))
