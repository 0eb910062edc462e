"""The suites of the live accounts: what a message lives through, and what is written down about it.

Left out: what the stand-ins show as well and the cloud would only make slow (waiting, clocks, sweeps of many), and
single tests: most compare a time with the very moment, and real time does not stop for them.
"""

from typing import Any

from tenure.testing.conformance.broker import DeadLetters, Fencing, Keys, Lending, Sending, Settling, Touching
from tenure.testing.conformance.state import Ledger, Records

CHOSEN = (Sending, Lending, Settling, Touching, Fencing, DeadLetters, Keys, Ledger, Records)
LEFT_OUT = frozenset({
    "test_a_held_message_is_lent_to_nobody_else",
    "test_holder_fence_and_deadline_are_stamped_with_the_lending",
    "test_a_dead_letter_keeps_its_reason",
    "test_a_dead_letter_shows_when_it_died",
    "test_a_deleted_message_is_cancelled_and_never_lent",
    "test_the_record_of_a_deleted_message_tells_of_it",
    "test_an_acked_message_keeps_its_record_and_result",
    "test_a_record_names_queue_task_and_times",
    "test_the_local_deadline_is_never_later_than_the_brokers",
    "test_a_lease_that_is_held_has_the_brokers_deadline",
    "test_a_reason_for_giving_back_is_kept_and_counts_nothing",
    "test_a_touch_sets_the_deadline_from_now",
    "test_touching_again_and_again_does_not_add_up",
    "test_a_touch_never_shortens",
    "test_a_stale_settle_does_no_harm_to_the_new_holder",
    "test_a_renewed_claim_runs_on_from_now",
    "test_while_somebody_runs_it_nobody_else_may",
    "test_each_is_touched_for_its_own_seconds",
    # It takes as long as a message may be held: on SQS half a day.
    "test_no_touch_holds_longer_than_the_broker_allows",
    # A service tells its time in whole seconds: what ends in one second may have ended.
    "test_a_lapsed_claim_is_taken_over",
    "test_a_lease_that_lapsed_but_was_not_swept_can_still_be_kept",
    "test_a_message_that_died_in_a_sweep_is_kept_whole",
    "test_a_message_that_dies_in_a_sweep_frees_its_key",
})  # fmt: skip


def _without(suite: type[Any]) -> type[Any]:
    kept = {name: value for name, value in vars(suite).items() if name not in LEFT_OUT and name != "__dict__"}
    return type(suite.__name__, suite.__bases__, kept)


SUITES = tuple(_without(suite) for suite in CHOSEN)
