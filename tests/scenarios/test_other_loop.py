"""The scenarios of signals, deaths and frozen processes once more, on asyncio's own loop.

All others run on uvloop, which is used where it is installed. What differs is how a loop hears of signals, ends
child processes and closes connections; so these are the ones that are played on both.
"""

import pytest

from .stage import Stage
from .test_children import (
    test_a_lost_lease_kills_the_child_process,
    test_children_die_with_their_worker,
    test_max_hold_kills_a_hung_process,
)
from .test_freezing import test_a_worker_frozen_past_its_lease_settles_nothing_when_it_comes_back
from .test_stopping import (
    test_a_second_sigterm_gives_everything_back_now,
    test_sigterm_under_load_finishes_what_it_can_and_gives_back_the_rest_uncounted,
)
from .test_supervising import (
    test_a_killed_childs_message_runs_elsewhere_at_once_and_the_child_is_replaced,
    test_a_signal_to_the_whole_group_asks_once,
    test_sigterm_ends_every_process_and_handlers_finish,
    test_supervisor_beats_keep_a_handler_that_holds_the_gil,
)

__all__ = [
    "test_a_killed_childs_message_runs_elsewhere_at_once_and_the_child_is_replaced",
    "test_a_lost_lease_kills_the_child_process",
    "test_a_second_sigterm_gives_everything_back_now",
    "test_a_signal_to_the_whole_group_asks_once",
    "test_a_worker_frozen_past_its_lease_settles_nothing_when_it_comes_back",
    "test_children_die_with_their_worker",
    "test_max_hold_kills_a_hung_process",
    "test_sigterm_ends_every_process_and_handlers_finish",
    "test_sigterm_under_load_finishes_what_it_can_and_gives_back_the_rest_uncounted",
    "test_supervisor_beats_keep_a_handler_that_holds_the_gil",
]


@pytest.fixture(autouse=True)
def other_loop(stage: Stage) -> None:
    """For all that the stage starts."""
    stage.configure(loop="asyncio")
