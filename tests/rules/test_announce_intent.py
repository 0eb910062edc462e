"""An intent: what became of it by what its message's rows say, and what is announced then."""

import pytest
from tests.rules.announce_intent_cases import CASES, PLACE, Case

from tenure.announcement import RESULT_LIMIT, Announcement
from tenure.message import MessageState
from tenure.rules import announce_intent as rule
from tenure.rules.announce_intent import Intent, Met


def _intent(met: Met, *, is_seal: bool = False, size: int = 0, result: bytes | None = None) -> Intent:
    says = Announcement(
        id="7", queue="orders", task="charge", targets=("webhook:orders",), ending=MessageState.COMPLETED,
        ended_at=1.0, result=result,
    )  # fmt: skip
    return Intent(says=says, met=met, is_seal=is_seal, size=size)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_intent_is_believed_as_the_table_says(case: Case) -> None:
    told = rule.believe(
        _intent(case.met), PLACE, case.known, chosen=case.chosen, age_seconds=case.age_seconds
    )  # fmt: skip
    assert told is case.expected


@pytest.mark.parametrize(("now", "last"), [(5, 0), (5, 4), (5, 5), (5, 900)])
def test_a_place_is_behind_the_last_one(now: int, last: int) -> None:
    place, number = rule.place_of(now, last, "aa")
    assert number == rule.number_of(place) == max(now, last + 1)
    assert place > f"{last:020d}-ff"


def test_no_place_has_no_number() -> None:
    assert rule.number_of("") == 0


def test_a_seal_is_announced_with_the_result_of_its_claim() -> None:
    one = rule.announced(_intent(Met(), is_seal=True, size=1), PLACE, b"9")
    assert (one.result, one.large_result, one.place) == (b"9", None, PLACE)


def test_a_seal_without_a_result_is_announced_without_one() -> None:
    assert rule.announced(_intent(Met(), is_seal=True), PLACE, b"").result is None


def test_a_large_result_is_left_where_it_is() -> None:
    one = rule.announced(_intent(Met(), is_seal=True, size=RESULT_LIMIT + 1), PLACE, b"9")
    assert (one.result, one.large_result) == (None, RESULT_LIMIT + 1)


def test_an_intent_that_is_no_seal_has_its_result_itself() -> None:
    one = rule.announced(_intent(Met(), result=b"9"), PLACE, None)
    assert (one.result, one.place) == (b"9", PLACE)
