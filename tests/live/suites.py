"""The suites of the live accounts: what a message lives through, and what is written down about it.

Left out: what the stand-ins show as well and the cloud would only make slow (waiting, clocks, sweeps of many), and
single tests that compare a time with the very moment, which real time does not stop for.
"""

from typing import Any

from tenure.testing.conformance.broker import DeadLetters, Fencing, Keys, Lending, Sending, Settling, Touching
from tenure.testing.conformance.state import Ledger, Records

_CHOSEN = (Sending, Lending, Settling, Touching, Fencing, DeadLetters, Keys, Ledger, Records)
_TO_THE_MOMENT = frozenset({
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
})  # fmt: skip


def _without(suite: type[Any]) -> type[Any]:
    kept = {name: value for name, value in vars(suite).items() if name not in _TO_THE_MOMENT and name != "__dict__"}
    return type(suite.__name__, suite.__bases__, kept)


SUITES = tuple(_without(suite) for suite in _CHOSEN)
