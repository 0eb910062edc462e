"""The columns of the table, as people write them; and what they cost."""

import pytest

from tenure.errors import BadArgument
from tenure.simulation.fleet import scaling_of
from tenure.simulation.policy import USUAL, PolicyKind, policy_of
from tenure.simulation.pricing import pricing_of


def test_a_policy_is_called_as_it_is_written() -> None:
    for text in ("fixed:600", "heartbeat:30", "learned", "lease:90", "extended:600:300:240"):
        assert policy_of(text).name == text
    assert policy_of("heartbeat").name == "heartbeat:30"
    assert [policy.name for policy in USUAL] == ["fixed:600", "fixed:90", "heartbeat:30", "learned"]


def test_only_a_loop_of_ones_own_has_no_ledger_and_only_the_heartbeat_beats() -> None:
    each = {
        kind: policy_of(text)
        for kind, text in zip(PolicyKind, ("fixed:1", "extended:9:6:2", "heartbeat", "learned", "lease:9"), strict=True)
    }
    assert [kind for kind, policy in each.items() if not policy.has_ledger] == [PolicyKind.FIXED, PolicyKind.EXTENDED]
    assert [kind for kind, policy in each.items() if policy.beats] == [PolicyKind.HEARTBEAT]


@pytest.mark.parametrize(
    "text",
    ["", "fixed", "lease", "fixed:0", "fixed:99999", "learned:3", "heartbeat:x", "magic:1", "extended",
     "extended:600", "extended:600:300",
             "extended:600:300:300", "extended:600:300:240:1", "extended:600:x:240"],
)  # fmt: skip
def test_a_bad_policy_is_refused(text: str) -> None:
    with pytest.raises(BadArgument, match="nothing was simulated"):
        policy_of(text)


def test_a_rule_for_scaling_is_called_as_it_is_written() -> None:
    assert scaling_of("visible:1500").name == "visible:1500"
    assert scaling_of("backlog").name == "backlog:600"
    assert scaling_of("visible:10m") == scaling_of("visible:600")
    assert scaling_of("backlog:0s").cooldown_seconds == 0
    with pytest.raises(BadArgument, match="as 30, 30s, 5m or 2h"):
        scaling_of("visible:soon")
    for text in ("", "both", "visible:x", "backlog:-1"):
        with pytest.raises(BadArgument, match="nothing was simulated"):
            scaling_of(text)


def test_a_timeout_that_is_extended_is_written_as_three_spans() -> None:
    policy = policy_of("extended:10m:5m:4m")
    assert (policy.name, policy.lease_seconds) == ("extended:600:300:240", 600.0)
    assert policy.plan is not None
    assert (policy.plan.extension_seconds, policy.plan.interval_seconds) == (300.0, 240.0)
    assert not policy.beats, "it is the loop that beats, not the worker's heartbeat"


def test_prices_are_a_list_or_two_figures() -> None:
    assert pricing_of("sqs").requests == pytest.approx(0.40)
    assert pricing_of("sqs-fifo").requests == pytest.approx(0.50)
    own = pricing_of("0.40:0")
    assert (own.requests, own.writes) == (0.40, 0.0)
    for text in ("", "azure", "0.4", "x:1", "-1:0"):
        with pytest.raises(BadArgument, match="nothing was simulated"):
            pricing_of(text)
