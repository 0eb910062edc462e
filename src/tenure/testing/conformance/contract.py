"""The contract line by line, each with the tests that hold a broker to it.

A table of contents for adapter authors: which promise failed, and where to read more. `tests/conformance`
checks that every name in it exists. What a single call cannot show is left to the worker's suites.
"""

#: What is promised → `Suite.test`, or a whole `Suite`.
CONTRACT: dict[str, tuple[str, ...]] = {
    "no loss: what was sent is in exactly one state": (
        "Sending.test_a_sent_message_is_ready_and_has_a_record",
        "Records.test_a_record_follows_its_message",
        "Browsing.test_depth_follows_every_move",
        "Crashing",
    ),
    "four counters, each raised by its own act alone": (
        "Settling.test_each_counter_is_raised_by_its_own_act_alone",
        "Lending.test_each_lending_counts_one_delivery",
        "Settling.test_attempts_are_counted_over_many_failures",
        "Settling.test_giving_back_often_never_uses_an_attempt",
        "Settling.test_a_reason_for_giving_back_is_kept_and_counts_nothing",
        "Retiring.test_crashing_again_and_again_never_uses_an_attempt",
        "DeadLetters.test_a_dead_letter_counts_an_attempt_only_if_it_ran",
    ),
    "send is idempotent by id for ten minutes": (
        "Sending.test_a_send_repeated_after_a_lost_reply_makes_one_copy",
        "Sending.test_a_repeat_stores_what_was_missing",
        "Sending.test_an_id_that_another_queue_knows_is_a_duplicate",
        "Sending.test_one_id_twice_in_a_batch_makes_one_copy",
        "Sending.test_a_repeat_is_recognised_for_ten_minutes",
        "Sending.test_a_repeat_while_it_is_held_leaves_the_holder_alone",
        "Sending.test_a_repeat_after_completion_is_not_run_again",
        "Sending.test_senders_of_one_id_at_once_make_one_copy",
    ),
    "a lease carries a request id, and held finds what a lost reply lent": (
        "Lending.test_held_finds_what_a_lost_reply_lent",
        "Lending.test_held_tells_all_that_an_owner_holds_and_nothing_else",
        "Crashing.test_stopped_between_lease_and_its_reply",
    ),
    "lease stamps deadline, fence and owner in one atomic step": (
        "Lending.test_holder_fence_and_deadline_are_stamped_with_the_lending",
        "Lending.test_a_held_message_is_lent_to_nobody_else",
        "Lending.test_leasers_at_once_never_share_a_message",
        "Lending.test_leasers_of_one_message_at_once_get_it_once",
    ),
    "lease gives each message its own seconds": (
        "Lending.test_a_task_may_have_its_own_lease",
        "Lending.test_a_messages_own_lease_beats_the_tasks",
        "Lending.test_a_lease_stays_within_the_brokers_bounds",
    ),
    "highest priority first, within the stated fairness": (
        "Priority.test_a_higher_priority_goes_first",
        "Priority.test_every_level_is_kept_apart",
        "Priority.test_a_lower_priority_is_not_starved",
        "Priority.test_fairness_takes_no_more_than_it_says",
        "Priority.test_the_lowest_of_three_is_not_starved_by_the_middle",
    ),
    "several queues are served with one budget": (
        "Lending.test_several_queues_are_all_served",
        "Lending.test_one_call_may_lend_from_several_queues",
    ),
    "due messages are promoted by lease, at most a second late": (
        "Delays.test_a_delayed_message_is_not_lent_early",
        "Delays.test_a_due_message_is_lent_within_a_second",
        "Delays.test_leasing_alone_promotes",
        "Waiting.test_a_message_that_falls_due_wakes",
    ),
    "returned messages are read before the backlog": (
        "Priority.test_what_was_given_back_comes_before_the_backlog",
        "Priority.test_what_failed_comes_before_the_backlog",
        "Priority.test_what_was_swept_comes_before_the_backlog",
        "Priority.test_what_a_dead_owner_held_comes_before_the_backlog",
    ),
    "touch sets from now, never adds, never shortens": (
        "Touching.test_a_touch_sets_the_deadline_from_now",
        "Touching.test_touching_again_and_again_does_not_add_up",
        "Touching.test_a_touch_never_shortens",
        "Touching.test_each_is_touched_for_its_own_seconds",
    ),
    "touch answers per lease and never takes a message back": (
        "Touching.test_each_lease_of_a_batch_is_answered_for_itself",
        "Touching.test_a_stale_holder_cannot_touch",
        "Touching.test_a_touch_never_takes_a_message_back_from_its_new_holder",
        "Touching.test_a_lease_that_lapsed_but_was_not_swept_can_still_be_kept",
    ),
    "a stale holder settles nothing, and is told why": (
        "Fencing.test_a_stale_holder_cannot_ack",
        "Fencing.test_a_stale_holder_cannot_nack",
        "Fencing.test_a_stale_holder_cannot_give_back",
        "Fencing.test_a_stale_holder_cannot_dead_letter",
        "Fencing.test_a_stale_settle_does_no_harm_to_the_new_holder",
        "Settling.test_of_many_settles_at_once_one_takes_effect",
    ),
    "sweep returns by deadline, atomically, and never revives": (
        "Returning.test_healthy_leases_in_front_never_hide_an_overdue_one",
        "Returning.test_the_oldest_deadline_is_returned_first",
        "Returning.test_a_sweep_moves_no_more_than_its_limit",
        "Returning.test_a_message_acked_a_moment_ago_is_never_revived",
        "Returning.test_of_a_sweep_and_an_ack_at_once_one_wins",
        "Returning.test_sweepers_at_once_return_a_message_once",
    ),
    "sweep adopts what is lent without a deadline": (
        "Returning.test_a_lease_without_a_deadline_is_adopted",
        "Returning.test_an_adopted_lease_still_belongs_to_its_holder",
    ),
    "without presence a lapse is an attempt, and the last one is the end": (
        "Returning.test_a_holder_without_presence_that_lapses_has_used_an_attempt",
        "Returning.test_at_the_last_attempt_a_sweep_moves_it_to_the_dead_letters",
        "Returning.test_failures_and_lapses_together_use_up_the_attempts",
        "Returning.test_a_message_may_bring_its_own_limit_of_attempts",
    ),
    "with presence a lapse is a loss": (
        "Returning.test_a_worker_with_presence_that_lapses_counts_as_lost",
        "Returning.test_a_worker_with_presence_never_uses_up_the_attempts",
    ),
    "retire returns everything, releases the claims and bans the nonce": (
        "Retiring.test_everything_an_owner_held_is_free_at_once",
        "Retiring.test_retiring_releases_the_claims",
        "Retiring.test_a_retired_owner_is_lent_nothing_more",
        "Retiring.test_a_new_boot_of_a_retired_owner_is_welcome",
        "Retiring.test_an_owner_that_left_counts_nothing",
        "Retiring.test_of_a_retirement_and_a_lease_at_once_nothing_stays_held",
    ),
    "a late command of a retired owner changes nothing": (
        "Retiring.test_a_late_command_of_a_retired_owner_changes_nothing",
        "Ledger.test_a_retired_owner_is_granted_nothing",
        "Ledger.test_a_retired_owner_can_neither_renew_nor_seal",
    ),
    "after an outage nothing is returned for one full window": (
        "Returning.test_after_a_gap_in_sweeps_nothing_is_returned",
        "Returning.test_grace_is_one_full_window",
        "Returning.test_grace_gives_each_lease_its_own_window",
        "Returning.test_a_first_sweep_that_finds_leases_is_a_gap",
        "Returning.test_whoever_comes_back_within_the_grace_keeps_its_lease",
        "Retiring.test_retiring_knows_no_grace",
    ),
    "no deadline is decided by the wall clock": ("Clocks",),
    "all who use a state agree on the wall time, whatever their machines show": (
        "WallTime.test_it_goes_on",
        "WallTime.test_setting_the_clock_of_this_machine_moves_it_only_if_it_is_that_clock",
        "WallTime.test_a_clock_that_differs_by_more_than_two_seconds_is_a_finding",
    ),
    "the local deadline is taken before the request": (
        "Lending.test_the_local_deadline_is_never_later_than_the_brokers",
    ),
    "the fence rises strictly": (
        "Fencing.test_the_fence_rises_each_time_it_failed",
        "Fencing.test_the_fence_rises_over_a_sweep",
        "Fencing.test_the_fence_rises_over_a_retirement",
        "Fencing.test_the_fence_rises_over_a_redrive",
        "Fencing.test_the_fence_rises_over_a_repeated_send",
        "Fencing.test_the_fence_of_a_key_rises_when_its_message_is_sent_anew",
        "Ledger.test_the_fence_rises_with_each_claim",
        "Durability.test_the_fence_goes_on_rising",
    ),
    "a crash between two calls loses nothing": (
        "Crashing.test_stopped_in_the_middle_of_a_dead_lettering",
        "Crashing.test_stopped_between_nack_and_its_reply",
        "Crashing.test_stopped_in_the_middle_of_a_redrive",
        "Crashing.test_stopped_between_lease_and_ack",
    ),
    "redrive bumps the generation, zeroes the counters, keeps the history": (
        "DeadLetters.test_a_redrive_raises_the_generation_and_nothing_else",
        "DeadLetters.test_a_redrive_starts_the_counters_anew",
        "DeadLetters.test_a_redrive_keeps_the_history",
        "DeadLetters.test_a_history_keeps_the_latest_endings_oldest_first",
    ),
    "cancel takes a message back in one step, whoever holds it": (
        "Cancelling.test_a_held_message_is_taken_from_its_holder",
        "Cancelling.test_each_is_answered_in_order_with_the_state_in_which_it_was_met",
        "Cancelling.test_of_a_cancel_and_an_ack_at_once_one_wins",
        "Cancelling.test_of_a_cancel_and_a_lease_at_once_nothing_stays_held",
        "Cancelling.test_what_was_cancelled_is_never_revived",
        "Crashing.test_stopped_in_the_middle_of_a_cancellation",
    ),
    "whoever held what was cancelled is told, and changes nothing more": (
        "Cancelling.test_the_holder_is_told_by_its_next_touch",
        "Cancelling.test_whatever_the_holder_says_too_late_changes_nothing",
        "Cancelling.test_the_holder_can_no_longer_write_progress_or_checkpoint",
        "Cancelling.test_the_claim_of_a_cancelled_message_ends",
        "Cancelling.test_only_the_cancelling_of_a_held_message_is_counted_on_the_board",
    ),
    "done is done: cancel leaves it alone": (
        "Cancelling.test_what_is_finished_dead_or_unknown_is_left_alone",
        "Cancelling.test_what_is_sealed_is_done_though_it_is_still_held",
    ),
    "every removal is recorded": (
        "Cancelling.test_the_record_tells_who_held_it_and_when",
        "DeadLetters.test_the_record_of_a_deleted_message_tells_of_it",
    ),
    "depth counts, or says that it cannot": (
        "Browsing.test_depth_counts_each_state_or_says_it_cannot",
        "Browsing.test_an_empty_queue_is_zero_deep_and_has_no_age",
        "Browsing.test_the_oldest_age_is_that_of_the_oldest_ready_message",
    ),
    "browse never changes delivery counts": (
        "Browsing.test_looking_is_no_delivery",
        "Browsing.test_looking_changes_nothing",
    ),
    "delays over the limit are kept or refused": ("Delays.test_a_delay_of_a_month_is_kept_or_refused",),
    "bodies over the limit are refused, and nothing is truncated": (
        "Sending.test_a_body_over_the_limit_is_refused_and_the_others_are_stored",
        "Sending.test_a_body_at_the_limit_is_stored_whole",
        "Settling.test_a_hand_off_that_send_would_refuse_is_not_lost",
    ),
    "a dead letter keeps the raw bytes, its reason lives in state": (
        "DeadLetters.test_a_dead_letter_keeps_its_raw_bytes",
        "DeadLetters.test_a_message_that_cannot_be_decoded_is_kept_as_it_is",
        "DeadLetters.test_a_dead_letter_keeps_its_reason",
    ),
    "claim: fresh, running or done, and done beats everything": (
        "Ledger.test_while_somebody_runs_it_nobody_else_may",
        "Ledger.test_what_is_sealed_is_done_for_everybody",
        "Ledger.test_done_beats_a_lapsed_claim",
        "Ledger.test_done_beats_a_dead_owner",
    ),
    "renew, release and seal compare the token": (
        "Ledger.test_a_stale_token_cannot_seal",
        "Ledger.test_a_stale_token_cannot_renew",
        "Ledger.test_a_stale_token_cannot_release",
    ),
    "seal before ack, release before nack": (
        "Crashing.test_stopped_between_seal_and_ack",
        "Crashing.test_stopped_between_release_and_nack",
        "Crashing.test_stopped_between_claim_and_run",
    ),
    "the claim of a dead owner is taken over": (
        "Ledger.test_the_claim_of_a_retired_owner_is_taken_over_at_once",
        "Ledger.test_a_lapsed_claim_is_taken_over",
    ),
    "dead or cancelled frees the key": (
        "Keys.test_a_dead_message_frees_its_key",
        "Keys.test_a_message_that_dies_in_a_sweep_frees_its_key",
        "Keys.test_a_cancelled_message_frees_its_key",
        "Cancelling.test_a_cancelled_message_frees_its_key",
    ),
    "the scope of a key is queue, task, key and generation": (
        "Ledger.test_scopes_are_apart",
        "Keys.test_a_key_belongs_to_its_queue_and_task",
        "Keys.test_a_redriven_message_can_be_claimed_in_its_new_generation",
    ),
    "the same key with another payload is a conflict": (
        "Keys.test_the_same_key_with_another_payload_is_refused",
        "Ledger.test_another_payload_under_a_done_key_is_a_conflict",
    ),
    "one that waits stands for the next with the same unique": (
        "Uniqueness.test_while_one_waits_the_next_is_not_stored",
        "Uniqueness.test_it_counts_within_its_queue_and_task",
        "Uniqueness.test_within_one_batch_the_earlier_one_counts",
        "Uniqueness.test_senders_at_once_store_one",
        "Uniqueness.test_of_several_that_wait_the_oldest_stands_for_the_next",
        "Uniqueness.test_hand_offs_go_the_same_way",
    ),
    "what is held or finished stands for nothing; what comes back does again": (
        "Uniqueness.test_once_it_is_held_the_next_is_stored",
        "Uniqueness.test_what_is_finished_does_not_count",
        "Uniqueness.test_one_that_failed_waits_again",
        "Uniqueness.test_one_that_was_redriven_waits_again",
        "Uniqueness.test_one_that_comes_back_beside_another_is_not_lost",
    ),
    "unique counts within the sender's window": (
        "Uniqueness.test_within_its_window_one_that_waits_stands_for_the_next",
        "Uniqueness.test_outside_its_window_it_does_not",
    ),
    "one that expires earlier stands for nothing that lasts longer": (
        "Uniqueness.test_one_that_expires_before_the_next_would_does_not_stand_for_it",
        "Uniqueness.test_one_that_lasts_at_least_as_long_stands_for_the_next",
        "Uniqueness.test_within_one_batch_what_expires_earlier_stands_for_nothing_that_lasts",
    ),
    "size, then id, then key, then unique": (
        "Uniqueness.test_what_is_refused_or_known_by_its_id_is_told_so_first",
        "Uniqueness.test_a_key_is_looked_at_first",
        "Uniqueness.test_one_that_is_not_stored_takes_no_key",
    ),
    "done is remembered for the ledger's window": ("Ledger.test_done_is_remembered_for_six_days",),
    "result and hand-offs commit with the ack": (
        "Settling.test_an_acked_message_keeps_its_record_and_result",
        "Settling.test_hand_offs_go_out_with_the_ack",
        "Settling.test_hand_offs_of_a_repeated_ack_go_out_once",
        "Settling.test_a_stale_ack_hands_nothing_off",
    ),
    "only what is proven dead is dead": (
        "Roster.test_a_killed_owner_is_proven_dead",
        "Roster.test_a_frozen_owner_is_not_dead",
        "Roster.test_an_owner_whose_lease_lapsed_is_still_alive",
    ),
    "holders without presence are bound by their lease alone": (
        "Roster.test_holders_without_presence_are_not_on_the_roster",
        "Returning.test_an_overdue_message_is_lent_again",
    ),
    "a stale holder writes neither progress nor checkpoint": (
        "Records.test_a_stale_holder_cannot_write_its_progress",
        "Records.test_a_stale_holder_cannot_keep_a_checkpoint",
    ),
    "a checkpoint outlives every return": (
        "Records.test_a_checkpoint_outlives_a_failure",
        "Records.test_a_checkpoint_outlives_a_sweep",
        "Records.test_a_checkpoint_outlives_its_owner",
        "Records.test_a_checkpoint_outlives_a_redrive",
    ),
    "events are kept in one order, and replayed from any place": ("Journal",),
    "the events of one message are found without reading all of them": (
        "Journal.test_the_events_of_one_message_are_told_oldest_first",
        "Journal.test_an_event_that_names_it_among_others_is_about_it_too",
    ),
    "the first pause stands until it is resumed, and is only a notice": (
        "Board.test_the_first_pause_stands",
        "Board.test_a_resumed_queue_is_no_longer_paused",
        "Board.test_a_pause_is_a_notice_and_keeps_nobody_from_leasing",
    ),
    "of many with the same tick exactly one goes ahead, and ticks only move on": (
        "Board.test_of_many_with_the_same_tick_one_may_send",
        "Board.test_a_tick_that_is_not_newer_changes_nothing",
    ),
    "of many one has the turn, until it lapses; and nothing depends on it": (
        "Turns.test_of_many_at_once_one_has_it",
        "Turns.test_it_lapses_by_itself",
        "Turns.test_nobody_waits_longer_than_their_own_turn_would_be",
    ),
    "all workers share the newest samples of each task": (
        "Samples.test_the_newest_are_kept",
        "Samples.test_reading_goes_on_from_any_place",
    ),
    "what was acknowledged outlives the connection": ("Durability",),
}
