"""The ledger: one runner at a time for each scope, done is done, and only the token's holder can change it."""

import asyncio
import contextlib

import msgspec

from tenure.claim import (
    ClaimAnswer,
    ClaimRequest,
    Conflict,
    Done,
    Fresh,
    Running,
    Scope,
    Seal,
    Token,
    digest,
)
from tenure.errors import OwnerRetired
from tenure.message import Message, Outgoing
from tenure.testing.harness import QUEUE, TASK, Harness

KEY = "invoice-7"
SCOPE = Scope(QUEUE, TASK, KEY)
DAY = 86_400.0


class Ledger:
    """The promises of the ledger."""

    async def test_the_first_to_ask_goes_ahead(self, harness: Harness) -> None:
        answer = await _ask(harness, "one/1")
        assert isinstance(answer, Fresh)
        token = answer.token
        assert (token.scope, token.id, token.owner) == (SCOPE, "a", "one/1")
        assert (token.seconds, token.fence > 0) == (harness.lease_seconds, True)

    async def test_while_somebody_runs_it_nobody_else_may(self, harness: Harness) -> None:
        await _claimed(harness, "one/1")
        await harness.advance(10.0)
        answer = await _ask(harness, "two/1")
        assert isinstance(answer, Running)
        assert answer.owner == "one/1"
        assert harness.lease_seconds - 11 <= answer.remaining_seconds <= harness.lease_seconds - 10

    async def test_not_even_the_same_owner_may_run_it_twice(self, harness: Harness) -> None:
        await _claimed(harness, "one/1")
        assert isinstance(await _ask(harness, "one/1"), Running)

    async def test_of_many_that_ask_at_once_one_goes_ahead(self, harness: Harness) -> None:
        answers = await asyncio.gather(*(_ask(harness, f"owner/{number}") for number in range(8)))
        assert [type(answer) for answer in answers].count(Fresh) == 1
        assert [type(answer) for answer in answers].count(Running) == 7

    async def test_of_two_in_one_batch_the_first_goes_ahead(self, harness: Harness) -> None:
        requests = [_request(harness, "one/1"), _request(harness, "one/1"), _request(harness, "one/1", key="other")]
        answers = await harness.state.ledger.claim(requests)
        assert [type(answer) for answer in answers] == [Fresh, Running, Fresh]

    async def test_scopes_are_apart(self, harness: Harness) -> None:
        scopes = [
            SCOPE,
            Scope("other", TASK, KEY),
            Scope(QUEUE, "other", KEY),
            Scope(QUEUE, TASK, "other"),
            Scope(QUEUE, TASK, KEY, generation=1),
        ]
        for number, scope in enumerate(scopes):
            request = ClaimRequest(scope, f"message-{number}", "one/1", harness.lease_seconds, "same")
            (answer,) = await harness.state.ledger.claim([request])
            assert isinstance(answer, Fresh), scope

    async def test_the_fence_rises_with_each_claim(self, harness: Harness) -> None:
        fences = []
        for number in range(4):
            token = await _claimed(harness, f"owner/{number}")
            fences.append(token.fence)
            await harness.state.ledger.release([token])
        assert fences == sorted(set(fences))

    async def test_what_is_sealed_is_done_for_everybody(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        assert await harness.state.ledger.seal([Seal(token, b"42")]) == [True]
        for owner in ("one/1", "two/1"):
            assert await _ask(harness, owner) == Done(b"42")

    async def test_a_seal_keeps_the_hand_offs(self, harness: Harness) -> None:
        handoffs = (Outgoing(harness.message()), Outgoing(harness.message(body=["ä"]), 60.0))
        token = await _claimed(harness, "one/1")
        await harness.state.ledger.seal([Seal(token, b"42", handoffs)])
        assert await _ask(harness, "two/1") == Done(b"42", handoffs)

    async def test_done_beats_a_lapsed_claim(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        await harness.state.ledger.seal([Seal(token, b"42")])
        await harness.advance(harness.lease_seconds * 3)
        assert await _ask(harness, "two/1") == Done(b"42")

    async def test_done_beats_a_dead_owner(self, harness: Harness) -> None:
        owner = await harness.owner()
        token = await _claimed(harness, owner.id)
        await harness.state.ledger.seal([Seal(token, b"42")])
        await harness.broker.retire(owner.id, crashed=True)
        assert await _ask(harness, "two/1") == Done(b"42")

    async def test_done_is_remembered_for_six_days(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        await harness.state.ledger.seal([Seal(token, b"42")])
        await harness.advance(6 * DAY, sweeping=False)
        await harness.sweep()
        assert await _ask(harness, "two/1") == Done(b"42")

    async def test_messages_under_one_key_belong_to_one_send(self, harness: Harness) -> None:
        first, second = harness.message(key="k"), harness.message(key="k")
        tokens = [await _granted(harness, first), await _granted(harness, second, later=7.0)]
        assert tokens[0].send_id == tokens[1].send_id

    async def test_a_key_that_was_freed_belongs_to_a_new_send(self, harness: Harness) -> None:
        # Where `send` knows keys, one message is all there is of a key, and its own moment names the send.
        harness.need("keys_at_send", lambda known: not known)
        first, second = harness.message(key="k"), harness.message(key="k")
        earlier = await _granted(harness, first)
        await harness.state.ledger.forget([Scope.of(first)])
        assert (await _granted(harness, second)).send_id not in ("", earlier.send_id)

    async def test_a_key_sent_again_under_the_same_id_belongs_to_a_new_send(self, harness: Harness) -> None:
        harness.need("keys_at_send", lambda known: not known)
        message = harness.message(key="k")
        earlier = await _granted(harness, message)
        await harness.state.ledger.forget([Scope.of(message)])
        assert (await _granted(harness, message, later=7.0)).send_id not in ("", earlier.send_id)

    async def test_a_seal_repeated_after_a_lost_reply_is_told_that_it_is_done(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        assert await harness.state.ledger.seal([Seal(token, b"1")]) == [True]
        # It is done, by this very token; and nothing is written again.
        assert await harness.state.ledger.seal([Seal(token, b"2")]) == [True]
        assert await _ask(harness, "two/1") == Done(b"1")

    async def test_a_release_repeated_after_a_lost_reply_is_told_that_it_is_free(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        assert await harness.state.ledger.release([token]) == [True]
        assert await harness.state.ledger.release([token]) == [True]
        await _claimed(harness, "two/1")
        assert await harness.state.ledger.release([token]) == [False]

    async def test_a_renewed_claim_runs_on_from_now(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        for _ in range(4):
            await harness.advance(harness.lease_seconds / 2)
            assert await harness.state.ledger.renew([token]) == [True]
        answer = await _ask(harness, "two/1")
        assert isinstance(answer, Running)
        assert round(answer.remaining_seconds, 3) == harness.lease_seconds

    async def test_a_lapsed_claim_is_taken_over(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        await harness.advance(harness.lease_seconds - 1)
        assert isinstance(await _ask(harness, "two/1"), Running)
        await harness.advance(2.0)
        new = await _claimed(harness, "two/1")
        assert new.fence > token.fence

    async def test_a_lapsed_claim_that_nobody_took_is_still_its_holders(self, harness: Harness) -> None:
        token, other = await _claimed(harness, "one/1"), await _claimed(harness, "one/1", key="other")
        await harness.advance(harness.lease_seconds * 2)
        assert await harness.state.ledger.renew([token]) == [True]
        assert isinstance(await _ask(harness, "two/1"), Running)
        assert await harness.state.ledger.seal([Seal(other, b"42")]) == [True]

    async def test_the_claim_of_a_retired_owner_is_taken_over_at_once(self, harness: Harness) -> None:
        owner = await harness.owner()
        token = await _claimed(harness, owner.id, seconds=3600.0)
        await harness.broker.retire(owner.id, crashed=True)
        new = await _claimed(harness, "two/1")
        assert new.fence > token.fence

    async def test_a_released_claim_is_free_at_once(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        assert await harness.state.ledger.release([token]) == [True]
        new = await _claimed(harness, "two/1")
        assert new.fence > token.fence

    async def test_a_stale_token_cannot_seal(self, harness: Harness) -> None:
        for stale, before in await _stale_tokens(harness):
            if before == Done(b"its own"):
                continue  # its own seal, repeated: see above
            assert await harness.state.ledger.seal([Seal(stale, b'"stale"')]) == [False]
            assert _is_as_before(await _look(harness, stale), before)

    async def test_a_stale_token_cannot_renew(self, harness: Harness) -> None:
        for stale, before in await _stale_tokens(harness):
            assert await harness.state.ledger.renew([stale]) == [False]
            assert _is_as_before(await _look(harness, stale), before)

    async def test_a_stale_token_cannot_release(self, harness: Harness) -> None:
        for stale, before in await _stale_tokens(harness):
            assert await harness.state.ledger.release([stale]) == [False]
            assert _is_as_before(await _look(harness, stale), before)

    async def test_a_batch_is_answered_in_order_each_for_itself(self, harness: Harness) -> None:
        tokens = [await _claimed(harness, "one/1", key=key) for key in ("a", "b", "c")]
        ledger = harness.state.ledger
        await ledger.release([tokens[1]])
        assert await ledger.renew(tokens) == [True, False, True]
        assert await ledger.seal([Seal(token, b"1") for token in tokens]) == [True, False, True]
        # Sealed is not released; the second was, before.
        assert await ledger.release(tokens) == [False, True, False]

    async def test_another_payload_under_a_done_key_is_a_conflict(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        await harness.state.ledger.seal([Seal(token, b"42")])
        assert await _ask(harness, "two/1", id="b", digest="other") == Conflict("a")
        assert await _ask(harness, "two/1") == Done(b"42")

    async def test_another_payload_under_a_running_key_is_a_conflict(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        assert await _ask(harness, "two/1", id="b", digest="other") == Conflict("a")
        assert await harness.state.ledger.renew([token]) == [True]

    async def test_a_retired_owner_is_granted_nothing(self, harness: Harness) -> None:
        owner = await harness.owner()
        await harness.broker.retire(owner.id, crashed=True)
        with contextlib.suppress(OwnerRetired):
            assert not isinstance(await _ask(harness, owner.id), Fresh)
        assert isinstance(await _ask(harness, "two/1"), Fresh)

    async def test_a_retired_owner_can_neither_renew_nor_seal(self, harness: Harness) -> None:
        owner = await harness.owner()
        token = await _claimed(harness, owner.id, seconds=3600.0)
        await harness.broker.retire(owner.id, crashed=True)
        # No other owner has taken over yet, and still its calls change nothing.
        assert await harness.state.ledger.renew([token]) == [False]
        assert await harness.state.ledger.seal([Seal(token, b"42")]) == [False]
        assert isinstance(await _ask(harness, "two/1"), Fresh)

    async def test_retiring_an_owner_leaves_alone_what_others_took_over_from_it(self, harness: Harness) -> None:
        owner = await harness.owner()
        await _claimed(harness, owner.id, key="lapsed")
        await _claimed(harness, owner.id, key="forgotten")
        await harness.advance(harness.lease_seconds + 1)
        await harness.state.ledger.forget([Scope(QUEUE, TASK, "forgotten")])
        tokens = [await _claimed(harness, "two/1", key=key, seconds=3600.0) for key in ("lapsed", "forgotten")]
        await harness.broker.retire(owner.id, crashed=True)
        for key in ("lapsed", "forgotten"):
            answer = await _ask(harness, "three/1", key=key)
            assert isinstance(answer, Running)
            assert answer.owner == "two/1"
        assert await harness.state.ledger.seal([Seal(token, b"42") for token in tokens]) == [True, True]

    async def test_a_key_that_is_forgotten_is_free(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        await harness.state.ledger.seal([Seal(token, b"42")])
        kept = await _claimed(harness, "one/1", key="other")
        await harness.state.ledger.seal([Seal(kept, b"1")])
        await harness.state.ledger.forget([SCOPE])
        assert isinstance(await _ask(harness, "two/1", id="b", digest="other"), Fresh)
        assert await _ask(harness, "two/1", key="other") == Done(b"1")

    async def test_forgetting_a_running_claim_ends_it(self, harness: Harness) -> None:
        token = await _claimed(harness, "one/1")
        await harness.state.ledger.forget([SCOPE])
        assert await harness.state.ledger.seal([Seal(token, b"42")]) == [False]
        new = await _claimed(harness, "two/1")
        assert new.fence > token.fence

    async def test_empty_batches_are_no_error(self, harness: Harness) -> None:
        ledger = harness.state.ledger
        assert await ledger.claim([]) == []
        assert await ledger.renew([]) == []
        assert await ledger.release([]) == []
        assert await ledger.seal([]) == []
        await ledger.forget([])


def _request(
    harness: Harness,
    owner: str,
    *,
    key: str = KEY,
    id: str = "a",
    digest: str = "same",
    seconds: float | None = None,
) -> ClaimRequest:
    seconds = harness.lease_seconds if seconds is None else seconds
    return ClaimRequest(Scope(QUEUE, TASK, key), id, owner, seconds, digest)


async def _ask(
    harness: Harness, owner: str, *, key: str = KEY, id: str = "a", digest: str = "same", seconds: float | None = None
) -> ClaimAnswer:
    (answer,) = await harness.state.ledger.claim(
        [_request(harness, owner, key=key, id=id, digest=digest, seconds=seconds)]
    )
    return answer


async def _claimed(harness: Harness, owner: str, *, key: str = KEY, seconds: float | None = None) -> Token:
    answer = await _ask(harness, owner, key=key, seconds=seconds)
    assert isinstance(answer, Fresh), f"the claim was to be free, not {answer}"
    return answer.token


def _is_as_before(now: ClaimAnswer, before: ClaimAnswer) -> bool:
    """The same answer; what is left of a claim may be a little less, where time does not stand still."""
    if isinstance(now, Running) and isinstance(before, Running):
        return now.owner == before.owner and 0.0 <= before.remaining_seconds - now.remaining_seconds < 60.0
    return now == before


async def _look(harness: Harness, token: Token) -> ClaimAnswer:
    """Return the answer that another owner gets about a claim that is not free."""
    (answer,) = await harness.state.ledger.claim(
        [ClaimRequest(token.scope, token.id, "looker/1", harness.lease_seconds, "same")]
    )
    return answer


async def _stale_tokens(harness: Harness) -> list[tuple[Token, ClaimAnswer]]:
    """Tokens that may no longer change anything, each with what its claim must go on saying."""
    tokens = []
    lapsed = [await _claimed(harness, "one/1", key="lapsed"), await _claimed(harness, "one/1", key="itself")]
    await harness.advance(harness.lease_seconds + 1)
    await _claimed(harness, "two/1", key="lapsed", seconds=3600.0)
    await _claimed(harness, "one/1", key="itself", seconds=3600.0)
    tokens += lapsed

    released = await _claimed(harness, "one/1", key="released")
    await harness.state.ledger.release([released])
    await _claimed(harness, "two/1", key="released", seconds=3600.0)
    tokens.append(released)

    owner = await harness.owner()
    retired = await _claimed(harness, owner.id, key="retired")
    await harness.broker.retire(owner.id, crashed=True)
    await _claimed(harness, "two/1", key="retired", seconds=3600.0)
    tokens.append(retired)

    sealed = await _claimed(harness, "one/1", key="sealed")
    await harness.state.ledger.seal([Seal(sealed, b"its own")])
    tokens.append(sealed)

    passed = await _claimed(harness, "one/1", key="passed on")
    await harness.state.ledger.release([passed])
    await harness.state.ledger.seal([Seal(await _claimed(harness, "two/1", key="passed on"), b"another's")])
    tokens.append(passed)

    running = await _claimed(harness, "one/1", key="running", seconds=3600.0)
    tokens.append(msgspec.structs.replace(running, owner="two/1"))
    tokens.append(msgspec.structs.replace(running, fence=running.fence - 1))
    return [(token, await _look(harness, token)) for token in tokens]


async def _granted(harness: Harness, message: Message, *, later: float = 0.0) -> Token:
    """Claim for a message that was sent `later`, and let others claim again."""
    ledger, sent_at = harness.state.ledger, message.sent_at + later
    request = ClaimRequest(Scope.of(message), message.id, harness.stranger(), 30.0, digest(message), sent_at)
    (answer,) = await ledger.claim([request])
    assert isinstance(answer, Fresh), answer
    assert await ledger.release([answer.token]) == [True]
    return answer.token
