"""Hand-offs of a batch of acks are stored together, and only those whose ack took effect."""

import pytest

from tenure import envelope
from tenure.adapters.sqlite import judged
from tenure.message import Message, MessageState, Outgoing
from tenure.settlement import Ack, GiveBack, Outcome

from .place import Place, message
from .test_committing import begins


async def test_hand_offs_of_a_batch_are_stored_by_one_statement(place: Place) -> None:
    await place.send(*(f"p{n}" for n in range(8)))
    leases = await place.lease(8)
    statements = begins(place)
    settled = await place.broker.ack([Ack(lease, b"1", (Outgoing(message(f"h-{lease.id}")),)) for lease in leases])
    assert [one.outcome for one in settled] == [Outcome.DELETED] * 8
    assert sum(statement.startswith("INSERT INTO message ") for statement in statements) == 1
    assert [lease.id for lease in await place.lease(10)] == [f"h-p{n}" for n in range(8)]


async def test_a_stale_ack_among_others_hands_nothing_on(place: Place) -> None:
    await place.send("a", "b", "c")
    leases = await place.lease(3)
    await place.broker.give_back([GiveBack(leases[1])])
    acks = [Ack(lease, b"1", (Outgoing(message(f"h-{lease.id}")),)) for lease in leases]
    settled = await place.broker.ack(acks)
    assert [one.outcome for one in settled] == [Outcome.DELETED, Outcome.ALREADY_GONE, Outcome.DELETED]
    assert await place.state.records.get("h-b") is None
    assert [(await place.record(id)).state for id in ("h-a", "h-c")] == [MessageState.READY] * 2


async def test_a_known_hand_off_is_stored_once(place: Place) -> None:
    await place.send("a", "b")
    leases = await place.lease(2)
    await place.broker.ack([Ack(lease, b"1", (Outgoing(message("same")),)) for lease in leases])
    assert [lease.id for lease in await place.lease(10)] == ["same"]


async def test_a_hand_off_that_was_judged_is_encoded_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    encode = envelope.encode

    def counted(one: Message) -> bytes:
        encoded.append(one.id)
        return encode(one)

    monkeypatch.setattr(envelope, "encode", counted)
    await place.send("a", "b")
    leases = await place.lease(2)
    del encoded[:]
    known, unknown = Outgoing(message("known")), Outgoing(message("unknown"))
    assert place.broker.refusal(known) is None
    await place.broker.ack([Ack(leases[0], b"1", (known,)), Ack(leases[1], b"1", (unknown,))])
    assert sorted(encoded) == ["known", "unknown"]
    assert sorted(lease.id for lease in await place.lease(10)) == ["known", "unknown"]


def test_what_was_judged_and_never_stored_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "_MOST", 3)
    known = judged.Judged()
    given = [Outgoing(message(f"m{number}")) for number in range(5)]
    assert [known.refusal(one, 1 << 20) for one in given] == [None] * 5
    assert [known.take(one) is not None for one in given] == [False, False, False, True, True]
    assert known.take(given[4]) is None, "it is handed on once"
    large = Outgoing(message("large", headers={"x": "x" * 5000}))
    assert known.refusal(large, 1 << 20) is None
    assert known.take(large) is None
