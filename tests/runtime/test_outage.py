"""Waiting for something that is away: growing pauses, one line a spell."""

import logging

import pytest

from tenure.runtime.outage import OutageBackoff
from tenure.testing.virtual import VirtualClock

logger = logging.getLogger("test")


async def test_pauses_grow_to_a_limit(virtual_clock: VirtualClock) -> None:
    backoff = OutageBackoff(virtual_clock)
    pauses = []
    for _ in range(12):
        before = virtual_clock.now
        await backoff.pause()
        pauses.append(virtual_clock.now - before)
    assert pauses[0] <= 0.05
    assert all(1.0 <= pause <= 2.0 for pause in pauses[-3:]), pauses


async def test_a_success_makes_the_next_pause_short_again(virtual_clock: VirtualClock) -> None:
    backoff = OutageBackoff(virtual_clock)
    backoff.failed(logger, "leasing", OSError())
    for _ in range(10):
        await backoff.pause()
    backoff.succeeded(logger, "leasing")
    before = virtual_clock.now
    await backoff.pause()
    assert virtual_clock.now - before <= 0.05


async def test_a_spell_is_told_once_at_its_begin_and_once_at_its_end(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    backoff = OutageBackoff(virtual_clock)
    backoff.succeeded(logger, "leasing")
    for _ in range(5):
        backoff.failed(logger, "leasing", OSError("no route"))
    virtual_clock.now += 12
    backoff.succeeded(logger, "leasing")
    backoff.succeeded(logger, "leasing")
    assert caplog.messages == ["leasing: no route; trying again until it works", "leasing works again after 12.0 s"]


async def test_loops_that_meet_the_same_outage_tell_it_once_together(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = OutageBackoff(virtual_clock), OutageBackoff(virtual_clock)
    with caplog.at_level(logging.WARNING):
        first.failed(logger, "leasing", OSError("no route"))
        virtual_clock.now += 1
        second.failed(logger, "settling", OSError("no route"))
        virtual_clock.now += 2
        first.succeeded(logger, "leasing")
        virtual_clock.now += 1
        second.succeeded(logger, "settling")
    assert caplog.messages == ["leasing: no route; trying again until it works", "leasing works again after 4.0 s"]


async def test_the_next_outage_is_told_again_and_that_of_another_worker_by_itself(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    first, other = OutageBackoff(virtual_clock), OutageBackoff(VirtualClock())
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            first.failed(logger, "leasing", OSError("no route"))
            other.failed(logger, "leasing elsewhere", OSError("no route"))
            first.succeeded(logger, "leasing")
            other.succeeded(logger, "leasing elsewhere")
    assert len(caplog.messages) == 8


async def test_loops_of_one_logger_say_one_line_between_them(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    other = logging.getLogger("test.other")
    first, *more = [OutageBackoff(virtual_clock) for _ in range(4)]
    with caplog.at_level(logging.DEBUG):
        first.failed(logger, "leasing", OSError("no route"))
        for one in more:
            one.failed(other, "ctx.checkpoint", OSError("no route"))
        for one in more:
            one.succeeded(other, "ctx.checkpoint")
        first.succeeded(logger, "leasing")
    assert [(record.name, record.levelname) for record in caplog.records] == [
        ("test", "WARNING"),
        ("test.other", "DEBUG"),
        ("test.other", "DEBUG"),
        ("test", "WARNING"),
    ]


async def test_one_that_gave_up_does_not_hold_back_the_end_of_the_outage(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = OutageBackoff(virtual_clock), OutageBackoff(virtual_clock)
    with caplog.at_level(logging.WARNING):
        first.failed(logger, "leasing", OSError("no route"))
        second.failed(logger, "ctx.checkpoint", OSError("no route"))
        second.gave_up()
        first.succeeded(logger, "leasing")
    assert len(caplog.messages) == 2
