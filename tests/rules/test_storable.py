"""What can be stored: a table of cases for key-values and posts."""

from collections.abc import Callable

import pytest

from tenure.errors import BadArgument
from tenure.key_value import MOST_BYTES, MOST_NAME
from tenure.notice import MOST_POSTS, Post, PostKind
from tenure.rules import storable

KINDS = {
    "token": True, "server.secret": True, "stack-answer": True, "A1": True, "1": True, "x" * 50: True,
    "": False, "x" * 51: False, "-a": False, ".a": False, "a b": False, "a/b": False, "a:b": False, "a_b": False,
    "ä": False, "a\n": False, "\n": False, "a\0": False, "*": False, "\ud800": False,
}  # fmt: skip
NAMES = {
    "a": True, "A b": True, "ä/#?%*|!": True, "x" * MOST_NAME: True, "\U00020000" * MOST_NAME: True, " ": True,
    "": False, "x" * (MOST_NAME + 1): False, "\n": False, "a\0b": False, "\x7f": False, "\x9b": False,
    "\u2028": False, "a\ud800": False,
}  # fmt: skip
MOMENTS = {
    0.0: True, -1.0: True, 1e12: True, 4e9: True, 1.1e12: False, float("inf"): False, float("-inf"): False,
    float("nan"): False,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=ascii)
def test_kinds(kind: str) -> None:
    assert storable.is_kind(kind) is KINDS[kind]
    assert storable.can_be_kept(kind, "a") is KINDS[kind]
    assert _is_refused(kind, "a") is not KINDS[kind]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names(name: str) -> None:
    assert storable.can_be_kept("token", name) is NAMES[name]
    assert storable.can_be_posted(name) is NAMES[name]
    assert _is_refused("token", name) is not NAMES[name]
    assert _is_refused_post(Post(kind=PostKind.STACK, name=name, at=1.0)) is not NAMES[name]
    if name:
        assert _is_refused_post(Post(kind=PostKind.STACK, name="a", at=1.0, by=name)) is not NAMES[name]


@pytest.mark.parametrize(("moment", "is_one"), MOMENTS.items(), ids=repr)
def test_moments(moment: float, is_one: bool) -> None:
    assert storable.is_moment(moment) is is_one
    assert _is_refused("token", "a", expires_at=moment) is not is_one
    assert _is_refused_post(Post(kind=PostKind.STACK, name="a", at=moment)) is not is_one
    assert _is_refused_post(Post(kind=PostKind.STACK, name="a", at=1.0, until=moment)) is not is_one


def test_sizes() -> None:
    storable.check_key_value("token", "a", b"x" * MOST_BYTES, None)
    with pytest.raises(
        BadArgument, match=r"^token 'a' has 32,769 bytes, and a store keeps 32,768 at most; nothing was"
    ):
        storable.check_key_value("token", "a", b"x" * (MOST_BYTES + 1), None)


def test_a_board_has_room_for_so_many_posts() -> None:
    storable.check_room(MOST_POSTS - 1)
    with pytest.raises(BadArgument, match="500 posts are on the board already"):
        storable.check_room(MOST_POSTS)


def _is_refused(kind: str, name: str, expires_at: float | None = None) -> bool:
    return _raises("nothing was stored", lambda: storable.check_key_value(kind, name, b"{}", expires_at))


def _is_refused_post(post: Post) -> bool:
    return _raises("nothing was posted", lambda: storable.check_post(post))


def _raises(what: str, check: Callable[[], None]) -> bool:
    try:
        check()
    except BadArgument as error:
        return what in str(error)
    return False
