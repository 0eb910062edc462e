"""Measuring runs."""

import asyncio
import logging

import pytest

from tenure.standalone import Measurement, measure_processing
from tenure.testing.virtual import VirtualClock


async def test_a_run_that_takes_80_percent_of_its_timeout_is_at_risk(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Measurement] = []

    @measure_processing("content-processor", "enrich", report=seen.append, clock=virtual_clock)
    async def enrich(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    with caplog.at_level(logging.INFO, "tenure.standalone"):
        assert await enrich(45) == 45
        assert await enrich(72) == 72
    assert [round(one.duration_ms or 0.0) for one in seen] == [45_000, 72_000]
    assert [(str(one.timeout_risk), one.succeeded) for one in seen] == [("OK", True), ("HIGH", True)]
    told = [vars(record) for record in caplog.records]
    assert [(one["levelname"], one["timeout_risk"]) for one in told] == [("INFO", "OK"), ("WARNING", "HIGH")]
    assert {one["container"] for one in told} == {"content-processor"}
    assert {one["operation"] for one in told} == {"enrich"}
    assert {one["visibility_timeout"] for one in told} == {90}


async def test_calls_that_overlap_are_measured_apart(virtual_clock: VirtualClock) -> None:
    seen: list[Measurement] = []

    @measure_processing("x", visibility_timeout=10, report=seen.append, clock=virtual_clock)
    async def work(seconds: float) -> None:
        await asyncio.sleep(seconds)

    await asyncio.gather(work(1), work(9))
    assert [one.duration_ms for one in seen] == [pytest.approx(1000), pytest.approx(9000)]


async def test_a_block_and_a_failure_are_measured_too(virtual_clock: VirtualClock) -> None:
    async with measure_processing("x", visibility_timeout=10, clock=virtual_clock) as measured:
        assert (measured.duration_ms, measured.timeout_risk, measured.succeeded) == (None, None, None)
        await asyncio.sleep(3)
    assert measured.duration_ms == pytest.approx(3000)
    with pytest.raises(ZeroDivisionError), measure_processing("x", visibility_timeout=10) as failed:
        _ = 1 / 0
    assert failed.succeeded is False


def test_a_plain_function_keeps_its_name_and_result() -> None:
    @measure_processing("x", visibility_timeout=10)
    def double(number: int) -> int:
        """Twice."""
        return 2 * number

    assert (double(4), double.__name__, double.__doc__) == (8, "double", "Twice.")


async def test_a_batch_tells_its_whole_time_and_that_of_an_item(
    virtual_clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Measurement] = []

    @measure_processing("content-collector", "collect", visibility_timeout=180, items=len, report=seen.append)
    async def collect() -> list[str]:
        return ["a", "b"]

    with caplog.at_level(logging.INFO, "tenure.standalone"):
        async with measure_processing("content-collector", visibility_timeout=180, clock=virtual_clock) as measured:
            await asyncio.sleep(150)
            measured.items = 50
    assert measured.duration_ms == pytest.approx(150_000)
    assert measured.item_duration_ms == pytest.approx(3000)
    assert str(measured.timeout_risk) == "HIGH", "messages that were received together share one timeout"
    (record,) = [vars(record) for record in caplog.records]
    assert (record["items"], record["item_duration_ms"]) == (50, pytest.approx(3000))
    assert "for 50 items, 3.00 s each" in caplog.text
    assert (await collect(), seen[0].items) == (["a", "b"], 2)
    with measure_processing("x", visibility_timeout=10, items=0) as empty:
        pass
    assert (empty.items, empty.item_duration_ms) == (0, None)
