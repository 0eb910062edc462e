"""Weights of clients."""

import pytest

from tenure import BadArgument
from tenure.notice import Post, PostKind
from tenure.rules.client_weights import (
    by_queue,
    check_weight,
    in_force,
    operator_weights,
    post_of,
    posts_of,
    weight_of,
    weights_from,
)


def test_a_setting_names_clients_and_numbers() -> None:
    assert weights_from(["acme=3", " demo=0.5"]) == {"acme": 3.0, "demo": 0.5}


@pytest.mark.parametrize(
    "text", ["acme", "acme=", "acme=x", "Acme=1", "acme=0", "acme=-1", "acme=101", "acme=nan", "a=1,a=2", "", "a=1,"]
)
def test_what_is_no_weight_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the setting says what it takes
        weights_from(text.split(","))


@pytest.mark.parametrize("weight", [0, -1, 101, float("nan"), float("inf"), True, "3", None])
def test_a_weight_is_a_number_within_bounds(weight: object) -> None:
    with pytest.raises(BadArgument, match=r"is not a number from 0\.01 to 100"):
        check_weight(weight)


def test_the_weight_of_a_queue_is_that_of_its_client_in_any_namespace() -> None:
    weights = by_queue({"acme": 3.0}) | {"shop/demo-tasks": 2.0}
    queues = ("acme-tasks", "shop/acme-tasks", "demo-tasks", "shop/demo-tasks", "acme")
    assert [weight_of(queue, weights) for queue in queues] == [3.0, 3.0, 1.0, 2.0, 1.0]
    assert weight_of("acme-tasks", {}) == 1.0


def test_the_newest_post_of_a_client_counts_over_the_setting() -> None:
    acme = "acme-tasks"
    posts = [
        post_of(acme, 5.0, 20.0, "bob", "b"),
        post_of(acme, 3.0, 10.0, "alice", "a"),
        Post(kind=PostKind.CLIENT_WEIGHT, name="odd-tasks@c", at=30.0, data="many"),
        Post(kind=PostKind.CLIENT_WEIGHT, name="unmarked", at=30.0, data="2"),
        Post(kind=PostKind.STACK, name="demo-tasks@d", at=30.0, data="2"),
    ]
    assert operator_weights(posts) == {acme: 5.0}
    assert in_force({"acme": 1.0, "demo": 2.0}, operator_weights(posts)) == {acme: 5.0, "demo-tasks": 2.0}
    assert [post.at for post in posts_of(acme, posts)] == [10.0, 20.0]
