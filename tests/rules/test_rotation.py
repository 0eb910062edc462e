"""The order of priorities and queues: the rule against its table, and the stores that call it."""

import pytest
from tests.conformance.harnesses import MemoryHarness, SqliteHarness
from tests.rules.rotation_cases import CASES, Case

from tenure.envelope import decode
from tenure.rules.rotation import FAIRNESS, lower_turns, next_source, rotated
from tenure.testing.harness import Harness


def _by_the_rule(case: Case) -> list[str]:
    levels: dict[int, list[int]] = {}
    for place, priority in enumerate(map(int, case.waiting)):
        levels.setdefault(priority, []).append(place)
    lent, calls = 0, []
    for call in case.calls:
        taken = ""
        while len(taken) < len(call):
            lent += 1
            heads = [(places[0], priority) for priority, places in sorted(levels.items(), reverse=True) if places]
            _, priority = next_source(heads, lent)
            del levels[priority][0]
            taken += str(priority)
        calls.append(taken)
    return calls


def _sorted(calls: list[str] | tuple[str, ...]) -> list[str]:
    return ["".join(sorted(call, reverse=True)) for call in calls]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_the_rule_lends_as_the_table_says(case: Case) -> None:
    assert _sorted(_by_the_rule(case)) == _sorted(case.calls)


async def lent(harness: Harness, case: Case) -> list[str]:
    """What each call of that size was lent, by priority."""
    for priority in case.waiting:
        await harness.put(priority=int(priority))
    owner = await harness.owner()
    calls = []
    for call in case.calls:
        leases = await harness.lease(owner, len(call))
        calls.append("".join(str(decode(lease.envelope).priority) for lease in leases))
    return calls


@pytest.fixture(params=[MemoryHarness, SqliteHarness], ids=["memory", "sqlite"])
def harness(request: pytest.FixtureRequest) -> Harness:
    """A fresh store in virtual time."""
    kind: type[Harness] = request.param
    return kind()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
async def test_the_stores_lend_as_the_table_says(harness: Harness, case: Case) -> None:
    assert _sorted(await lent(harness, case)) == _sorted(case.calls)


@pytest.mark.parametrize(("before", "want", "turns"), [(0, 9, 0), (0, 10, 1), (9, 1, 1), (10, 9, 0), (5, 30, 3)])
def test_turns_are_counted_over_calls(before: int, want: int, turns: int) -> None:
    assert lower_turns(before, want) == turns
    assert sum((before + one + 1) % FAIRNESS == 0 for one in range(want)) == turns


def test_without_fairness_the_highest_always_goes_first() -> None:
    assert {next_source([(5, 9), (1, 1)], number, None) for number in range(1, 30)} == {(5, 9)}


def test_each_turn_begins_with_another_queue() -> None:
    assert [rotated("abc", turn)[0] for turn in range(5)] == [*"abcab"]
    assert sorted(rotated("abc", 2)) == [*"abc"]
    assert (list(rotated("", 7)), list(rotated("a", 7))) == ([], ["a"])
