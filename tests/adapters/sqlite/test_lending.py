"""Lending and settling in bulk: what the fast path must not get wrong."""

import asyncio
import random
from typing import Any

import msgspec
import pytest

from tenure import envelope
from tenure.adapters.sqlite.fairness import QueueTurns
from tenure.adapters.sqlite.placeholders import pieces
from tenure.broker import SweepRequest
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.errors import OwnerRetired
from tenure.lease import Lease, LeaseState
from tenure.message import MessageState, Outgoing, Overrides
from tenure.query import Query
from tenure.record import Progress
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.verdict import Reason

from .place import QUEUE, Place, message

BOOM = Reason("error", "it broke")


def envelopes(leases: list[Lease]) -> dict[str, bytes]:
    return {lease.id: lease.envelope for lease in leases}


@pytest.mark.parametrize("raw", [b"\x00\xffnot JSON", b"", b"\x1e", b"a\x1eb", b"\xc3\x28", b"null", None, "text"])
async def test_a_damaged_message_is_lent_as_it_is_and_hurts_no_other(place: Place, raw: bytes | str | None) -> None:
    await place.send("a", "b", "c")
    place.sql("UPDATE message SET envelope = ? WHERE id = 'b'", raw)
    lent = envelopes(await place.lease(10))
    assert lent["b"] == (raw.encode() if isinstance(raw, str) else raw or b"")
    assert lent["a"] == envelope.encode(message("a"))
    assert lent["c"] == envelope.encode(message("c"))


@pytest.mark.parametrize("priorities", [(5, 5, 5, 5), (9, 5, 9, 5)])
async def test_a_message_over_the_limit_of_bytes_is_lent_alone(place: Place, priorities: tuple[int, ...]) -> None:
    place.broker._bounds = place.broker._bounds._replace(byte_limit=1000)
    body = msgspec.Raw(b'"' + b"x" * 2000 + b'"')
    for id, priority in zip("abcd", priorities, strict=True):
        await place.send(id, body=body, priority=priority)
    lent = [[lease.id for lease in await place.lease(10)] for _ in range(5)]
    assert lent == [[id] for id in sorted("abcd", key=lambda id: -priorities["abcd".index(id)])] + [[]]


async def test_another_queue_does_not_make_a_call_larger(place: Place) -> None:
    place.broker._bounds = place.broker._bounds._replace(byte_limit=3000)
    body = msgspec.Raw(b'"' + b"x" * 2000 + b'"')
    await place.send("a", body=body)
    await place.send("b", body=body, queue="other")
    lent = [[lease.id for lease in await place.lease(10, queues=(QUEUE, "other"))] for _ in range(3)]
    assert sorted(map(len, lent)) == [0, 1, 1]


async def test_large_and_small_envelopes_are_lent_together(place: Place) -> None:
    sizes = {"small": 10, "edge": 65_000, "over": 66_000, "large": 900_000, "tiny": 0}
    sent = {id: message(id, headers={"x": "ü" * (size // 2)}) for id, size in sizes.items()}
    await place.broker.send([Outgoing(one) for one in sent.values()])
    lent = await place.lease(10)
    assert envelopes(lent) == {id: envelope.encode(one) for id, one in sent.items()}
    assert [lease.id for lease in lent] == list(sizes)


async def test_ids_of_any_kind_are_kept(place: Place) -> None:
    ids = ['quote"', "comma,", "colon:1:2", "\u00e4 \u00a0\u00f6", "x" * 3000]
    await place.send(*ids)
    leases = await place.lease(10)
    assert [lease.id for lease in leases] == ids
    outcomes = await place.broker.ack([Ack(lease, b"1") for lease in leases])
    assert [one.outcome for one in outcomes] == [Outcome.DELETED] * len(ids)


async def test_a_batch_may_have_any_size(place: Place) -> None:
    count = 0
    for size in (1, 2, 3, 127, 128, 129, 255, 777, 1000):
        ids = [f"m{count + n}" for n in range(size)]
        assert [sent.id for sent in await place.send(*ids)] == ids
        assert all(sent.duplicate for sent in await place.send(*ids))
        count += size
    leases = await place.lease(1000)
    assert [lease.id for lease in leases] == [f"m{n}" for n in range(1000)]
    assert all(one.state is LeaseState.HELD for one in await place.broker.touch(leases))
    outcomes = await place.broker.ack([Ack(lease) for lease in leases])
    assert [one.outcome for one in outcomes] == [Outcome.DELETED] * 1000


async def test_known_and_new_ids_in_one_batch_are_told_apart(place: Place) -> None:
    await place.send(*(f"m{n}" for n in range(0, 200, 3)))
    ids = [f"m{n}" for n in range(200)] + ["m5", "m199", "new", "new"]
    answers = await place.send(*ids)
    expected = [n % 3 == 0 for n in range(200)] + [True, True, False, True]
    assert [sent.duplicate for sent in answers] == expected
    assert [lease.id for lease in await place.lease(1000)][-1] == "new"


async def test_results_that_differ_and_results_that_do_not_are_both_kept(place: Place) -> None:
    await place.send(*(f"m{n}" for n in range(300)))
    leases = await place.lease(300)
    await place.broker.ack([Ack(lease, b"null") for lease in leases[:100]])
    await place.broker.ack([Ack(lease, str(n).encode()) for n, lease in enumerate(leases[100:200])])
    await place.broker.ack([Ack(leases[200], b"alone")])
    assert (await place.record("m7")).result == b"null"
    assert [(await place.record(f"m{n}")).result for n in (100, 101, 199)] == [b"0", b"1", b"99"]
    assert (await place.record("m200")).result == b"alone"
    assert (await place.record("m201")).result is None


async def test_an_ack_of_many_loans_with_a_stale_one_among_them_settles_the_others(place: Place) -> None:
    await place.send(*(f"m{n}" for n in range(30)))
    leases = [lease for _ in range(10) for lease in await place.lease(3)]
    await place.broker.give_back([GiveBack(leases[4])])
    (taken,) = await place.lease(owner="other/1")
    assert taken.id == "m4"
    outcomes = await place.broker.ack([Ack(lease, b"1") for lease in leases] + [Ack(leases[0], b"2")])
    expected = [Outcome.DELETED] * 30 + [Outcome.ALREADY_GONE]
    expected[4] = Outcome.TAKEN_OVER
    assert [one.outcome for one in outcomes] == expected
    assert (await place.record("m0")).result == b"1"
    assert (await place.record("m4")).owner == "other/1"


async def test_leases_of_different_length_in_one_call(place: Place) -> None:
    await place.send("own", overrides=Overrides(lease_seconds=300.0))
    await place.send("slow", task="render")
    await place.send("usual")
    await place.send("tiny", overrides=Overrides(lease_seconds=0.0001))
    leases = await place.lease(10, seconds_by_task={"render": 90.0})
    shortest = place.broker.traits.min_lease_seconds
    assert {lease.id: lease.seconds for lease in leases} == {
        "own": 300.0,
        "slow": 90.0,
        "usual": 30.0,
        "tiny": shortest,
    }
    assert {(await place.record(lease.id)).deadline_in for lease in leases} == {300.0, 90.0, 30.0, shortest}
    assert {lease.id for lease in await place.broker.held("w/1", "r")} == {"own", "slow", "usual", "tiny"}
    assert len({lease.fence for lease in leases}) == 4


async def test_a_receipt_serves_its_own_message_only(place: Place) -> None:
    await place.send("a", "b")
    a, b = await place.lease(2)
    for receipt in (b.receipt, 1, "1", ":a", "x:a", "1:b", "-1:a", "²:a", f"{10**30}:a"):
        mixed = msgspec.structs.replace(a, receipt=receipt)
        (settled,) = await place.broker.ack([Ack(mixed)])
        assert settled.outcome is Outcome.TAKEN_OVER
        (touched,) = await place.broker.touch([mixed])
        assert touched.state is LeaseState.LOST
    assert (await place.broker.ack([Ack(a)]))[0].outcome is Outcome.DELETED


async def test_a_queue_that_is_named_twice_is_lent_from_once(place: Place) -> None:
    await place.send("a", "b", "c")
    leases = await place.lease(10, queues=(QUEUE, "other", QUEUE))
    assert [lease.id for lease in leases] == ["a", "b", "c"]


async def test_an_idle_worker_is_told_that_it_was_declared_dead(place: Place) -> None:
    assert await place.lease() == []  # from now on it only looks, without the write lock
    await place.broker.retire("w/1", crashed=True)
    with pytest.raises(OwnerRetired):
        await place.lease()


async def test_fairness_is_as_if_one_were_lent_at_a_time(place: Place) -> None:
    """Any mix of priorities, lent in batches of any size: the order is that of the rule, told in one line each."""
    draw = random.Random(4)
    waiting = [(f"m{n}", draw.choice([0, 1, 5, 9])) for n in range(300)]
    for id, priority in waiting:
        await place.send(id, priority=priority)
    got: list[str] = []
    while leases := await place.lease(draw.randint(1, 40)):
        got += [lease.id for lease in leases]
    expected: list[str] = []
    while waiting:
        top = max(priority for _, priority in waiting)
        lower = [one for one in waiting if one[1] < top]
        is_turn = (len(expected) + 1) % 10 == 0 and lower
        one = lower[0] if is_turn else next(one for one in waiting if one[1] == top)
        waiting.remove(one)
        expected.append(one[0])
    assert got == expected


async def test_priorities_out_of_range_are_the_nearest(place: Place) -> None:
    await place.send("low", priority=-3)
    await place.send("high", priority=99)
    await place.send("nine", priority=9)
    assert [lease.id for lease in await place.lease(3)] == ["high", "nine", "low"]


def test_queues_take_turns() -> None:
    turns = QueueTurns()
    assert [turns.rotated(("a", "b", "c"))[0] for _ in range(4)] == ["a", "b", "c", "a"]
    assert turns.rotated(("a",)) == ("a",)


def test_pieces_are_powers_of_two_in_order() -> None:
    for count in range(300):
        rows = list(range(count))
        parts = list(pieces(rows))
        assert [row for part in parts for row in part] == rows
        assert all(len(part) & (len(part) - 1) == 0 for part in parts)


async def test_no_page_splits_when_messages_are_leased(place: Place) -> None:
    """Why states are numbers and `moment` is never empty: lending must not make rows grow."""
    await place.send(*(f"m{n:06}" for n in range(1000)))
    before = place.sql("SELECT count(*) FROM dbstat WHERE name = 'message'") if _has_dbstat(place) else []
    await place.lease(1000)
    after = place.sql("SELECT count(*) FROM dbstat WHERE name = 'message'") if before else []
    assert after == before


def _has_dbstat(place: Place) -> bool:
    return ("ENABLE_DBSTAT_VTAB",) in place.sql("PRAGMA compile_options")


async def every_verb(place: Place, count: int) -> None:
    """Each verb once, on a batch of `count`, with keys, notes and stale leases among them."""
    ledger, records = place.state.ledger, place.state.records
    ids = [f"m{n}" for n in range(count)]
    await place.broker.send([Outgoing(message(id, key=f"k{id}" if n % 2 else None)) for n, id in enumerate(ids)])
    requests = [ClaimRequest(Scope(QUEUE, "deliver", f"x{id}"), id, "w/1", 30.0, "same") for id in ids]
    tokens = [answer.token for answer in await ledger.claim(requests) if isinstance(answer, Fresh)]
    await ledger.renew(tokens)
    await ledger.release(tokens[: count // 2])
    await ledger.seal([Seal(token, b"1") for token in tokens[count // 2 :]])
    await ledger.forget([token.scope for token in tokens])
    leases = await place.lease(count)
    await place.broker.touch(leases)
    await records.progress([(lease, Progress(0.5)) for lease in leases])
    await place.broker.nack([Nack(lease, 0.0, BOOM) for lease in leases])
    leases += await place.lease(count)
    await place.broker.give_back([GiveBack(lease) for lease in leases])
    leases = await place.lease(count)
    await place.broker.dead_letter([DeadLetter(lease, BOOM) for lease in leases])
    await place.broker.redrive(ids)
    leases = await place.lease(count)
    await place.broker.ack([Ack(lease, lease.id.encode()) for lease in leases[: count // 2]])
    await place.broker.sweep(SweepRequest(limit=count))
    await asyncio.sleep(31.0)
    place.sql("UPDATE meta SET value = value + 31000000 WHERE name = 'swept'")
    await place.broker.sweep(SweepRequest(limit=count))
    await place.lease(count, owner="w/2")
    await place.broker.retire("w/2", crashed=True)
    await place.broker.delete(ids)


async def test_a_batch_takes_few_statements_whatever_its_size(place: Place) -> None:
    """Each statement must win the interpreter lock back, and the write lock is held meanwhile (`many.py`)."""
    statements: list[str] = []
    place.store._writer._db.set_trace_callback(statements.append)
    await every_verb(place, 256)
    transactions = "\n".join(statements).count("BEGIN IMMEDIATE")
    assert (await place.record("m0")).result == b"m0"
    assert (await place.record("m255")).state is MessageState.CANCELLED
    assert (await place.record("m255")).counters.crashes == 1
    assert len(statements) / transactions < 12


async def test_every_statement_of_the_path_uses_its_index(place: Place) -> None:
    """A scan would not show in the tests, only with a million messages."""
    db = place.store._writer._db
    statements: list[str] = []
    db.set_trace_callback(statements.append)
    await every_verb(place, 8)
    db.set_trace_callback(None)
    plans: list[str] = []
    for statement in statements:
        if statement.split()[0] in ("SELECT", "UPDATE", "DELETE"):
            plan = db.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            plans += [f"{row[3]}: {statement}" for row in plan if row[3].startswith("SCAN")]
    # Lists, names of queues, the few owners and loans, and the few that are leased may be scanned, and nothing else.
    small = (
        "json_each",
        "entry",
        "CONSTANT",
        "message_leased",
        "loan",
        "owner",
        "subquery",
        "SUBQUERY",
        "beat",
        "SCAN queue",
    )
    assert [plan for plan in plans if not any(word in plan.split(": ")[0] for word in small)] == []


async def test_a_refused_hand_off_is_kept_with_the_dead_letters(place: Place) -> None:
    await place.send("first", key="k")
    await place.send("parent")
    leases = await place.lease(10)
    parent = next(lease for lease in leases if lease.id == "parent")
    other = message("other", key="k", body=msgspec.Raw(b'{"to":"bob"}'))
    huge = message("huge", headers={"x": "x" * 2_000_000})
    assert digest(other) != digest(message("first"))
    handoffs = (Outgoing(message("fine")), Outgoing(other), Outgoing(huge))
    (settled,) = await place.broker.ack([Ack(parent, b"1", handoffs)])
    assert settled.outcome is Outcome.DELETED
    states: dict[str, Any] = {id: await place.record(id) for id in ("fine", "other", "huge")}
    assert states["fine"].state is MessageState.READY
    for id, code in (("other", "key_conflict"), ("huge", "body_too_large")):
        assert states[id].state is MessageState.DEAD
        assert states[id].reason.code == code
    assert {one.id for one in (await place.broker.browse(Query(states=(MessageState.DEAD,)))).messages} == {
        "other",
        "huge",
    }
