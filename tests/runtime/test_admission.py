"""Admission: decodes leased messages, and admits those that may run."""

import asyncio

import msgspec
import pytest

from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.envelope import VERSION
from tenure.message import Message
from tenure.owner import Owner
from tenure.rules.lapse import LOSSES_BEFORE_ALONE, MAX_LOST
from tenure.runtime.delivery import Delivery
from tenure.runtime.path.repeated_returns import GIVE_UP_SECONDS
from tenure.settlement import DeadLetter, GiveBack, Nack
from tenure.testing.harness import QUEUE, TASK, Harness
from tenure.verdict import Dead, Duplicate, Lost, Reason, Returned, Verdict

from .letting_in import Bench, fetching


async def test_a_message_is_let_in_with_its_task(harness: Harness) -> None:
    message = await harness.put()
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        (delivery,) = bench.stages.admitted
        assert delivery.message == message
        assert delivery.task is not None
        assert (delivery.task.name, delivery.token, delivery.fence) == (TASK, None, delivery.lease.fence)


async def test_a_damaged_message_is_dead_and_its_slot_free(harness: Harness) -> None:
    message = await harness.put()
    await harness.damage(message.id)
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Dead)
        assert (verdict.reason.code, verdict.counted) == ("body_undecodable", False)
        assert (bench.slots.running, bench.slots.unsettled) == (0, 1)


async def test_an_unknown_task_is_given_back_for_longer_each_time(harness: Harness) -> None:
    message = await harness.put(task="from_the_future")
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Returned)
        assert (verdict.after_seconds, verdict.reason.code) == (2.0, "unknown_task")
        (delivery, _) = bench.stages.concluded[0]
        assert delivery.id == message.id
        later = [await _again(bench, delivery, verdict) for _ in range(8)]
        assert [one.after_seconds for one in later if isinstance(one, Returned)] == [4, 8, 16, 32, *[60] * 4]


async def test_what_nobody_knew_for_ten_minutes_is_put_aside_however_often_it_was_met(harness: Harness) -> None:
    await harness.put(task="from_the_future")
    async with fetching(harness, concurrency=50) as bench:
        await asyncio.sleep(1)
        (delivery, verdict) = bench.stages.concluded[0]
        assert isinstance(verdict, Returned)
        for _ in range(18):
            assert isinstance(await _again(bench, delivery, verdict), Returned), "so often, but not for so long"
            await asyncio.sleep(GIVE_UP_SECONDS / 20)
        await asyncio.sleep(GIVE_UP_SECONDS / 10)
        assert isinstance(await _again(bench, delivery, verdict), Dead)


async def test_a_silence_in_between_begins_it_anew(harness: Harness) -> None:
    """Nobody looked, or somebody knew it then; it is not put aside by the first worker that does not."""
    await harness.put(task="from_the_future")
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        (delivery, verdict) = bench.stages.concluded[0]
        assert isinstance(verdict, Returned)
        await _again(bench, delivery, verdict)
        await asyncio.sleep(10 * GIVE_UP_SECONDS)
        again = await _again(bench, delivery, verdict)
        assert isinstance(again, Returned)


async def test_what_another_living_worker_knows_goes_back_for_a_moment(harness: Harness) -> None:
    await harness.put_many(50, task="from_the_future")
    await _join(harness, tasks=("from_the_future",))
    async with fetching(harness, concurrency=50) as bench:
        await asyncio.sleep(0.5)
        assert len(bench.verdicts) == 50
        delays = {verdict.after_seconds for verdict in bench.verdicts if isinstance(verdict, Returned)}
        assert len(delays) == 50, "all come back at once"
        assert min(delays) >= 1.0
        assert max(delays) <= 2.0
        codes = {verdict.reason.code for verdict in bench.verdicts if isinstance(verdict, Returned)}
        assert codes == {"known_elsewhere"}
        assert bench.wire.said.count("roster.members") == 1
        assert "records.get" not in bench.wire.said


async def test_one_that_serves_another_queue_or_is_gone_knows_nothing(harness: Harness) -> None:
    await harness.put(task="from_the_future")
    await _join(harness, queues=("elsewhere",), tasks=("from_the_future",))
    await harness.kill(await _join(harness, tasks=("from_the_future",)))
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Returned)
        assert verdict.reason.code == "unknown_task"


async def test_who_is_alive_is_asked_again_after_a_while(harness: Harness) -> None:
    await harness.put(task="from_the_future")
    knowing = await _join(harness, tasks=("from_the_future",))
    async with fetching(harness) as bench:
        await asyncio.sleep(0.5)
        await harness.kill(knowing)
        await harness.put(task="from_the_future")
        await asyncio.sleep(0.1)
        assert bench.wire.said.count("roster.members") == 1
        await asyncio.sleep(1)
        await harness.put(task="from_the_future")
        await asyncio.sleep(0.1)
        codes = [verdict.reason.code for verdict in bench.verdicts if isinstance(verdict, Returned)]
        assert codes == ["known_elsewhere", "known_elsewhere", "unknown_task"]


async def test_without_the_rosters_word_nothing_is_put_aside(harness: Harness) -> None:
    await harness.put(task="from_the_future")
    async with fetching(harness) as bench:
        bench.wire.away("roster.*")
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Returned)
        assert verdict.reason.code == "known_elsewhere"


async def test_give_backs_for_other_reasons_do_not_make_a_stranger(harness: Harness) -> None:
    """Those of a task at its limit, above all."""
    message = await harness.put(task="from_the_future")
    owner = await harness.owner()
    for reason in (None, Reason("child_failed", "no such module")) * 12:
        await harness.broker.give_back([GiveBack(await harness.lease_one(owner), 0.0, reason)])
        await asyncio.sleep(GIVE_UP_SECONDS / 10)
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Returned)
        assert verdict.after_seconds == 2.0, message.id


async def test_a_redriven_stranger_starts_anew(harness: Harness) -> None:
    await harness.put(task="from_the_future")
    owner, known = await harness.owner(), Returned(0.0, Reason("unknown_task", "x"))
    for _ in range(12):
        await harness.broker.give_back([GiveBack(await harness.lease_one(owner), 0.0, known.reason)])
        await asyncio.sleep(GIVE_UP_SECONDS / 10)
    lease = await harness.lease_one(owner)
    await harness.broker.dead_letter([DeadLetter(lease, known.reason)])
    await harness.broker.redrive([lease.id])
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Returned)
        assert verdict.after_seconds == 2.0


async def test_a_stranger_whose_history_cannot_be_read_is_given_back(harness: Harness) -> None:
    await harness.put(task="from_the_future")
    async with fetching(harness) as bench:
        bench.wire.away("records.*")
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Returned)


async def test_strangers_do_not_hold_up_the_others(harness: Harness) -> None:
    await harness.put(task="from_the_future")
    known = await harness.put()
    async with fetching(harness) as bench:
        bench.wire.spy = lambda name, _: bench.wire.freeze() if name == "records.get" else None
        await asyncio.sleep(1)
        assert bench.ids == [known.id]
        bench.wire.spy = lambda *_: None
        bench.wire.thaw()


async def test_an_envelope_of_a_newer_version_is_for_a_newer_worker(harness: Harness) -> None:
    message = await harness.put()
    lease = await harness.lease_one(harness.stranger())
    raw = lease.envelope.replace(b'"tenure":1', b'"tenure":%d' % (VERSION + 1))
    assert raw != lease.envelope
    bench = Bench(harness, await harness.owner(), 1)
    await bench.admission.admit([msgspec.structs.replace(lease, envelope=raw)])
    (verdict,) = bench.verdicts
    assert isinstance(verdict, Returned)
    assert "newer" in verdict.reason.text
    assert bench.stages.concluded[0][0].id == message.id


async def test_what_still_runs_here_is_not_run_beside_itself(harness: Harness) -> None:
    message = await harness.put()
    async with fetching(harness) as bench:
        bench.stages.running.add(message.id)
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Returned)
        assert verdict.reason.code == "running_here"


async def test_a_message_that_was_lost_too_often_alone_is_put_aside(harness: Harness) -> None:
    await harness.put()
    for _ in range(LOSSES_BEFORE_ALONE + MAX_LOST):
        await harness.lease_one(await harness.owner())
        await harness.lapse()
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Dead)
        assert verdict.reason.code == "max_lost"


async def test_an_expired_message_is_put_aside(harness: Harness) -> None:
    await harness.put(expires_at=harness.clock.wall() + 10)
    alive = await harness.put(expires_at=harness.clock.wall() + 1000)
    await asyncio.sleep(10)
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        assert bench.ids == [alive.id]
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Dead)
        assert verdict.reason.code == "expired"


@pytest.mark.parametrize("how", ["failed", "crashed", "lost"])
async def test_what_was_begun_in_time_may_end_after_it_expired(harness: Harness, how: str) -> None:
    """It waits for its next try: the first one has perhaps done half of the work."""
    message = await harness.put(expires_at=harness.clock.wall() + 10)
    owner = await harness.owner()
    lease = await harness.lease_one(owner)
    match how:
        case "failed":
            await harness.broker.nack([Nack(lease, 0.0, Reason("error", "x"))])
        case "crashed":
            await harness.broker.retire(owner.id, crashed=True)
        case _:
            await harness.lapse()
    await asyncio.sleep(10)
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        assert (bench.ids, bench.verdicts) == ([message.id], [])


async def test_one_that_was_only_given_back_was_not_begun(harness: Harness) -> None:
    await harness.put(expires_at=harness.clock.wall() + 10)
    await harness.broker.give_back([GiveBack(await harness.lease_one(await harness.owner()))])
    await asyncio.sleep(10)
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Dead)


async def test_a_lease_that_lapsed_before_its_handler_starts_is_not_run(harness: Harness) -> None:
    """Claiming for others of its batch took longer than it lasts: somebody else may have it by now."""
    plain, keyed = await harness.put(), await harness.put(key="k")
    async with fetching(harness) as bench:
        bench.wire.spy = lambda name, _: bench.wire.freeze() if name == "ledger.claim" else None
        await asyncio.sleep(harness.lease_seconds + 1)
        bench.wire.spy = lambda *_: None
        bench.wire.thaw()
        await asyncio.sleep(0.1)
        verdicts = {delivery.id: verdict for delivery, verdict in bench.stages.concluded}
        verdict = verdicts[plain.id]
        assert isinstance(verdict, Returned)
        assert (verdict.reason.code, verdict.after_seconds) == ("lease_lapsed", 0.0)
        assert keyed.id in bench.ids, "its claim is its lease, and was given just now"


async def test_a_lease_that_still_stands_when_its_claim_is_given_is_run(harness: Harness) -> None:
    plain, _ = await harness.put(), await harness.put(key="k")
    async with fetching(harness) as bench:
        bench.wire.spy = lambda name, _: bench.wire.freeze() if name == "ledger.claim" else None
        await asyncio.sleep(harness.lease_seconds - 1)
        bench.wire.spy = lambda *_: None
        bench.wire.thaw()
        await asyncio.sleep(0.1)
        assert plain.id in bench.ids


# --- claims ------------------------------------------------------------------------------------------


async def test_a_message_without_a_key_is_not_claimed_where_the_broker_settles_exactly_once(harness: Harness) -> None:
    await harness.put()
    async with fetching(harness) as bench:
        await asyncio.sleep(1)
        assert len(bench.ids) == 1
        assert "ledger.claim" not in bench.wire.said


async def test_everything_is_claimed_in_one_call_where_it_does_not(loose: Harness) -> None:
    await loose.put_many(5)
    async with fetching(loose) as bench:
        await asyncio.sleep(1)
        assert bench.wire.said.count("ledger.claim") == 1
        for delivery in bench.stages.admitted:
            assert delivery.token is not None
            assert delivery.fence == delivery.token.fence


async def test_what_is_done_is_a_duplicate_whatever_else_is_wrong_with_it(loose: Harness) -> None:
    message = await loose.put(key="k", expires_at=loose.clock.wall() - 1)
    await _seal(loose, message, b"42")
    async with fetching(loose) as bench:
        await asyncio.sleep(1)
        assert bench.verdicts == [Duplicate(b"42")]


async def test_what_runs_elsewhere_is_given_back_until_the_claim_could_have_ended(loose: Harness) -> None:
    message = await loose.put(key="k")
    await _claim(loose, message, 12.0)
    async with fetching(loose) as bench:
        await asyncio.sleep(1)
        (verdict,) = bench.verdicts
        assert isinstance(verdict, Returned)
        assert verdict.after_seconds == pytest.approx(12.0, abs=0.1)
        assert verdict.reason.code == "running_elsewhere"


async def test_another_payload_under_a_known_key_is_dead(loose: Harness) -> None:
    first = await loose.put(key="k", body={"to": "ada"})
    await _seal(loose, first, b"1")
    await loose.put(key="k", body={"to": "bob"})
    async with fetching(loose) as bench:
        await asyncio.sleep(1)
        (dead,) = [verdict for verdict in bench.verdicts if isinstance(verdict, Dead)]
        assert dead.reason.code == "key_conflict"
        assert first.id in dead.reason.text


async def test_a_ledger_that_is_away_keeps_out_only_what_needs_it(harness: Harness) -> None:
    keyed, plain = await harness.put(key="k"), await harness.put()
    async with fetching(harness) as bench:
        bench.wire.away("ledger.*")
        await asyncio.sleep(0.5)
        assert bench.ids == [plain.id]
        ((delivery, verdict),) = bench.stages.concluded
        assert delivery.id == keyed.id
        assert isinstance(verdict, Returned)


async def test_an_owner_declared_dead_between_lease_and_claim_lets_nothing_in(loose: Harness) -> None:
    await loose.put()
    bench = Bench(loose, await loose.owner(), 1)
    leases = await loose.lease(bench.stages.owner_id)
    await loose.broker.retire(bench.stages.owner_id, crashed=True)
    await bench.admission.admit(leases)
    assert (bench.ids, bench.verdicts) == ([], [Lost()])
    assert bench.slots.running == 0


async def test_a_claimed_message_beyond_its_limits_gives_its_claim_up_again(loose: Harness) -> None:
    await loose.put(expires_at=loose.clock.wall() - 1)
    async with fetching(loose) as bench:
        await asyncio.sleep(1)
        ((delivery, verdict),) = bench.stages.concluded
        assert isinstance(verdict, Dead)
        assert delivery.token is not None, "the outbox could not release it"


async def _again(bench: Bench, delivery: Delivery, last: Returned) -> Verdict:
    """Carry out what was decided the last time, and meet the same message again."""
    harness = bench.harness
    (held,) = await harness.broker.held(bench.stages.owner_id)
    assert held.id == delivery.id
    await harness.broker.give_back([GiveBack(held, 0.0, last.reason)])
    count = len(bench.verdicts)
    while len(bench.verdicts) == count:  # noqa: ASYNC110 - virtual time
        await asyncio.sleep(0.1)
    return bench.verdicts[-1]


async def _join(harness: Harness, *, queues: tuple[str, ...] = (QUEUE,), tasks: tuple[str, ...]) -> Owner:
    owner = msgspec.structs.replace(harness.new_owner("another"), queues=queues, tasks=tasks)
    await harness.state.roster.join(owner)
    return owner


async def _claim(harness: Harness, message: Message, seconds: float) -> Fresh:
    request = ClaimRequest(Scope.of(message), message.id, harness.stranger(), seconds, digest(message))
    (answer,) = await harness.state.ledger.claim([request])
    assert isinstance(answer, Fresh)
    return answer


async def _seal(harness: Harness, message: Message, result: bytes) -> None:
    answer = await _claim(harness, message, 30.0)
    assert await harness.state.ledger.seal([Seal(answer.token, result)]) == [True]
