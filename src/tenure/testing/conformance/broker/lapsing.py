"""Lapsing: every lapse of a lease is counted and recorded alike on every store, up to the dead letter.

What must come of each is said by the one rule, `tenure.rules.lapse`; here it is asked of the store after each lapse.
"""

from tenure.lease import LeaseState
from tenure.message import Counters, MessageState, Overrides
from tenure.owner import Owner
from tenure.record import Ending, Record
from tenure.rules.lapse import Lapse, lapse
from tenure.settlement import Nack
from tenure.testing.harness import BROKEN, Harness


class Lapsing:
    """Tests of a lapse: its counters, where the message goes, and its history."""

    async def test_every_lapse_without_presence_up_to_the_dead_letter(self, harness: Harness) -> None:
        message = await harness.put()
        story: list[Lapse] = []
        for number in range(1, harness.max_attempts + 1):
            story.append(await _lapse_once(harness, harness.stranger()))
            record = await harness.record(message.id)
            assert record.counters == Counters(deliveries=number, attempts=number)
            _check(record, story)
        assert story[-1].is_dead
        record = await harness.record(message.id)
        assert record.state == MessageState.DEAD
        assert record.finished_at is not None
        assert [one.how for one in record.history] == ["failed"] * harness.max_attempts + ["dead"]

    async def test_every_lapse_of_a_worker_is_a_loss(self, harness: Harness) -> None:
        message = await harness.put()
        story: list[Lapse] = []
        for number in range(1, harness.max_attempts + 2):
            story.append(await _lapse_once(harness, await harness.owner()))
            record = await harness.record(message.id)
            assert record.counters == Counters(deliveries=number, lost=number)
            _check(record, story)

    async def test_losses_failures_and_lapses_are_told_in_their_order(self, harness: Harness) -> None:
        message = await harness.put(overrides=Overrides(max_attempts=3))
        story = [await _lapse_once(harness, await harness.owner())]
        lease = await harness.lease_one(harness.stranger())
        await harness.broker.nack([Nack(lease, 0.0, BROKEN)])
        story.append(Lapse(attempts=1, endings=(Ending(0.0, "failed", lease.owner, BROKEN),), reason=BROKEN))
        story += [await _lapse_once(harness, harness.stranger()) for _ in range(2)]
        record = await harness.record(message.id)
        assert record.counters == Counters(deliveries=4, attempts=3, lost=1)
        _check(record, story)
        assert story[-1].is_dead

    async def test_a_messages_own_limit_is_the_one_that_is_told(self, harness: Harness) -> None:
        message = await harness.put(overrides=Overrides(max_attempts=1))
        story = [await _lapse_once(harness, harness.stranger(), max_attempts=1)]
        _check(await harness.record(message.id), story)
        assert (await harness.record(message.id)).state == MessageState.DEAD

    async def test_a_worker_that_is_off_the_roster_by_now_has_lost_it(self, harness: Harness) -> None:
        message = await harness.put()
        await harness.lease_one(harness.stranger(), has_presence=True)
        await harness.lapse()
        assert (await harness.record(message.id)).counters == Counters(deliveries=1, lost=1)

    async def test_a_name_on_the_roster_does_not_make_a_lease_a_workers(self, harness: Harness) -> None:
        owner = await harness.owner()
        message = await harness.put()
        await harness.lease_one(owner, has_presence=False)
        await harness.lapse()
        assert (await harness.record(message.id)).counters == Counters(deliveries=1, attempts=1)

    async def test_each_loan_of_an_owner_speaks_for_itself(self, harness: Harness) -> None:
        owner = await harness.owner()
        first, second = await harness.put(), await harness.put()
        leases = [await harness.lease_one(owner), await harness.lease_one(owner, has_presence=False)]
        assert {lease.id for lease in leases} == {first.id, second.id}
        await harness.lapse()
        counters = [(await harness.record(lease.id)).counters for lease in leases]
        assert counters == [Counters(deliveries=1, lost=1), Counters(deliveries=1, attempts=1)]

    async def test_a_lease_over_http_that_was_never_touched_is_a_loss(self, harness: Harness) -> None:
        """A proxy may have cut the reply: perhaps no client ever learned of the lease."""
        message = await harness.put()
        story: list[Lapse] = []
        for number in range(1, harness.max_attempts + 2):
            story.append(await _lapse_once(harness, harness.stranger("http:a1b2c3d4e5f6")))
            record = await harness.record(message.id)
            assert record.counters == Counters(deliveries=number, lost=number)
            _check(record, story)

    async def test_a_lease_over_http_that_was_touched_and_lapsed_is_an_attempt(self, harness: Harness) -> None:
        message = await harness.put()
        story: list[Lapse] = []
        for number in range(1, harness.max_attempts + 1):
            story.append(await _lapse_once(harness, harness.stranger("http:a1b2c3d4e5f6"), touches=True))
            record = await harness.record(message.id)
            assert record.counters == Counters(deliveries=number, attempts=number)
            _check(record, story)
        assert story[-1].is_dead

    async def test_each_message_of_one_lease_over_http_is_counted_for_itself(self, harness: Harness) -> None:
        touched, untouched = await harness.put(), await harness.put()
        owner = harness.stranger("http:a1b2c3d4e5f6")
        leases = {lease.id: lease for lease in await harness.lease_all(owner)}
        await harness.broker.touch([leases[touched.id]])
        await harness.lapse()
        counters = [(await harness.record(one.id)).counters for one in (touched, untouched)]
        assert counters == [Counters(deliveries=1, attempts=1), Counters(deliveries=1, lost=1)]

    async def test_a_touch_of_an_earlier_lease_says_nothing_of_a_later_one(self, harness: Harness) -> None:
        message = await harness.put()
        owner = harness.stranger("http:a1b2c3d4e5f6")
        await _lapse_once(harness, owner, touches=True)
        await _lapse_once(harness, owner)
        assert (await harness.record(message.id)).counters == Counters(deliveries=2, attempts=1, lost=1)

    async def test_one_that_was_lost_ten_times_is_given_up_by_whoever_cannot_run_it_alone(
        self, harness: Harness
    ) -> None:
        message = await harness.put(overrides=Overrides(max_attempts=50))
        for _ in range(10):
            await _lapse_once(harness, await harness.owner(), max_attempts=50)
        assert await harness.state_of(message.id) == MessageState.READY
        story = await _lapse_once(harness, harness.stranger(), max_attempts=50)
        record = await harness.record(message.id)
        assert record.state == MessageState.DEAD
        assert record.reason == story.reason
        assert record.reason is not None
        assert record.reason.code == "max_lost"
        assert [one.how for one in record.history[-3:]] == ["lost", "failed", "dead"]


async def _lapse_once(
    harness: Harness, owner: Owner | str, max_attempts: int | None = None, *, touches: bool = False
) -> Lapse:
    """Lease the only message that is ready, let it lapse; what the rule says of that."""
    lease = await harness.lease_one(owner)
    before = (await harness.record(lease.id)).counters
    limit = harness.max_attempts if max_attempts is None else max_attempts
    if touches:
        (touched,) = await harness.broker.touch([lease])
        assert touched.state is LeaseState.HELD
    expected = lapse(
        before,
        owner=lease.owner,
        has_presence=isinstance(owner, Owner),
        was_touched=touches,
        max_attempts=limit,
        at=0.0,
    )
    swept = await harness.lapse()
    assert (swept.returned, swept.dead) == (((), (lease.id,)) if expected.is_dead else ((lease.id,), ()))
    return expected


def _check(record: Record, story: list[Lapse]) -> None:
    """The record has these entries, letter by letter; of moments only that they are there."""
    expected = [(one.how, one.owner, one.reason) for told in story for one in told.endings]
    assert [(one.how, one.owner, one.reason) for one in record.history] == expected
    assert all(one.at > 0 for one in record.history)
    reasons = [told.reason for told in story if told.reason is not None]
    assert record.reason == (reasons[-1] if reasons else None)
