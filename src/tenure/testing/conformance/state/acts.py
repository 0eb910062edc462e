"""Acts: who did what from outside, newest first, for longer than any event is kept."""

from tenure.act import KEPT_SECONDS, Act
from tenure.event import Event, EventKind
from tenure.testing.harness import Harness

DAY = 86_400.0


class Acts:
    """The promises of the audit log."""

    async def test_an_empty_log_is_empty(self, harness: Harness) -> None:
        assert await harness.state.acts.read() == []
        await harness.state.acts.record([])
        assert await harness.state.acts.read() == []
        assert await harness.state.acts.prune(KEPT_SECONDS) == 0

    async def test_every_field_of_an_act_survives(self, harness: Harness) -> None:
        act = Act(
            kind="redriven",
            at=harness.state.wall(),
            by="ada@host",
            triggered_by="cli",
            source="10.0.0.7",
            queue="mail",
            count=120,
            ids=("a", "b"),
            data={"rate": 2.5, "ä": None, "deep": {"x": [1]}},
        )
        bare = Act(kind="paused", at=harness.state.wall())
        await harness.state.acts.record([act, bare])
        assert [stored.act for stored in await harness.state.acts.read()] == [bare, act]

    async def test_the_newest_comes_first(self, harness: Harness) -> None:
        await _record(harness, "a", "b")
        await _record(harness, "c")
        assert await _kinds(harness) == ["c", "b", "a"]

    async def test_places_rise_in_the_order_of_the_acts(self, harness: Harness) -> None:
        await _record(harness, *"abcde")
        seqs = [stored.seq for stored in await harness.state.acts.read()]
        assert seqs == sorted(seqs, reverse=True)
        assert len(set(seqs)) == 5
        assert min(seqs) > 0

    async def test_pages_go_backwards_without_gap_or_repeat(self, harness: Harness) -> None:
        names = [f"{number:02}" for number in range(11)]
        for name in names:
            await _record(harness, name)
        seen: list[str] = []
        before = 0
        while page := await harness.state.acts.read(before=before, limit=4):
            assert len(page) <= 4
            seen += [stored.act.kind for stored in page]
            before = page[-1].seq
            await _record(harness, "later")
        assert seen == names[::-1]

    async def test_what_comes_later_is_on_no_earlier_page(self, harness: Harness) -> None:
        await _record(harness, "a", "b")
        (newest, *_) = await harness.state.acts.read()
        await _record(harness, "c")
        assert [stored.act.kind for stored in await harness.state.acts.read(before=newest.seq)] == ["a"]

    async def test_reading_changes_nothing(self, harness: Harness) -> None:
        await _record(harness, "a")
        assert await harness.state.acts.read() == await harness.state.acts.read()

    async def test_acts_are_kept_when_events_are_pruned(self, harness: Harness) -> None:
        await harness.state.journal.append([Event(EventKind.COMPLETED, harness.clock.wall())])
        await _record(harness, "a")
        await harness.advance(40 * DAY, sweeping=False)
        assert await harness.state.journal.prune(DAY) == 1
        assert await _kinds(harness) == ["a"]

    async def test_acts_are_no_events(self, harness: Harness) -> None:
        await _record(harness, "a")
        assert await harness.state.journal.read() == []
        assert await harness.state.journal.last() == 0

    async def test_acts_are_kept_for_400_days(self, harness: Harness) -> None:
        await _record(harness, "a")
        await harness.advance(399 * DAY, sweeping=False)
        await harness.state.acts.prune(KEPT_SECONDS)
        assert await _kinds(harness) == ["a"]

    async def test_old_acts_are_pruned_and_the_others_stay(self, harness: Harness) -> None:
        await _record(harness, "a", "b")
        await harness.advance(KEPT_SECONDS / 2, sweeping=False)
        await _record(harness, "c")
        await harness.advance(KEPT_SECONDS / 2 + DAY, sweeping=False)
        # A store that forgets by itself answers 0.
        assert await harness.state.acts.prune(KEPT_SECONDS) in {2, 0}
        assert await _kinds(harness) == ["c"]

    async def test_places_are_never_given_twice(self, harness: Harness) -> None:
        await _record(harness, "a", "b")
        (newest, *_) = await harness.state.acts.read()
        await harness.advance(KEPT_SECONDS + DAY, sweeping=False)
        await harness.state.acts.prune(KEPT_SECONDS)
        await _record(harness, "c")
        (stored,) = await harness.state.acts.read()
        assert stored.seq > newest.seq

    async def test_acts_outlive_the_connection(self, harness: Harness) -> None:
        await _record(harness, "a", "b")
        before = await harness.state.acts.read()
        await harness.reopen()
        assert await harness.state.acts.read() == before
        await _record(harness, "c")
        assert await _kinds(harness) == ["c", "b", "a"]


async def _record(harness: Harness, *kinds: str) -> None:
    await harness.state.acts.record([Act(kind=kind, at=harness.state.wall(), by="ada") for kind in kinds])


async def _kinds(harness: Harness) -> list[str]:
    return [stored.act.kind for stored in await harness.state.acts.read()]
