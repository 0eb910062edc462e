"""What is routine is shown only where it is asked for; what is abnormal always."""

from typing import Any

import pytest

from tenure.client.operations.event_choice import EventChoice
from tenure.event import Event, EventKind

SAMPLED = {"sample_weight": 1.0}


def _event(kind: EventKind, data: dict[str, Any] | None = None) -> Event:
    return Event(kind, 100.0, "q", "t", "a", data=data or {})


@pytest.mark.parametrize(
    ("kind", "data", "is_routine"),
    [
        (EventKind.COMPLETED, {}, True),
        (EventKind.RECEIVED, SAMPLED, True),
        (EventKind.RECEIVED, {}, False),
        (EventKind.PROCESSED, {"timeout_risk": True}, False),
        (EventKind.WEBHOOK_DELIVERED, SAMPLED, True),
        (EventKind.DEAD, {}, False),
    ],
)
def test_routine_is_left_out_unless_it_is_asked_for(kind: EventKind, data: dict[str, Any], *, is_routine: bool) -> None:
    event = _event(kind, data)
    assert EventChoice().is_left_out(event) is is_routine
    for choice in (EventChoice(everything=True), EventChoice(message="a"), EventChoice(kinds=frozenset({kind.value}))):
        assert choice.means(event)
        assert not choice.is_left_out(event)
