"""How deletes ended is counted, and told only where they did not work."""

import asyncio
import logging
from typing import Any

import pytest

from tenure.adapters.memory import connect
from tenure.deletion import DeletionFailure, DeletionTally
from tenure.event import EventKind
from tenure.lease import Lease
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.deletions import KEPT_FAILURES, TELL_SECONDS, Deletions
from tenure.settlement import Outcome, Settlement
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage
from tenure.verdict import Completed, Duplicate, Reason, Retried, Verdict

AT = 1_700_000_000.0


def _settled(
    id: str, outcome: Outcome | None, verdict: Verdict | None = None, attempts: int = 1
) -> tuple[Delivery, Settlement | None]:
    delivery = Delivery(Lease(id, "mail", b"{}", "me/1", 1, "receipt", 30.0, 1e9))
    delivery.verdict = Completed(b"null") if verdict is None else verdict
    return delivery, None if outcome is None else Settlement(outcome, attempts)


class Told:
    """What was published."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def __call__(self, kind: EventKind, data: dict[str, object]) -> None:
        assert kind is EventKind.DELETIONS
        self.events.append(data)


def test_before_anything_is_deleted_there_is_no_rate() -> None:
    stats = DeletionTally(3).stats()
    assert (stats.total, stats.success_rate, stats.outcomes, str(stats)) == (0, None, {}, "nothing to delete")


async def test_only_deletes_are_counted() -> None:
    deletions = Deletions(Told())
    settled = [
        _settled("a", Outcome.DELETED), _settled("b", Outcome.DELETED, Duplicate(b"", ())),
        _settled("c", Outcome.RETURNED, Retried(1.0, Reason("error", "broken"))), _settled("d", None),
    ]  # fmt: skip
    deletions.note(settled, AT)
    stats = deletions.stats
    assert (stats.total, stats.deleted, stats.outcomes, stats.success_rate) == (2, 2, {"deleted": 2}, 1.0)
    assert str(stats) == "2 of 2 deleted (100.0 %)"


async def test_the_first_failures_are_kept_with_why_and_when() -> None:
    deletions = Deletions(Told())
    for number in range(KEPT_FAILURES + 5):
        deletions.note([_settled(f"m-{number:02}", Outcome.UNKNOWN, attempts=3)], AT + number)
    stats = deletions.stats
    assert (stats.failed, stats.attempts, stats.success_rate) == (25, 75, 0.0)
    assert [failure.id for failure in stats.first_failures] == [f"m-{number:02}" for number in range(KEPT_FAILURES)]
    first = stats.first_failures[0]
    assert (first.outcome, first.at) == (Outcome.UNKNOWN, AT)
    assert "if the message comes back" in first.text


async def test_what_was_unknown_is_resolved_when_it_is_met_again() -> None:
    deletions = Deletions(Told())
    deletions.note([_settled("a", Outcome.UNKNOWN), _settled("b", Outcome.UNKNOWN)], AT)
    deletions.note([_settled("a", Outcome.DELETED, Duplicate(b"", ())), _settled("c", Outcome.DELETED)], AT)
    deletions.note([_settled("b", Outcome.ALREADY_GONE, Duplicate(b"", ()))], AT)
    stats = deletions.stats
    assert (stats.resolved, stats.outcomes) == (2, {"already_gone": 1, "deleted": 2, "unknown": 2})
    assert str(stats) == "2 of 4 deleted (50.0 %), 1 already_gone, 2 unknown, 2 resolved since"


async def test_failures_are_told_once_a_minute_and_good_news_not_at_all(caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    deletions = Deletions(told)
    telling = asyncio.create_task(deletions.run())
    try:
        deletions.note([_settled("a", Outcome.DELETED)], AT)
        await asyncio.sleep(10 * TELL_SECONDS)
        assert told.events == []
        with caplog.at_level(logging.WARNING):
            for number in range(50):
                deletions.note([_settled(f"m-{number}", Outcome.TAKEN_OVER)], AT)
                await asyncio.sleep(1.0)
            await asyncio.sleep(2 * TELL_SECONDS)
        (event,) = told.events
        assert (event["total"], event["outcomes"]) == (51, {"deleted": 1, "taken_over": 50})
        assert len(event["first_failures"]) == KEPT_FAILURES
        assert caplog.text.count("deletes: 1 of 51 deleted (2.0 %), 50 taken_over") == 1
        assert "the first of these: m-0 (taken_over: another worker holds it" in caplog.text
        deletions.tell()
        assert len(told.events) == 1, "nothing is new"
    finally:
        telling.cancel()


def test_what_is_remembered_is_bounded() -> None:
    tally = DeletionTally(2)
    for number in range(20_000):
        tally.count_failed(DeletionFailure(f"m-{number}", Outcome.UNKNOWN, ""), 1)
    assert len(tally._open) == 10_000
    assert len(tally.stats().first_failures) == 2


class _Memory(Harness):
    async def connect(self) -> Any:
        return connect(clock=self.clock)

    async def kill(self, owner: object) -> None:
        raise NotImplementedError


async def test_a_worker_tells_how_its_deletes_ended() -> None:
    async with _Memory() as harness, Stage(harness) as stage:

        @stage.task
        async def work() -> None: ...

        actor = await stage.start()
        for _ in range(3):
            await stage.ended(await stage.submit(work.bind()))
        await stage.until(lambda: actor.worker.deletions.total == 3)
        assert actor.worker.deletions.success_rate == 1.0
        await actor.worker.stop()
        assert "deletions" not in actor.counts


async def test_what_was_gone_already_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    deletions = Deletions(told)
    deletions.note([_settled("a", Outcome.DELETED), _settled("b", Outcome.ALREADY_GONE)], AT)
    stats = deletions.stats
    assert (stats.failed, stats.already_gone, stats.success_rate, stats.first_failures) == (0, 1, 1.0, ())
    assert str(stats) == "1 of 1 deleted (100.0 %), 1 already_gone"
    with caplog.at_level(logging.INFO):
        deletions.tell()
    assert (told.events, caplog.records) == ([], [])
