"""Names of queues, within a namespace and without one."""

import pytest

from tenure import Tenure
from tenure.client.operations.naming import full_name, near, short_name
from tenure.errors import BadArgument


def test_a_queue_of_a_namespace_may_be_written_both_ways() -> None:
    app = Tenure("memory://", namespace="shop")
    assert full_name(app.operate.access, "slow") == full_name(app.operate.access, "shop/slow") == "shop/slow"
    assert short_name(app.operate.access, "slow") == short_name(app.operate.access, "shop/slow") == "slow"


def test_without_a_namespace_every_queue_is_as_it_is_written() -> None:
    app = Tenure("memory://")
    assert full_name(app.operate.access, "slow") == short_name(app.operate.access, "slow") == "slow"
    assert full_name(app.operate.access, "shop/slow") == "shop/slow"


@pytest.mark.parametrize("name", ["", " slow", "a\nb", "other/slow"])
def test_what_cannot_name_a_queue_of_the_app_is_refused(name: str) -> None:
    with pytest.raises(BadArgument, match="nothing was changed"):
        full_name(Tenure("memory://", namespace="shop").operate.access, name)


def test_only_what_is_alike_is_guessed() -> None:
    assert near("slwo", ["slow", "default-tasks"]) == "; did you mean 'slow'?"
    assert near("nowhere", ["other"]) == ""
