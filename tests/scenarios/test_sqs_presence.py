"""Presence must not overrule the lease, on SQS: as `test_presence.py`, with stand-ins for SQS and DynamoDB."""

from collections.abc import Iterator

import pytest
from tests.servers.aws import installed_aws

from . import presence_events as play
from .presence import PROVED_IN_THE_CLOUD_SECONDS, SILENT_SECONDS
from .sqs_ground import SqsGround
from .stage import Stage

with_and_without_a_witness = pytest.mark.parametrize("witness", [True, False], ids=["witness", "no-witness"])


@pytest.fixture
def ground() -> Iterator[SqsGround]:
    """Queues and a table of its own."""
    if not {"fauxqs", "ministack"} <= set(installed_aws()):
        pytest.skip("fauxqs and ministack are not installed; `make test` does it")
    ground = SqsGround()
    try:
        yield ground
    finally:
        ground.close()


@with_and_without_a_witness
def test_a_worker_cut_off_for_3_s_keeps_its_message(stage: Stage, witness: bool) -> None:
    play.play_cut(stage, witness=witness)


@with_and_without_a_witness
def test_silence_that_is_shorter_than_the_lease_costs_nobody_its_message(stage: Stage, witness: bool) -> None:
    play.play_silence(stage, SILENT_SECONDS, witness=witness)


@with_and_without_a_witness
def test_a_killed_workers_message_is_back_at_once_only_where_its_death_is_proved(stage: Stage, witness: bool) -> None:
    play.play_kill(stage, witness=witness, proved_within=PROVED_IN_THE_CLOUD_SECONDS if witness else None)


@with_and_without_a_witness
def test_a_worker_stopped_past_its_lease_loses_it_and_did_not_crash(stage: Stage, witness: bool) -> None:
    play.play_long_stop(stage, witness=witness)


def test_a_machine_suspended_with_all_its_workers_takes_nothing_from_them(stage: Stage) -> None:
    play.play_suspend_of_all(stage, store_sleeps=False)


def test_the_next_worker_in_a_slot_proves_that_the_last_one_is_dead(stage: Stage) -> None:
    play.play_slot(stage, proved_within=PROVED_IN_THE_CLOUD_SECONDS)


def test_a_supervisor_brings_back_what_its_killed_process_held_within_3_s(stage: Stage) -> None:
    play.play_supervised(stage)
