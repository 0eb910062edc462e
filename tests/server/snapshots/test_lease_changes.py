"""Leases as changes, and the tags that tell whether anything changed."""

from typing import Any

import msgspec

from tenure.client.operations.overview.rows import (
    Flow,
    Headline,
    Mood,
    Overview,
    QueueOverview,
    TaskOverview,
    total_of,
)
from tenure.query import HeldLease
from tenure.server.snapshots.entity_tag import matches, tag_of
from tenure.server.snapshots.lease_changes import changes
from tenure.server.snapshots.parts import leases_of, overview_of, queues_of, times_of

NOW = 1_767_225_600.0


def lease(id: str, **fields: Any) -> HeldLease:
    given = {
        "queue": "mail", "task": "t", "owner": "w/1", "fence": 1, "attempt": 1, "leased_at": NOW, "deadline": NOW + 30,
        "deadline_in": 30.0, "seconds": 30.0,
    }  # fmt: skip
    return HeldLease(id=id, **{**given, **fields})


def applied(rows: dict[str, HeldLease], before: list[HeldLease] | None, now: list[HeldLease]) -> dict[str, HeldLease]:
    """What a viewer does."""
    told = changes(before, now, is_cut=False)
    kept = {} if told.is_whole else {id: row for id, row in rows.items() if id not in told.removed}
    return {**kept, **{row.id: row for row in told.changed}}


def test_a_viewer_who_follows_shows_what_is() -> None:
    course = [
        [lease("a"), lease("b")],
        [lease("b", deadline=NOW + 60), lease("c")],
        [],
        [lease("c", fence=2), lease("a")],
    ]
    rows: dict[str, HeldLease] = {}
    before: list[HeldLease] | None = None
    for now in course:
        rows = applied(rows, before, now)
        assert rows == {row.id: row for row in now}
        before = now


def test_what_only_grew_older_is_no_change() -> None:
    before = [lease("a", leased_at=NOW + 0.0000021, deadline=NOW + 30.0000012)]
    now = [lease("a", leased_at=NOW + 0.0000034, deadline=NOW + 30.0000003, deadline_in=29.0)]
    told = changes(before, now, is_cut=True)
    assert (told.changed, told.removed, told.is_cut, told.is_whole) == ((), (), True, False)


def test_a_beat_and_progress_are_changes() -> None:
    before = [lease("a")]
    for field, value in (("beats", 1), ("deadline", NOW + 31), ("owner", "w/2"), ("attempt", 2)):
        now = [lease("a", **{field: value})]
        assert changes(before, now, is_cut=False).changed == tuple(now), field


def overview(**fields: Any) -> Overview:
    return Overview(**{
        "now": NOW, "leases": (lease("a"),), "headline": Headline(Mood.WELL, "All well: swept 3 s ago"),
        "last_sweep_at": NOW - 3, "next_sweep_at": NOW + 2, **fields,
    })  # fmt: skip


def tags(seen: Overview, now: float = NOW) -> list[str]:
    times = times_of(seen, now, 1.0)
    return [tag_of(part(seen, times)) for part in (overview_of, queues_of, leases_of)]


def test_a_tag_is_of_what_is_said_and_not_of_when() -> None:
    later = overview(
        now=NOW + 1,
        leases=(lease("a", deadline_in=29.0),),
        last_sweep_at=NOW - 3 + 1e-6,
        headline=Headline(Mood.WELL, "All well: swept 4 s ago"),
    )
    assert tags(overview()) == tags(later, NOW + 1.5)
    swept = overview(last_sweep_at=NOW)
    assert all(one != other for one, other in zip(tags(overview()), tags(swept), strict=True))
    bad = overview(headline=Headline(Mood.BAD, "No worker is alive"))
    assert tags(bad)[0] != tags(overview())[0]
    beaten = overview(leases=(lease("a", beats=1),))
    assert [one != other for one, other in zip(tags(beaten), tags(overview()), strict=True)] == [True, False, True]


def test_what_the_client_has_already() -> None:
    assert matches('W/"a"', 'W/"a"')
    assert matches('"a"', 'W/"a"')
    assert matches('"b", W/"a"', 'W/"a"')
    assert matches("*", 'W/"a"')
    assert not matches(None, 'W/"a"')
    assert not matches("", 'W/"a"')
    assert not matches('W/"b"', 'W/"a"')


def test_the_largest_overview_fits_into_8_kilobytes() -> None:
    name, number = "customer-of-long-name-{:04}-tasks", 123_456.789012345
    flow = Flow(
        in_per_second=number, out_per_second=number, p50_seconds=number, p95_seconds=number, error_share=0.123456789012,
        lease_use=0.123456789012, history=(number,) * 30,
    )  # fmt: skip
    queues = tuple(
        QueueOverview(queue=name.format(one), waiting=10**6, delayed=10**6, running=10**3, dead=10**3,
                      oldest_seconds=number, drains_in_seconds=number, grows=False, workers=100, flow=flow)
        for one in range(1_000)
    )  # fmt: skip
    tasks = tuple(TaskOverview(queue=row.queue, task="resize_the_image", running=10**3, flow=flow) for row in queues)
    held = {"queue": name.format(1), "owner": "a-worker-of-some-host-0042/4f2a90c1d3e7", "deadline": NOW + 0.123456}
    leases = tuple(lease(f"0197b2c0-1111-7000-8000-{one:012}", **held) for one in range(1_000))
    seen = overview(queues=queues, tasks=tasks, leases=leases, total=total_of(queues, (), flow))
    encoded = msgspec.json.encode(overview_of(seen, times_of(seen, NOW, 1.0)))
    assert len(encoded) <= 8_192


def test_a_page_of_leases_says_that_there_are_more() -> None:
    seen = overview(leases=tuple(lease(str(number)) for number in range(30)))
    times = times_of(seen, NOW, 1.0)
    assert (len(leases_of(seen, times, 20).leases), leases_of(seen, times, 20).is_cut) == (20, True)
    assert not leases_of(seen, times).is_cut
    assert leases_of(msgspec.structs.replace(seen, leases_cut=True), times).is_cut
