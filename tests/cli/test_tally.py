"""What a worker did, in a line."""

from tenure.cli.commands.worker.summary import Summary
from tenure.event import Event, EventKind


def _events(kind: EventKind, count: int) -> list[Event]:
    return [Event(kind, 0.0)] * count


def test_a_summary_tells_what_is_new_since_the_last_one() -> None:
    tally = Summary()
    assert tally.since_last() == ""
    tally.publish([*_events(EventKind.COMPLETED, 3), *_events(EventKind.SNOOZED, 1)])
    assert tally.since_last() == "3 completed, 1 snoozed"
    assert tally.since_last() == ""
    tally.publish([*_events(EventKind.COMPLETED, 2), *_events(EventKind.OWNER_JOINED, 5)])
    assert tally.since_last() == "2 completed"
    assert str(tally) == "5 completed, 1 snoozed"


def test_a_cancelled_run_is_counted_as_cancelled_and_not_as_lost() -> None:
    tally = Summary()
    data = {"code": "cancelled", "by": "alice (cli)"}
    tally.publish([Event(kind, 0.0, data=data) for kind in (EventKind.LEASE_LOST, EventKind.LATE_SETTLE)])
    tally.publish(_events(EventKind.LEASE_LOST, 1))
    assert tally.since_last() == str(tally) == "1 lost, 2 cancelled"
    assert tally.since_last() == ""
