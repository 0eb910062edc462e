"""Repeating: what the outbox says again, because the answer was lost, must be answered as the first time.

A flush that fails half-way is repeated as a whole: claims are sealed or released again with the same token.
If the ledger called that stale, the worker would take its own success for a lost lease.
"""

from tenure.claim import ClaimRequest, Done, Fresh, Scope, Seal, Token
from tenure.owner import Owner
from tenure.testing.harness import QUEUE, TASK, Harness

SCOPE = Scope(QUEUE, TASK, "k")


class Repeating:
    """The ledger's answers to a token that was used before."""

    async def test_a_seal_said_again_is_true_again(self, harness: Harness) -> None:
        token = await _claim(harness, "a")
        assert await harness.state.ledger.seal([Seal(token, b"1")]) == [True]
        assert await harness.state.ledger.seal([Seal(token, b"1")]) == [True]
        (answer,) = await harness.state.ledger.claim([_request(await harness.owner(), "b")])
        assert answer == Done(b"1")

    async def test_a_seal_with_the_token_of_another_claim_is_false(self, harness: Harness) -> None:
        first = await _claim(harness, "a")
        assert await harness.state.ledger.release([first]) == [True]
        second = await _claim(harness, "b")
        assert await harness.state.ledger.seal([Seal(second, b"2")]) == [True]
        assert await harness.state.ledger.seal([Seal(first, b"1")]) == [False]
        (answer,) = await harness.state.ledger.claim([_request(await harness.owner(), "c")])
        assert answer == Done(b"2")

    async def test_a_release_said_again_is_true_again(self, harness: Harness) -> None:
        token = await _claim(harness, "a")
        assert await harness.state.ledger.release([token]) == [True]
        assert await harness.state.ledger.release([token]) == [True]
        assert (await _claim(harness, "b")).fence > token.fence

    async def test_a_release_said_again_is_false_once_somebody_else_claimed(self, harness: Harness) -> None:
        first = await _claim(harness, "a")
        assert await harness.state.ledger.release([first]) == [True]
        second = await _claim(harness, "b")
        assert await harness.state.ledger.release([first]) == [False]
        assert await harness.state.ledger.renew([second]) == [True], "the stale release ended another's claim"

    async def test_a_release_after_the_seal_is_false(self, harness: Harness) -> None:
        token = await _claim(harness, "a")
        assert await harness.state.ledger.seal([Seal(token, b"1")]) == [True]
        assert await harness.state.ledger.release([token]) == [False]
        (answer,) = await harness.state.ledger.claim([_request(await harness.owner(), "b")])
        assert answer == Done(b"1")

    async def test_the_claim_of_a_message_without_a_key_is_released_again_too(self, harness: Harness) -> None:
        owner = await harness.owner()
        request = ClaimRequest(Scope(QUEUE, TASK, "id:m"), "m", owner.id, harness.lease_seconds, "digest")
        (answer,) = await harness.state.ledger.claim([request])
        assert isinstance(answer, Fresh)
        assert await harness.state.ledger.release([answer.token]) == [True]
        assert await harness.state.ledger.release([answer.token]) == [True]


async def _claim(harness: Harness, id: str) -> Token:
    (answer,) = await harness.state.ledger.claim([_request(await harness.owner(), id)])
    assert isinstance(answer, Fresh), answer
    return answer.token


def _request(owner: Owner, id: str) -> ClaimRequest:
    return ClaimRequest(SCOPE, id, owner.id, 30.0, "digest")
