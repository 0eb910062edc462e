"""How a copy stands in a queue message (`copy_text.py`): what is written is read again, in every form."""

import base64
import json

import msgspec
import pytest

from tenure.adapters.azure import copy_text, wire
from tenure.delivery_queue import Attribute, OutgoingCopy, PhysicalQueue
from tenure.envelope import encode, join, split
from tenure.message import Message

_MAIL = PhysicalQueue("mail", 0)
_ETAG = "W/\"datetime'2026-01-01T00%3A00%3A00.1234567Z'\""
_MESSAGE = Message(
    id="m1", queue="mail", task="t", body=msgspec.Raw(b'{"a": [1 ], "row": "\\"}", "id": "theirs"}'), key="k"
)


def _copy(body: str, head: str = "", version: str = _ETAG, beside: dict[str, Attribute] | None = None) -> OutgoingCopy:
    return OutgoingCopy(_MAIL, "m1", body, head=head, version=version, attributes=beside or {})


@pytest.mark.parametrize("encoding", ["plain", "base64"])
@pytest.mark.parametrize("version", [_ETAG, ""])
def test_an_envelope_comes_back_byte_for_byte_and_its_version_apart(encoding: str, version: str) -> None:
    body = encode(_MESSAGE).decode()
    text = copy_text.write(_copy(body, version=version), encoding)
    said = copy_text.read(text)
    assert (said.id, said.body, said.head, said.version) == ("m1", body, "", version)
    assert text.startswith("{") == (encoding == "plain")


@pytest.mark.parametrize("encoding", ["plain", "base64"])
def test_the_plain_form_is_the_payload_with_one_key_more(encoding: str) -> None:
    head, body = split(_MESSAGE)
    text = copy_text.write(_copy(body.decode(), head.decode()), encoding)
    shown = json.loads(text if encoding == "plain" else base64.b64decode(text))
    assert {name: value for name, value in shown.items() if name != "tenure"} == json.loads(body)
    said = copy_text.read(text)
    assert (said.id, said.version) == ("m1", _ETAG)
    assert join(said.head.encode(), said.body.encode()) == encode(_MESSAGE)


def test_both_forms_are_read_by_the_other_core_too() -> None:
    head, body = split(_MESSAGE)
    for copy in (_copy(encode(_MESSAGE).decode()), _copy(body.decode(), head.decode())):
        said = wire.read(copy_text.write(copy, "plain"))
        assert (said.id, said.is_foreign) == ("m1", False)
        assert said.raw is not None
        assert msgspec.json.decode(said.raw, type=Message) == _MESSAGE


@pytest.mark.parametrize("body", ["[1]", '"text"', '{"tenure": 1}', "no json"])
def test_what_the_plain_form_has_no_room_for_is_refused(body: str) -> None:
    head, _ = split(_MESSAGE)
    with pytest.raises(copy_text.Unfit, match="payload"):
        copy_text.write(_copy(body, head.decode()), "plain")


@pytest.mark.parametrize(
    "text",
    ["", "hello", "[1, 2]", '{"a": 1}', '{"tenure": "theirs", "a": 1}', '{"tenure": {"mine": 1}}', "aGVsbG8=", '{"id'],
)
def test_a_text_that_is_not_ours_comes_as_it_is_and_carries_its_id_after_a_redrive(text: str) -> None:
    said = copy_text.read(text)
    assert (said.id, said.body) == (None, text)
    again = copy_text.read(copy_text.write(_copy(text, version=""), "plain"))
    assert again.id == "m1"
    assert again.body == text or json.loads(again.body) == json.loads(text)


def test_an_object_in_base64_that_is_not_ours_stays_in_base64() -> None:
    text = base64.b64encode(b'{"a": 1}').decode()
    again = copy_text.write(_copy(text, version=""), "plain")
    assert json.loads(base64.b64decode(again)) == {"a": 1, "tenure": {"foreign": "m1"}}
    assert copy_text.read(again).body == text


def test_what_stood_beside_a_body_comes_back() -> None:
    beside = {"kind": Attribute("String", "photo")}
    said = copy_text.read(copy_text.write(_copy("text\n\0", beside=beside), "plain"))
    assert (said.id, said.body, said.attributes) == ("m1", "text\n\0", beside)


def test_a_damaged_envelope_still_tells_its_id() -> None:
    text = '{"tenure":1,"id":"m1","queue":\x7f broken'
    said = copy_text.read(text)
    assert (said.id, said.body) == ("m1", text)


def test_a_copy_without_room_for_its_version_goes_without() -> None:
    spare = wire.MOST - len(encode(_MESSAGE)) - 10
    large = msgspec.structs.replace(_MESSAGE, body=msgspec.Raw(b'{"a":"' + b"x" * spare + b'"}'))
    body = encode(large).decode()
    assert wire.MOST - len(_ETAG) < len(body) <= wire.MOST
    said = copy_text.read(copy_text.write(_copy(body), "plain"))
    assert (said.body, said.version) == (body, "")


def test_a_text_without_room_for_its_id_is_refused() -> None:
    with pytest.raises(copy_text.Unfit, match="no room"):
        copy_text.write(_copy("x" * wire.MOST, version=""), "plain")
