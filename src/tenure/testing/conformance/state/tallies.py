"""Tallies: what each process counted, row by row, so that all of them can be summed."""

from tenure.event import Event, EventKind
from tenure.tally import HOUR, KEPT_SECONDS, MINUTE, TEN_SECONDS, Tally
from tenure.testing.harness import Harness


class Tallies:
    """The promises of `tally` and `tallies`."""

    async def test_rows_are_read_as_they_were_stored(self, harness: Harness) -> None:
        row = Tally(TEN_SECONDS, _bucket(harness), "one", 1, b'{"\x00\xff": 1}')
        await harness.state.journal.tally([row])
        assert await _read(harness) == [row]

    async def test_where_nothing_was_counted_nothing_is_read(self, harness: Harness) -> None:
        await harness.state.journal.tally([])
        assert await _read(harness) == []

    async def test_rows_come_in_the_order_of_bucket_process_and_number(self, harness: Harness) -> None:
        start = _bucket(harness)
        rows = [
            Tally(TEN_SECONDS, start + late, nonce, number, f"{late}{nonce}{number}".encode())
            for late in (0, 10, 100)
            for nonce in ("", "a", "b")
            for number in (1, 2, 10)
        ]
        await harness.state.journal.tally(rows[::-2])
        await harness.state.journal.tally(rows[-2::-2])
        assert await _read(harness) == rows

    async def test_a_row_that_is_stored_again_is_replaced(self, harness: Harness) -> None:
        start = _bucket(harness)
        rows = [Tally(TEN_SECONDS, start, "one", number, b"old") for number in (1, 2)]
        await harness.state.journal.tally(rows)
        await harness.state.journal.tally(rows)
        assert await _read(harness) == rows
        new = Tally(TEN_SECONDS, start, "one", 2, b"new and longer")
        await harness.state.journal.tally([new])
        assert await _read(harness) == [rows[0], new]

    async def test_the_last_of_one_batch_counts(self, harness: Harness) -> None:
        rows = [Tally(TEN_SECONDS, _bucket(harness), "one", 1, data) for data in (b"first", b"second")]
        await harness.state.journal.tally(rows)
        assert await _read(harness) == rows[1:]

    async def test_rows_differ_by_each_part_of_their_name(self, harness: Harness) -> None:
        start = _bucket(harness, HOUR)
        rows = [
            Tally(TEN_SECONDS, start, "one", 1, b"a"),
            Tally(TEN_SECONDS, start, "one", 2, b"b"),
            Tally(TEN_SECONDS, start, "two", 1, b"c"),
            Tally(TEN_SECONDS, start + TEN_SECONDS, "one", 1, b"d"),
            Tally(MINUTE, start, "one", 1, b"e"),
            Tally(HOUR, start, "one", 1, b"f"),
        ]
        for row in rows:
            await harness.state.journal.tally([row])
        assert await _read(harness) == rows[:4]
        assert await _read(harness, MINUTE) == rows[4:5]
        assert await _read(harness, HOUR) == rows[5:]

    async def test_a_range_begins_with_its_start_and_ends_before_its_end(self, harness: Harness) -> None:
        start = _bucket(harness)
        rows = [Tally(TEN_SECONDS, start + 10 * number, "one", 1, str(number).encode()) for number in range(5)]
        await harness.state.journal.tally(rows)
        for since, until, expected in (
            (start, start + 50, rows),
            (start + 10, start + 30, rows[1:3]),
            (start + 0.5, start + 20.5, rows[1:3]),
            (start + 20, start + 20, []),
            (start + 50, start + 500, []),
        ):
            assert await harness.state.journal.tallies(TEN_SECONDS, since, until) == expected, (since, until)

    async def test_many_rows_are_all_read(self, harness: Harness) -> None:
        start = _bucket(harness)
        rows = [
            Tally(TEN_SECONDS, start + 10 * late, f"{nonce:03}", 1, bytes(300))
            for late in range(12)
            for nonce in range(50)
        ]
        for batch in range(0, len(rows), 50):
            await harness.state.journal.tally(rows[batch : batch + 50])
        assert await _read(harness) == rows

    async def test_each_step_is_pruned_at_its_own_age(self, harness: Harness) -> None:
        journal = harness.state.journal
        start = _bucket(harness, HOUR)
        rows = {step: Tally(step, start, "one", 1, b"x") for step in (TEN_SECONDS, MINUTE, HOUR)}
        await journal.tally(list(rows.values()))
        kept_events = 30 * 86_400.0
        for passed, left in (
            (KEPT_SECONDS[TEN_SECONDS] - HOUR - 100.0, [TEN_SECONDS, MINUTE, HOUR]),
            (KEPT_SECONDS[TEN_SECONDS] + 100.0, [MINUTE, HOUR]),
            (KEPT_SECONDS[MINUTE] + 100.0, [HOUR]),
            (kept_events - 2 * 86_400.0, [HOUR]),
            (kept_events + 86_400.0, []),
        ):
            wanted = start + max(passed, 0.0)
            await harness.advance(max(0.0, wanted - harness.state.wall()), sweeping=False)
            await journal.prune(kept_events)
            for step, row in rows.items():
                assert await journal.tallies(step, start, start + 1) == ([row] if step in left else []), (passed, step)

    async def test_pruning_counts_events_alone(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.append([Event(EventKind.COMPLETED, harness.clock.wall())])
        await journal.tally([Tally(TEN_SECONDS, _bucket(harness), "one", 1, b"x")])
        await harness.advance(2 * 86_400.0, sweeping=False)
        assert await journal.prune(86_400.0) == 1
        assert await _read(harness) == []

    async def test_tallies_are_no_events(self, harness: Harness) -> None:
        journal = harness.state.journal
        await journal.tally([Tally(TEN_SECONDS, _bucket(harness), "one", 1, b"x")])
        assert await journal.read() == []
        assert (await journal.first(), await journal.last()) == (0, 0)

    async def test_tallies_outlive_the_connection(self, harness: Harness) -> None:
        row = Tally(TEN_SECONDS, _bucket(harness), "one", 1, b"x")
        await harness.state.journal.tally([row])
        await harness.reopen()
        assert await _read(harness) == [row]


def _bucket(harness: Harness, step: int = TEN_SECONDS) -> int:
    """The bucket that is open now, by the store's time."""
    return int(harness.state.wall()) // step * step


async def _read(harness: Harness, step: int = TEN_SECONDS) -> list[Tally]:
    """Everything that is kept of one step."""
    now = harness.state.wall()
    return await harness.state.journal.tallies(step, now - 86_400.0 * 10, now + 86_400.0)
