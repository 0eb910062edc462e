"""The path goes one way: a message passes each stage at most once, in the order of the map."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tenure.lease import Lease
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.admission import Admission
from tenure.runtime.path.handling import Handling
from tenure.runtime.path.holding import Holding
from tenure.runtime.path.outbox import Outbox
from tenure.runtime.path.reporting import Reporting
from tenure.settlement import Settlement
from tenure.tasks.context import Context
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage
from tenure.verdict import Reject, Retry, Verdict

ORDER = ["admission", "holding", "handling", "outbox", "reporting"]


class Passages:
    """The stages that each lease came to, by id and fence: a retry is another lease."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_lease: dict[tuple[str, int], list[str]] = {}
        admit, take, start, put = Admission.admit, Holding.take, Handling.start, Outbox.put
        report = Reporting.report

        async def admitted(stage: Admission, leases: Sequence[Lease]) -> None:
            self._note("admission", leases)
            await admit(stage, leases)

        def taken(stage: Holding, deliveries: Sequence[Delivery]) -> None:
            self._note("holding", [one.lease for one in deliveries])
            take(stage, deliveries)

        def started(stage: Handling, deliveries: Sequence[Delivery]) -> None:
            self._note("handling", [one.lease for one in deliveries])
            start(stage, deliveries)

        def ended(stage: Outbox, delivery: Delivery, verdict: Verdict) -> None:
            self._note("outbox", [delivery.lease])
            put(stage, delivery, verdict)

        def reported(stage: Reporting, settled: Sequence[tuple[Delivery, Settlement | None]]) -> None:
            self._note("reporting", [one.lease for one, _ in settled])
            report(stage, settled)

        stages: list[tuple[Any, str, Any]] = [
            (Admission, "admit", admitted),
            (Holding, "take", taken),
            (Handling, "start", started),
            (Outbox, "put", ended),
            (Reporting, "report", reported),
        ]
        for stage, call, watched in stages:
            monkeypatch.setattr(stage, call, watched)

    def _note(self, stage: str, leases: Sequence[Lease]) -> None:
        for lease in leases:
            self.by_lease.setdefault((lease.id, lease.fence), []).append(stage)

    def of(self, id: str) -> list[list[str]]:
        return [stages for (one, _), stages in sorted(self.by_lease.items()) if one == id]


async def test_a_message_passes_each_stage_once_however_it_ends(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    passages = Passages(monkeypatch)
    async with Stage(harness) as stage:

        @stage.task
        async def work(ctx: Context, how: str) -> None:
            if how == "reject":
                raise Reject("never")
            if how == "retry" and ctx.attempt == 1:
                raise Retry(after=1)

        done, dead, again = [await stage.submit(work.bind(how)) for how in ("done", "reject", "retry")]
        expired = await stage.submit(work.bind("done"), expires=1)
        await asyncio.sleep(2)
        await stage.start()
        await stage.settled()
        await stage.until(lambda: len(passages.of(again)) == 2 and passages.of(again)[-1] == ORDER)
    assert passages.of(done) == passages.of(dead) == [ORDER]
    assert passages.of(again) == [ORDER, ORDER]
    assert passages.of(expired) == [["admission", "outbox", "reporting"]]
