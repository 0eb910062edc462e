"""A post as stores keep it: what this version wrote, and what a newer one did."""

import msgspec

from tenure.notice import Post, PostKind
from tenure.rules.post_row import PostRow, posts_of, row_of


def _read(*raws: bytes, wall: float = 5.0) -> tuple[Post, ...]:
    return posts_of([msgspec.json.decode(raw, type=PostRow) for raw in raws], wall)


def test_every_field_survives() -> None:
    for post in (
        Post(kind=PostKind.STACK, name="m", at=1.5, by="ada", until=9.0),
        Post(kind=PostKind.PAUSED_SCHEDULE, name="nightly", at=0.0),
    ):
        assert _read(msgspec.json.encode(row_of(post))) == (post,)


def test_a_kind_that_is_not_known_is_left_out() -> None:
    known = msgspec.json.encode(row_of(Post(kind=PostKind.STACK, name="m", at=1.0)))
    newer = b'{"kind":"profile","name":"m","at":1.0,"seconds":30,"more":{}}'
    assert [post.kind for post in _read(newer, known, newer)] == [PostKind.STACK]


def test_fields_that_are_not_known_are_left_out() -> None:
    (post,) = _read(b'{"kind":"stack","name":"m","at":1.0,"more":{}}')
    assert post == Post(kind=PostKind.STACK, name="m", at=1.0)


def test_what_is_over_is_left_out_and_the_rest_is_in_order() -> None:
    raws = [b'{"kind":"stack","name":"b","until":5.0}', b'{"kind":"stack","name":"c","until":5.1}',
            b'{"kind":"stack","name":"a"}', b'{"kind":"paused_schedule","name":"z"}']  # fmt: skip
    assert [post.name for post in _read(*raws)] == ["z", "a", "c"]
