"""Cursors: what was written is read, anything else is refused."""

import base64

import msgspec
import pytest

from tenure.errors import BadArgument
from tenure.rules import cursor


class _Place(msgspec.Struct, array_like=True, omit_defaults=True):
    number: int
    queue: str
    mark: str = ""


class _Other(msgspec.Struct):
    offset: int


PLACES = (
    _Place(0, ""),
    _Place(3, "mail", "17 4"),
    _Place(-1, "\N{SNOWMAN}", "x" * 500),
    _Place(10**12, 'quo"te\\', "/+=-_"),
)


@pytest.mark.parametrize("place", PLACES)
def test_a_cursor_is_text_for_an_address_and_reads_back(place: _Place) -> None:
    text = cursor.write(place)
    assert text.isascii()
    assert not set(text) & set("+/=&? ")
    assert cursor.read(text, _Place) == place


WRONG = {
    "text": "garbled",
    "a sign that is no base64": "!!!",
    "no ASCII": "\N{SNOWMAN}",
    "NUL": "\0",
    "cut": cursor.write(PLACES[1])[:-3],
    "cut to one sign": cursor.write(PLACES[1])[:1],
    "another value": cursor.write(_Other(3)),
    "no JSON": base64.urlsafe_b64encode(b"\xff\x00").decode(),
    "another type": base64.urlsafe_b64encode(b'["x",1]').decode(),
    "JSON, and more": base64.urlsafe_b64encode(b'[0,""] and more').decode(),
    "as it is": '[0,"mail"]',
}


@pytest.mark.parametrize("what", WRONG)
def test_anything_else_is_refused(what: str) -> None:
    with pytest.raises(BadArgument, match="was not made by this store; nothing was read"):
        cursor.read(WRONG[what], _Place)


def test_a_refusal_shows_the_beginning_of_a_long_cursor() -> None:
    assert len(str(cursor.refused("x" * 10_000))) < 200
