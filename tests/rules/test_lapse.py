"""A lapsed lease: what it counts, where the message goes, and what its history says."""

import pytest
from tests.rules.lapse_cases import AT, CASES, Case

from tenure.message import Counters
from tenure.rules import lapse as rule


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_lapse_is_counted_as_the_table_says(case: Case) -> None:
    owner = case.owner if case.knows_owner else None
    found = rule.lapse(
        case.counters,
        owner=owner,
        has_presence=case.has_presence,
        was_touched=case.was_touched,
        max_attempts=case.max_attempts,
        at=AT,
    )
    assert found == case.expected


def test_an_owners_name_is_never_read_as_a_template() -> None:
    found = rule.lapse(Counters(1), owner="{limit}%1", has_presence=False, was_touched=True, max_attempts=3, at=AT)
    assert found.reason is not None
    assert found.reason.text == "{limit}%1 let the lease end without settling the message"


@pytest.mark.parametrize(
    ("crashes", "lost", "alone"),
    [(0, 0, False), (1, 2, False), (2, 0, True), (0, 3, True), (5, 5, True)],
)
def test_two_crashes_or_three_losses_make_it_run_alone(crashes: int, lost: int, *, alone: bool) -> None:
    assert rule.must_run_alone(Counters(crashes=crashes, lost=lost)) is alone


@pytest.mark.parametrize(
    ("lost", "has_presence", "too_often"),
    [(12, True, False), (13, True, True), (9, False, False), (10, False, True)],
)
def test_only_losses_alone_count_for_a_worker_and_all_for_others(
    lost: int, *, has_presence: bool, too_often: bool
) -> None:
    assert rule.is_lost_too_often(Counters(lost=lost), has_presence=has_presence) is too_often


@pytest.mark.parametrize("crashes_at", range(14))
def test_a_worker_never_gives_it_up_before_ten_losses_alone(crashes_at: int) -> None:
    """Wherever two crashes come in between."""
    lost = alone = 0
    while not rule.is_lost_too_often(Counters(lost=lost), has_presence=True):
        crashes = 2 if lost >= crashes_at else 0
        alone += rule.must_run_alone(Counters(crashes=crashes, lost=lost))
        lost += 1
    assert rule.MAX_LOST <= alone <= rule.MAX_LOST + rule.LOSSES_BEFORE_ALONE
