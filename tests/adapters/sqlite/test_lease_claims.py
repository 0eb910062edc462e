"""A lease comes with the claim of its key where that is free, and the ack seals it in the same commit."""

from pathlib import Path

import pytest

from tenure.claim import ClaimRequest, Done, Fresh, Running, Scope, Token, digest
from tenure.lease import Lease
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, GiveBack, Outcome

from .place import Place, message
from .test_committing import begins


def token_of(lease: Lease, key: str = "k") -> Token:
    """The token as a worker makes it of a lease with a claim."""
    return Token(Scope.of(message(lease.id, key=key)), lease.id, lease.owner, lease.fence, lease.seconds)


def ask(id: str, owner: str, key: str = "k") -> ClaimRequest:
    one = message(id, key=key)
    return ClaimRequest(Scope.of(one), id, owner, 30.0, digest(one))


def claims(place: Place) -> list[tuple[str, str, int | None]]:
    return place.sql("SELECT id, state, fence FROM claim ORDER BY seq")


async def test_a_lease_claims_the_key_under_its_own_fence(place: Place) -> None:
    await place.send("a", key="k")
    (lease,) = await place.lease()
    assert lease.is_claimed
    assert claims(place) == [("a", "running", lease.fence)]
    (other,) = await place.state.ledger.claim([ask("b", "w/2")])
    assert isinstance(other, Running)


async def test_a_lease_of_a_message_without_a_key_has_no_claim(place: Place) -> None:
    await place.send("plain")
    await place.send("keyed", key="k")
    assert {lease.id: lease.is_claimed for lease in await place.lease(2)} == {"plain": False, "keyed": True}


async def test_leases_for_different_times_claim_for_as_long(place: Place) -> None:
    await place.send("short", key="k1")
    await place.broker.send([Outgoing(message("long", key="k2", task="slow"))])
    leases = await place.lease(2, seconds_by_task={"slow": 300.0})
    assert all(lease.is_claimed for lease in leases)
    assert place.sql("SELECT claim.moment = message.moment FROM claim JOIN message USING (id)") == [(1,), (1,)]


async def test_a_key_that_is_not_free_is_left_to_the_ledger(place: Place) -> None:
    await place.send("a", key="k")
    await place.state.ledger.claim([ask("a", "w/9")])
    (lease,) = await place.lease()
    assert not lease.is_claimed
    (answer,) = await place.state.ledger.claim([ask("a", lease.owner)])
    assert isinstance(answer, Running)


async def test_a_lease_that_is_found_again_still_has_its_claim(place: Place) -> None:
    """After a lost reply nothing else tells the worker."""
    await place.send("a", key="k")
    (lease,) = await place.lease()
    (held,) = await place.broker.held(lease.owner, "r")
    found = await place.broker.find(lease.id, lease.owner, lease.fence)
    assert held.is_claimed
    assert found is not None
    assert found.is_claimed


async def test_the_holder_of_a_lease_may_ask_the_ledger_all_the_same(place: Place) -> None:
    await place.send("a", key="k")
    (lease,) = await place.lease()
    (answer,) = await place.state.ledger.claim([ask("a", lease.owner)])
    assert answer == Fresh(token_of(lease))


async def test_a_message_that_goes_back_frees_its_claim(place: Place) -> None:
    await place.send("a", key="k")
    (lease,) = await place.lease()
    await place.broker.give_back([GiveBack(lease)])
    (again,) = await place.lease(owner="w/2")
    assert again.is_claimed
    assert claims(place) == [("a", "running", again.fence)]


@pytest.mark.parametrize("results", [(b"1", b"1"), (b"1", b"2")])
async def test_an_ack_with_a_token_seals_in_the_same_commit(place: Place, results: tuple[bytes, bytes]) -> None:
    await place.send("a", key="k1")
    await place.send("b", key="k2")
    leases = await place.lease(2)
    statements = begins(place)
    acks = [
        Ack(lease, result, claim=token_of(lease, key))
        for lease, result, key in zip(leases, results, ("k1", "k2"), strict=True)
    ]
    assert [one.outcome for one in await place.broker.ack(acks)] == [Outcome.DELETED] * 2
    assert statements.count("COMMIT") == 1
    answers = await place.state.ledger.claim([ask("x", "w/2", "k1"), ask("y", "w/2", "k2")])
    assert answers == [Done(result) for result in results]


async def test_an_ack_whose_claim_is_lost_changes_nothing(place: Place) -> None:
    await place.send("a", key="k")
    await place.send("b", key="k2")
    leases = await place.lease(2)
    lost, mine = (Ack(one, b"1", claim=token_of(one, key)) for one, key in zip(leases, ("k", "k2"), strict=True))
    place.sql("UPDATE claim SET owner = 'w/2', fence = fence + 1 WHERE id = 'a'")
    assert [one.outcome for one in await place.broker.ack([lost, mine])] == [Outcome.TAKEN_OVER, Outcome.DELETED]
    assert (await place.record("a")).state is MessageState.LEASED
    assert [state for _, state, _ in claims(place)] == ["running", "done"]


async def test_an_ack_whose_lease_is_lost_seals_nothing(place: Place) -> None:
    await place.send("a", key="k")
    (lease,) = await place.lease()
    await place.broker.give_back([GiveBack(lease)])
    (settled,) = await place.broker.ack([Ack(lease, b"1", claim=token_of(lease))])
    assert settled.outcome is Outcome.ALREADY_GONE
    assert [state for _, state, _ in claims(place)] == ["sent"]


async def test_an_ack_that_is_repeated_is_known_by_its_claim(place: Place) -> None:
    """Its answer was lost: without a token it could only be `already_gone`."""
    await place.send("a", key="k")
    (lease,) = await place.lease()
    ack = Ack(lease, b"1", claim=token_of(lease))
    for _ in range(2):
        (settled,) = await place.broker.ack([ack])
        assert settled.outcome is Outcome.DELETED


async def test_a_worker_of_the_version_before_claims_and_seals_beside_this_one(tmp_path: Path) -> None:
    """It asks the ledger for what it leased, seals, and acks without a token: on the same file, at the same time."""
    async with Place(tmp_path / "q.db") as place:
        await place.send("old", key="k1")
        await place.send("new", key="k2")
        (old,) = await place.lease(owner="old/1")
        place.sql("UPDATE claim SET state = 'sent', owner = NULL, fence = NULL")  # its lease claims nothing
        (new,) = await place.lease(owner="new/1")
        (fresh,) = await place.state.ledger.claim([ask("old", "old/1", "k1")])
        assert isinstance(fresh, Fresh)
        (running,) = await place.state.ledger.claim([ask("new", "old/1", "k2")])
        assert isinstance(running, Running)
        settled = await place.broker.ack([Ack(old, b"1"), Ack(new, b"2", claim=token_of(new, "k2"))])
        assert [one.outcome for one in settled] == [Outcome.DELETED] * 2
        assert [state for _, state, _ in claims(place)] == ["done", "done"]
