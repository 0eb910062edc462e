"""The limits that operators set: the newest counts, over the code's, field by field."""

from tenure.limit import Limit
from tenure.notice import Post, PostKind
from tenure.rules.operator_limits import every_limit, in_force, operator_limits, post_of


def test_the_newest_of_a_queue_counts() -> None:
    posts = [
        post_of("mail", Limit(5), 10.0, "alice", "b"),
        post_of("mail", Limit(2), 20.0, "bob", "a"),
        post_of("slow", Limit(1), 5.0, "alice", "c"),
    ]
    found = operator_limits(posts)
    assert (found["mail"].limit, found["mail"].by) == (Limit(2), "bob")
    assert found["slow"].limit == Limit(1)
    assert len(every_limit(posts)) == 3


def test_what_cannot_be_read_and_other_posts_are_left_out() -> None:
    posts = [
        Post(kind=PostKind.LIMIT, name="mail@a", at=1.0, data="?"),
        Post(kind=PostKind.LIMIT, name="mail", at=1.0),
        Post(kind=PostKind.STACK, name="mail@a", at=1.0),
    ]
    assert operator_limits(posts) == {}


def test_an_operators_limit_counts_instead_of_the_codes_where_it_says_something() -> None:
    operators = operator_limits(
        [post_of("mail", Limit(running=2), 1.0, "", "a"), post_of("other", Limit(per_second=1.0), 1.0, "", "b")]
    )
    assert in_force({"mail": Limit(5, 10.0), "slow": Limit(1)}, operators) == {
        "mail": Limit(2, 10.0),
        "slow": Limit(1),
        "other": Limit(per_second=1.0),
    }
