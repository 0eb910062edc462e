"""Presence must not overrule the lease: only the proof of a death ends one early, on SQLite and on Redis.

DESIGN, "Who is dead". Every event is played with a witness of the holder's end (a worker in the same PID namespace) and
without one (a worker in another namespace, as in another container).
"""

import pytest

from . import presence_events as play
from .grounds import Ground, SQLiteGround, on
from .presence import PROVED_SECONDS, RESTART_SECONDS, SILENT_SECONDS
from .stage import Stage

with_and_without_a_witness = pytest.mark.parametrize("witness", [True, False], ids=["witness", "no-witness"])


@with_and_without_a_witness
@on("valkey9")
def test_a_worker_cut_off_for_3_s_keeps_its_message(stage: Stage, witness: bool) -> None:
    play.play_cut(stage, witness=witness)


@with_and_without_a_witness
@on("sqlite", "valkey9")
def test_silence_that_is_shorter_than_the_lease_costs_nobody_its_message(stage: Stage, witness: bool) -> None:
    """On SQLite nobody says anything: a lock is held. So no silence is too long there, and a short one will do."""
    seconds = 3 if isinstance(stage.ground, SQLiteGround) else SILENT_SECONDS
    play.play_silence(stage, seconds, witness=witness)


@with_and_without_a_witness
@on("sqlite", "valkey9")
def test_a_killed_workers_message_is_back_at_once_only_where_its_death_is_proved(stage: Stage, witness: bool) -> None:
    """On SQLite the lock file proves it in every namespace of the machine."""
    is_proved = witness or isinstance(stage.ground, SQLiteGround)
    play.play_kill(stage, witness=witness, proved_within=PROVED_SECONDS if is_proved else None)


@with_and_without_a_witness
@on("sqlite", "valkey9")
def test_a_worker_stopped_past_its_lease_loses_it_and_did_not_crash(stage: Stage, witness: bool) -> None:
    play.play_long_stop(stage, witness=witness)


@on("valkey9")
def test_a_worker_suspended_past_its_lease_loses_it_and_did_not_crash(stage: Stage) -> None:
    """Its machine sleeps, and so would every witness; others go on."""
    play.play_long_stop(stage, witness=False, suspended=True)


@on("sqlite", "valkey9")
def test_a_machine_suspended_with_all_its_workers_takes_nothing_from_them(stage: Stage, ground: Ground) -> None:
    play.play_suspend_of_all(stage, store_sleeps=isinstance(ground, SQLiteGround))


@on("valkey9")
def test_the_next_worker_in_a_slot_proves_that_the_last_one_is_dead(stage: Stage) -> None:
    play.play_slot(stage, proved_within=PROVED_SECONDS)


@on("valkey9")
def test_another_slot_or_the_same_name_proves_nothing(stage: Stage) -> None:
    play.play_two_slots(stage)


@on("valkey9")
def test_a_worker_with_other_clocks_proves_nothing(stage: Stage) -> None:
    play.play_other_time(stage)


@on("valkey9")
def test_where_nobody_was_left_a_message_is_back_one_lease_after_the_next_start(stage: Stage) -> None:
    play.play_restart(stage, within=play.SHORT_LEASE + RESTART_SECONDS)
