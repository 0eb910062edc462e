"""Whose turn it is: cases by hand, and a worker in made-up time."""

import pytest

from tenure.rules.fair_turns import MOST_HELD_BACK, QUANTUM_SECONDS, FairTurns, Turn, shares_out

from .fair_turns_sim import MadeUpWorker

#: What a worker serves, and whether that can be the queues of several clients.
SERVED = [
    ((), False),
    (("acme-tasks",), False),
    (("shop/acme-tasks",), False),
    (("acme-tasks", "reports"), False),
    (("acme-tasks", "demo-tasks"), True),
    (("*-tasks",), True),
    (("shop/*-tasks",), True),
    (("a*-tasks",), True),
    (("*",), True),
    (("shop/*",), True),
    (("reports", "a*-tasks"), True),
    (("report-*",), False),
    (("report-*", "acme-tasks"), False),
    (("mail", "reports"), False),
]


@pytest.mark.parametrize(("queues", "expected"), SERVED)
def test_time_is_shared_out_where_several_clients_are_served(queues: tuple[str, ...], expected: bool) -> None:
    assert shares_out(queues) is expected


def served(turns: FairTurns, *queues: str, seconds: float | None = 1.0, want: int = 1) -> bool:
    """A call that brought these, whose messages have ended."""
    again = turns.answered(turns.next(want), queues)
    for queue in queues:
        turns.ended(queue, seconds)
    return again


def held(turns: FairTurns, want: int = 1) -> set[str]:
    return set(turns.next(want).held_back)


def test_who_used_its_part_is_held_back_until_the_others_have_nothing() -> None:
    turns = FairTurns(1)
    assert turns.next(5) == Turn(5)
    served(turns, "a", seconds=QUANTUM_SECONDS / 2)
    assert held(turns) == set()
    served(turns, "a", seconds=QUANTUM_SECONDS / 2)
    assert held(turns) == {"a"}
    assert not served(turns, "b", seconds=QUANTUM_SECONDS / 2)
    assert held(turns) == {"a"}
    assert served(turns), "b has nothing any more: ask again, for a"
    assert held(turns) == set()


def test_who_took_too_much_pays_it_back_before_the_next_turn() -> None:
    turns = FairTurns(1)
    served(turns, "a", seconds=10 * QUANTUM_SECONDS)
    rounds = 0
    while "a" in held(turns):
        served(turns, "b", seconds=QUANTUM_SECONDS)
        assert served(turns)
        rounds += 1
    assert rounds == 10


def test_what_was_leased_is_charged_before_it_ends() -> None:
    turns = FairTurns(1)
    served(turns, "a", seconds=QUANTUM_SECONDS * 0.9)
    served(turns)
    assert not turns.answered(turns.next(1), ["a"])
    assert held(turns) == set()
    turns.answered(turns.next(1), ["a"])
    assert held(turns) == {"a"}, "its two messages will take more than a quantum"


def test_what_was_not_run_costs_nothing() -> None:
    turns = FairTurns(1)
    served(turns, "a", seconds=QUANTUM_SECONDS / 10)
    served(turns)
    for _ in range(100):
        served(turns, "a", seconds=None)
    assert held(turns) == set()


def test_a_call_leases_no_more_than_a_quantum_is_worth() -> None:
    turns = FairTurns(10)
    assert turns.next(10).want == 10, "nothing is known yet"
    served(turns, "a", seconds=5.0)
    served(turns)
    served(turns, "a", seconds=5.0)
    served(turns)
    assert turns.next(10).want == 1
    quick = FairTurns(10)
    served(quick, "a", seconds=0.001)
    assert quick.next(10).want == 10


def test_messages_that_end_during_a_call_may_let_their_queue_in_again() -> None:
    turns = FairTurns(1)
    served(turns, "a", seconds=QUANTUM_SECONDS / 2)
    served(turns)
    turns.answered(turns.next(2), ["a", "a"])
    turn = turns.next(1)
    assert turn.held_back == ("a",)
    turns.ended("a", 0.0)
    turns.ended("a", 0.0)
    assert turns.answered(turn, []), "a was not asked"
    assert held(turns) == set()


def test_nothing_is_owed_when_nothing_waits_anywhere() -> None:
    turns = FairTurns(1)
    served(turns, "a", seconds=1_000.0)
    while served(turns):
        pass
    assert held(turns) == set()


def test_at_most_three_calls_in_a_row_bring_nothing() -> None:
    turns = FairTurns(1)
    for number in range(50):
        served(turns, f"q{number}", seconds=float(number + 1))
    calls = 0
    while served(turns):
        calls += 1
    assert calls == 3


def test_of_very_many_those_that_used_most_are_held_back() -> None:
    turns = FairTurns(1)
    for number in range(MOST_HELD_BACK + 5):
        served(turns, f"q{number}", seconds=float(number + 1))
    assert held(turns) == {f"q{number}" for number in range(5, MOST_HELD_BACK + 5)}


@pytest.mark.parametrize("slots", [1, 10])
@pytest.mark.parametrize(
    ("slow", "quick"), [(1.0, 0.01), (0.1, 0.001), (0.05, 0.05)], ids=["1s-10ms", "100ms-1ms", "alike"]
)
def test_two_that_flood_their_queues_get_half_each(slots: int, slow: float, quick: float) -> None:
    worker = MadeUpWorker(slots)
    seconds = 100 * slow if slots == 1 else 20 * slow
    worker.send("a-tasks", int(seconds * slots / slow) + 1, slow)
    worker.send("b-tasks", int(seconds * slots / quick) + 1, quick)
    worker.run(seconds)
    assert worker.worked["a-tasks"] == pytest.approx(seconds * slots / 2, rel=0.15)
    assert worker.worked["b-tasks"] == pytest.approx(seconds * slots / 2, rel=0.15)


def test_without_turns_the_slow_one_takes_nearly_all() -> None:
    worker = MadeUpWorker(1, is_fair=False)
    worker.send("a-tasks", 100, 1.0)
    worker.send("b-tasks", 10_000, 0.01)
    worker.run(40.0)
    assert worker.worked["a-tasks"] > 0.95 * 40


@pytest.mark.parametrize("slots", [1, 10])
@pytest.mark.parametrize("seconds", [0.001, 0.01, 0.5])
def test_one_that_sends_little_waits_no_longer_than_for_a_free_slot(slots: int, seconds: float) -> None:
    worker = MadeUpWorker(slots)
    worker.send("noisy-tasks", min(100_000, int(31 * slots / seconds)), seconds)
    worker.send("quiet-tasks", 300, 0.001, every=0.1)
    worker.run(30.0)
    waits = sorted(worker.waits["quiet-tasks"])
    assert len(waits) >= 295
    assert waits[-1] <= 2 * seconds + 0.01


def test_a_weight_is_its_part() -> None:
    worker = MadeUpWorker(4, weights={"a-tasks": 3.0})
    worker.send("a-tasks", 10_000, 0.02)
    worker.send("b-tasks", 10_000, 0.05)
    worker.run(20.0)
    assert worker.worked["a-tasks"] / worker.worked["b-tasks"] == pytest.approx(3.0, rel=0.1)


def test_fifty_clients_get_the_same_time() -> None:
    worker = MadeUpWorker(10)
    for number in range(50):
        worker.send(f"c{number}-tasks", 1_500, 0.05 if number % 2 else 0.5)
    worker.run(75.0)
    assert min(worker.worked.values()) >= 0.9 * 15
    assert max(worker.worked.values()) <= 1.1 * 15


def test_a_slot_is_never_idle_while_a_message_waits() -> None:
    worker = MadeUpWorker(10)
    worker.send("a-tasks", 10_000, 0.5)
    worker.send("b-tasks", 50, 0.01, every=1.0)
    worker.run(50.0)
    assert sum(worker.worked.values()) >= 0.99 * 10 * 49.5


def test_who_is_alone_costs_few_calls_more() -> None:
    worker = MadeUpWorker(10)
    worker.send("a-tasks", 100_000, 0.01)
    worker.run(30.0)
    assert worker.empty_calls <= 0.15 * worker.calls
