"""A long job that is put off by every deploy: it goes on from its checkpoint, and no attempt is used."""

import msgspec

from tenure.event import EventKind
from tenure.message import MessageState

from .grounds import on
from .stage import Stage

#: More than the task's `max_attempts`, which is 3.
STOPS = 5


@on("sqlite", "valkey9")
def test_a_job_snoozed_over_five_sigterms_completes_in_its_first_attempt(stage: Stage) -> None:
    """No attempt is used by a stop: `raise Snooze` on `ctx.stopping`, five times, with `max_attempts=3`."""
    stage.configure(lease=30, sweep_interval=1, grace=30)
    (id,) = stage.submit("turn_pages", {"gate": "open"})
    for stop in range(1, STOPS + 1):
        worker = stage.worker(concurrency=1)
        stage.until_started(stop)
        worker.terminate()
        assert worker.wait() == 0
        record = stage.record(id)
        assert record.state in (MessageState.READY, MessageState.DELAYED)
        assert record.counters.attempts == 0
        assert "1 snoozed" in worker.said
    stage.open_gate("open")
    stage.worker(concurrency=1)
    stage.until_settled()

    stage.verdict()
    record = stage.record(id)
    answer = msgspec.json.decode(record.result or b"")
    assert (record.state, record.counters.attempts, answer["attempt"]) == (MessageState.COMPLETED, 0, 1)
    assert answer["begun_at"] >= STOPS, "the last run began where the one before it had stopped"
    snoozes = [event for event in stage.events(EventKind.SNOOZED) if event.message_id == id]
    assert [event.data["snoozes"] for event in snoozes] == [1, 2, 3, 4, 5]
    assert {event.attempt for event in snoozes} == {1}
    assert not stage.events(EventKind.RETRIED, EventKind.DEAD, EventKind.GIVEN_BACK)
