"""Messages that can never succeed."""

from tenure.message import MessageState

from .grounds import on
from .stage import Stage


@on("sqlite", "valkey9")
def test_a_task_that_raises_for_ever_ends_in_the_dead_letters_with_its_reason(stage: Stage) -> None:
    """No loss, and no harm to others: after `max_attempts` it is put aside, and says why."""
    stage.worker()
    failing = stage.submit("fail", {}, count=3)
    stage.submit("fail", {}, max_attempts=1)
    stage.submit_many("nap", [{"seconds": 0.05}] * 50)

    stage.until_settled()

    dead = [*failing, stage.sent[3]]
    verdict = stage.verdict(dead=dead)
    assert len(verdict.completed) == 50
    for id, attempts in zip(dead, (3, 3, 3, 1), strict=True):
        record = stage.record(id)
        assert record.reason is not None
        assert record.reason.code == "max_attempts"
        assert "this task always fails" in record.reason.text
        assert "ValueError" in record.reason.traceback
        assert record.counters.attempts == len(stage.runs([id])) == attempts


@on("sqlite", "valkey9")
def test_a_damaged_message_goes_to_the_dead_letters_as_it_is(stage: Stage) -> None:
    """No loss: what cannot be read keeps its raw bytes and gets a reason; the others do not notice."""
    damages = [b"\x00\xffnot an envelope\x80", b"", b"{}", b"null", b"\x1e", b'{"tenure": 1}']
    ids = stage.submit_many("nap", [{"seconds": 0.0}] * 20)
    damaged = dict(zip(ids[3:], damages, strict=False))
    for id, damage in damaged.items():
        stage.ground.damage(stage.app.queue, id, damage)

    stage.worker()
    stage.until_settled()

    stage.verdict(dead=damaged)
    letters = stage.browse(MessageState.DEAD)
    assert {letter.id: letter.envelope for letter in letters} == damaged
    assert {letter.reason.code for letter in letters if letter.reason is not None} == {"body_undecodable"}
