"""How often, and for how long, a message was given back for one reason: by its history."""

from tenure.record import Ending
from tenure.runtime.path.repeated_returns import GIVE_UP_SECONDS, given_back_for, snoozes_in
from tenure.verdict import Reason


def _back(at: float, code: str = "unknown_task", count: int = 0) -> Ending:
    return Ending(at, "given_back", "w/1", Reason(code, "later", count=count))


def test_it_counts_give_backs_with_the_same_code_and_their_span() -> None:
    history = (_back(10.0), _back(20.0, "body_unreachable"), Ending(25.0, "lost", "w/1"), _back(30.0))
    assert given_back_for(history, "unknown_task", 70.0) == (2, 60.0)
    assert given_back_for((), "unknown_task", 70.0) == (0, 0.0)


def test_a_redrive_begins_both_anew() -> None:
    redriven = Ending(20.0, "redriven")
    assert given_back_for((_back(10.0), redriven, _back(30.0)), "unknown_task", 70.0) == (1, 40.0)
    assert snoozes_in((_back(10.0, "snoozed", 7), redriven)) == 0
    assert snoozes_in((_back(10.0, "snoozed", 7), redriven, _back(30.0, "snoozed", 1))) == 1


def test_a_pause_longer_than_anybody_waits_begins_the_span_anew() -> None:
    late = 10.0 + GIVE_UP_SECONDS
    assert given_back_for((_back(10.0), _back(late)), "unknown_task", late) == (2, GIVE_UP_SECONDS)
    assert given_back_for((_back(10.0), _back(late + 1)), "unknown_task", late + 1) == (1, 0.0)


def test_a_snooze_carries_its_number_because_a_history_is_bounded() -> None:
    history = (_back(10.0, "snoozed", 41), Ending(15.0, "failed", "w/1", Reason("error", "no")), _back(20.0))
    assert snoozes_in(history) == 41
    assert snoozes_in(history[1:]) == 0
