"""Why a message that was done came again, as far as the events of its earlier runs show it.

    completed once, its delete did not work                          delete_failed
    sealed, and its worker ended before the delete                   delete_failed
    delivered again while a run was under way                        expired_mid_run
    completed and deleted, and sent later than that, or never run    sent_again: by its id, or by another message's key
    an operator redrove it after it was done                         redriven
    completed and deleted, and it came again all the same            redelivered: at-least-once queues do this

Pure, with a table of cases in `tests/rules/test_duplicate_cause.py`. Used where a duplicate is met
(`runtime/path/duplicates.py`) and where its life is told (`client/operations/life.py`).
"""

from collections.abc import Sequence
from enum import StrEnum

from tenure.event import Event, EventKind


class DuplicateCause(StrEnum):
    """Why it came again."""

    EXPIRED_MID_RUN = "expired_mid_run"
    DELETE_FAILED = "delete_failed"
    SENT_AGAIN = "sent_again"
    REDELIVERED = "redelivered"
    REDRIVEN = "redriven"


#: A clock of a sender and one of a worker may differ by this much.
_SKEW_SECONDS = 1.0
#: Facts of a run that another worker ran too.
_OVERLAPS = (EventKind.LEASE_LOST, EventKind.LATE_SETTLE)
_RUNNING = "running_elsewhere"
_TAKEN = ("already_gone", "taken_over")
#: Facts that show that the message was run, or was about to be.
_RUN = (EventKind.RETRIED, EventKind.SNOOZED, EventKind.REQUEUE, EventKind.RECEIVED, EventKind.PROCESSED, *_OVERLAPS)


def duplicate_cause(events: Sequence[Event], *, deliveries: int, sent_at: float | None = None) -> DuplicateCause | None:
    """The cause, by the events of the message before it was met, oldest first. None: they do not show it.

    `deliveries` counts this one; `sent_at` is what the message says that was met.
    """
    done = next((event for event in reversed(events) if event.kind is EventKind.COMPLETED), None)
    redriven = next((event for event in reversed(events) if event.kind is EventKind.REDRIVEN), None)
    if redriven is not None and (done is None or redriven.at > done.at):
        return DuplicateCause.REDRIVEN
    if done is None:
        return _never_told(events, deliveries)
    if sent_at is not None and sent_at > done.at + _SKEW_SECONDS:
        return DuplicateCause.SENT_AGAIN
    delete = done.data.get("delete")
    if delete in _TAKEN or any(_is_overlap(event, done) for event in events):
        return DuplicateCause.EXPIRED_MID_RUN
    if delete is not None:
        return DuplicateCause.DELETE_FAILED
    return DuplicateCause.REDELIVERED if deliveries > 1 else DuplicateCause.SENT_AGAIN


def _never_told(events: Sequence[Event], deliveries: int) -> DuplicateCause | None:
    """No run of this message is known to have completed it."""
    if any(event.kind is EventKind.LEASE_LOST or event.data.get("code") == _RUNNING for event in events):
        return DuplicateCause.EXPIRED_MID_RUN
    if deliveries <= 1 and not any(event.kind in _RUN for event in events):
        return DuplicateCause.SENT_AGAIN  # another message of its key was done
    # It is done, so it was sealed; a worker that deletes what it sealed tells that it completed.
    return DuplicateCause.DELETE_FAILED if deliveries > 1 else None


def _is_overlap(event: Event, done: Event) -> bool:
    """Whether another worker had the message while the run that completed it was under way."""
    began = done.at - (done.seconds or 0.0) - _SKEW_SECONDS
    if event.at < began:
        return False
    return event.kind in _OVERLAPS or event.data.get("code") == _RUNNING
