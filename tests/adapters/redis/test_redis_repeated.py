"""Every act said twice, as after a lost reply: the second time changes nothing, and its answer is the truth."""

import operator
from collections.abc import Callable
from typing import Any

import pytest
from tests.adapters.redis.house import WRITES, House
from tests.conformance.redis_harness import SINGLE, ClusterHarness, RedisHarness

from tenure.act import Act
from tenure.broker import Swept
from tenure.claim import Running
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.settlement import Outcome

#: Those that nobody repeats so: what a lease lent is found by its request id, and the same events and acts may be told
#: twice, unless nobody answered (below).
_OTHERWISE = {"lease one", "lease all", "lease from two", "append", "record"}


@pytest.fixture(params=[*SINGLE, ClusterHarness], ids=[*(kind.kind for kind in SINGLE), "cluster"])
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


def _is_gone(first: Any, again: Any) -> bool:
    return all(one.took_effect for one in first) and {one.outcome for one in again} == {Outcome.ALREADY_GONE}


#: What the second answer must be, after the first; where nothing is said, the same.
_ANSWERS: dict[str, Callable[[Any, Any], object]] = {
    "send": lambda first, again: all(one.duplicate and one.id == old.id for old, one in zip(first, again, strict=True)),
    "send special": lambda first, again: all(
        (one.duplicate, one.id) == (True, old.id) or one == old for old, one in zip(first, again, strict=True)
    ),
    "ack": _is_gone,
    "ack and hand off": _is_gone,
    "nack": _is_gone,
    "give back": _is_gone,
    "dead letter": _is_gone,
    "sweep": lambda first, again: first.returned and first.dead and again == Swept(),
    "retire": lambda first, again: first.returned and again == Swept(),
    "redrive": lambda first, again: first and not again,
    "cancel": lambda first, again: any(first) and not any(again),
    "delete": lambda first, again: first and not again,
    "claim": lambda first, again: all(
        isinstance(one, Running) or one == old for old, one in zip(first, again, strict=True)
    ),
    **dict.fromkeys(
        ("pause", "resume", "post", "withdraw", "put", "remove", "tick", "forget schedule"),
        lambda first, again: (first, again) == (True, False),
    ),
}


@pytest.mark.parametrize("name", [name for name in WRITES if name not in _OTHERWISE])
async def test_said_again_it_changes_nothing(harness: RedisHarness, name: str) -> None:
    house = House(harness)
    await house.furnish()
    await harness.advance(5.0, sweeping=False)
    before = _facts(house)
    first = await WRITES[name](house)
    once = _facts(house)
    again = await WRITES[name](house)
    assert _facts(house) == once
    assert name in ("touch", "beat", "renew") or once != before, "it changed nothing in the first place"
    fits: Callable[[Any, Any], object] = _ANSWERS.get(name, operator.eq)
    assert fits(first, again), f"{first} and then {again}"


@pytest.mark.parametrize("name", ["lease one", "lease all"])
async def test_what_a_lost_reply_lent_is_found_by_its_request(harness: RedisHarness, name: str) -> None:
    house = House(harness)
    await house.furnish()
    lent = await WRITES[name](house)
    held = await house.broker.held(house.owner["present"].id, "asked")
    assert [lease.id for lease in held] == sorted((id for _, id, *_ in lent), key=[one.id for one in held].index)
    assert len(held) == len(lent)


def _facts(house: House) -> dict[bytes, object]:
    """All that stands there, but for numbers that may be skipped, and moments and beats that were only noted."""
    kept = {key: value[:2] for key, value in house.snapshot().items()}
    return {key: value for key, value in kept.items() if not key.endswith((b":meta", b":until", b":beats", b":lent"))}


async def test_events_that_nobody_answered_for_are_kept_once(
    harness: RedisHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(harness)
    await house.furnish()
    journal, run = harness.state.journal, harness._store.run
    before = await journal.last()

    async def lose_the_reply(*words: Any) -> None:
        await run(*words)
        msg = "the reply was lost"
        raise BrokerUnavailable(msg)

    batch, other = [[Event(EventKind.COMPLETED, 1.0, message_id=id)] for id in ("one", "two")]
    with monkeypatch.context() as patch:
        patch.setattr(harness._store, "run", lose_the_reply)
        with pytest.raises(BrokerUnavailable):
            await journal.append(batch)
    await journal.append(batch)
    await journal.append(other)
    await journal.append(other)
    kept = [stored.event.message_id for stored in await journal.read(before)]
    assert kept == ["one", "two", "two"]


async def test_acts_that_nobody_answered_for_are_kept_once(
    harness: RedisHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    acts, run = harness.state.acts, harness._store.run_all

    async def lose_the_reply(*words: Any, **more: Any) -> None:
        await run(*words, **more)
        msg = "the reply was lost"
        raise BrokerUnavailable(msg)

    batch, other = [Act("paused", 1.0, "ann"), Act("paused", 2.0, "bob")], [Act("resumed", 3.0, "ann")]
    with monkeypatch.context() as patch:
        patch.setattr(harness._store, "run_all", lose_the_reply)
        with pytest.raises(BrokerUnavailable):
            await acts.record(batch)
    for some in (batch, other, other):
        await acts.record(some)
    assert [stored.act.at for stored in await acts.read()] == [3.0, 3.0, 2.0, 1.0]
