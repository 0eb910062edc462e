"""Cancelling, where it touches keys and claims of the same file."""

from tenure.claim import ClaimRequest, Fresh, Scope, Seal, Token, digest
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter, Outcome
from tenure.verdict import Reason

from .place import Place, message

BOOM = Reason("error", "it broke")


async def claimed(place: Place, id: str, generation: int = 0, key: str | None = "k") -> Token:
    one = message(id, key=key, generation=generation)
    (answer,) = await place.state.ledger.claim([ClaimRequest(Scope.of(one), id, "w/1", 30.0, digest(one))])
    assert isinstance(answer, Fresh)
    return answer.token


async def test_what_is_sealed_but_not_yet_acked_is_done(place: Place) -> None:
    await place.send("a", key="k")
    (lease,) = await place.lease()
    await place.state.ledger.seal([Seal(await claimed(place, "a"), b"42")])
    assert await place.broker.cancel(["a"]) == [None]
    assert (await place.state.board.read()).cancels == 0
    (settlement,) = await place.broker.ack([Ack(lease, b"42")])
    assert settlement.outcome is Outcome.DELETED
    assert (await place.record("a")).result == b"42"


async def test_a_redriven_message_can_be_cancelled_although_it_was_done_once(place: Place) -> None:
    await place.send("a", key="k")
    (lease,) = await place.lease()
    await place.state.ledger.seal([Seal(await claimed(place, "a"), b"42")])
    await place.broker.dead_letter([DeadLetter(lease, BOOM)])
    await place.broker.redrive(["a"])
    await place.lease()
    token = await claimed(place, "a", generation=1)
    assert await place.broker.cancel(["a"]) == [MessageState.LEASED]
    assert await place.state.ledger.renew([token]) == [False]
    # What was done before it was redriven stays done.
    assert place.sql("SELECT state FROM claim") == [("done",)]


async def test_no_claim_is_left_behind_with_or_without_a_key(place: Place) -> None:
    await place.send("a", key="k")
    await place.send("b")
    await place.lease(2)
    tokens = [await claimed(place, "a"), await claimed(place, "b", key=None)]
    await place.broker.cancel(["a", "b"])
    assert place.sql("SELECT count(*) FROM claim") == [(0,)]
    assert await place.state.ledger.release(tokens) == [False, False]


async def test_a_release_said_again_after_the_key_was_forgotten_is_still_true(place: Place) -> None:
    """Of a message that lies elsewhere; so the worker can go on with its dead letter after an outage."""
    token = await claimed(place, "elsewhere")
    assert await place.state.ledger.release([token]) == [True]
    await place.state.ledger.forget([token.scope])
    assert await place.state.ledger.release([token]) == [True]


async def test_hundreds_are_cancelled_in_few_statements(place: Place) -> None:
    ids = [f"m{n}" for n in range(500)]
    await place.send(*ids)
    await place.lease(200)
    statements: list[str] = []
    place.store._writer._db.set_trace_callback(statements.append)
    answers = await place.broker.cancel(ids)
    assert answers == [MessageState.LEASED] * 200 + [MessageState.READY] * 300
    assert len(statements) < 20
    assert (await place.state.board.read()).cancels == 200
    assert place.sql("SELECT count(*) FROM note") == [(500,)]
