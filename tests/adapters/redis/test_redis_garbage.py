"""Garbage put into our keys by hand: every act goes on, nothing of ours is lost, and what is left is put right.

Values, not kinds of keys: those are in `test_redis_wrong_types.py`.
"""

from collections.abc import Callable

import pytest
from tests.adapters.redis.house import READS, WRITES, House
from tests.adapters.redis.showing import shown_in
from tests.conformance.redis_harness import SINGLE, ClusterHarness, RedisHarness

from tenure.lease import LeaseState
from tenure.message import MessageState
from tenure.testing.harness import QUEUE

BINARY = b"\xff\xfe\x00 \x80"
NOBODY = "nobody"

Put = Callable[[House], object]


def _hash(name: str, field: str | bytes, value: str | bytes) -> Put:
    return lambda house: house.raw.hset(_key(house, name), field, value)


def _zset(name: str, score: float, member: str | bytes) -> Put:
    return lambda house: house.raw.zadd(_key(house, name), {member: score})


def _entry(name: str, fields: dict[str, str | bytes], number: str = "*") -> Put:
    return lambda house: house.raw.xadd(_key(house, name), fields, number)


def _key(house: House, name: str) -> str:
    """`name` is the end of a key of the queue, or, after a %, of what belongs to no queue; a message stands in <>."""
    base = house.common if name.startswith("%") else house.queue
    start, _, rest = name.removeprefix("%").partition("<")
    called, _, end = rest.partition(">")
    return f"{base}{start}{house.message[called].id if called else ''}{end}"


def _of(called: str, put: Callable[[str], Put]) -> Put:
    """Garbage that names one of our messages."""
    return lambda house: put(house.message[called].id)(house)


def _fence(house: House, called: str) -> str:
    return str(house.lease[called].fence)


#: Into a key of ours, none of it about a message of ours.
STRANGERS: dict[str, Put] = {
    "an entry of other fields": _entry("s5", {"who": "me"}),
    "an entry of a message that is not known": _entry("s5", {"i": "unknown", "e": BINARY}),
    "an entry whose name is no text": _entry("s5", {"i": BINARY, "e": "{}"}),
    "an entry with too many fields": _entry("s5", {"i": "unknown", "e": "{}", "more": "x"}),
    "an entry with a number of its own": _entry("s9", {"i": "unknown", "e": "{}"}, "9999999999999999-5"),
    "an entry of a priority that nobody used": _entry("s4", {"i": "unknown", "e": "{}"}),
    "a record that is nonsense": _hash("m", NOBODY, "nonsense"),
    "a record that is no text": _hash("m", BINARY, BINARY),
    "a record without anything else": _hash("m", NOBODY, "5123|0|task"),
    "a special record without anything else": _hash("m", NOBODY, "x7123|zz|task"),
    "an empty record": _hash("m", "", ""),
    "one whose name is no text waits": lambda house: (
        _hash("m", BINARY, "5123|0|task")(house),
        _zset("b5", 0, BINARY)(house),
    ),
    "one whose name is no text is due": lambda house: (
        _hash("m", BINARY, "x5124|0|task")(house),
        _zset("z", 0, BINARY)(house),
    ),
    "one whose name is no text is lent": lambda house: (
        _hash("m", BINARY, "5125|0|task")(house),
        _hash("l", BINARY, "77")(house),
        _hash("loan", "77", "1000000|8|client/1r")(house),
    ),
    "a message that will never be due": lambda house: (
        _hash("m", "never", "5126|0|task")(house),
        _zset("z", float("inf"), "never")(house),
    ),
    "an entry with the highest number": _entry("s1", {"i": "unknown", "e": "{}"}, f"{2**64 - 1}-{2**64 - 1}"),
    "the highest place": _hash("m", NOBODY, f"5{2**64 - 1}|0|task"),
    "numbers without end": lambda house: house.raw.hset(
        _key(house, "meta"), mapping=dict.fromkeys(("n", "f", "bk", "bn", "bw", "c1", "c5", "c9"), "inf")
    ),
    "somebody who came back": _zset("b5", 0, NOBODY),
    "somebody who came back, no text": _zset("b9", float("inf"), BINARY),
    "somebody who is due": _zset("z", 0, NOBODY),
    "somebody who will be due": _zset("z", float("inf"), BINARY),
    "somebody who is lent": _hash("l", NOBODY, "77"),
    "somebody who is lent, no text": _hash("l", BINARY, BINARY),
    "a deadline of nobody": _zset("d", 0, NOBODY),
    "a deadline of nobody, later": _zset("d", float("inf"), BINARY),
    "a loan that is nonsense": _hash("loan", "77", "nonsense"),
    "a loan that is no text": _hash("loan", BINARY, BINARY),
    "a count that is nonsense": _hash("n", "77", "many"),
    "a dead nobody": _zset("dead", 5, NOBODY),
    "a dead nobody, no text": _zset("dead", float("-inf"), BINARY),
    "a finished nobody": _hash("done:0", NOBODY, "nonsense"),
    "a finished nobody, no text": _hash("done:0", BINARY, BINARY),
    "a finished nobody that nearly is one": _hash("done:0", NOBODY, "C5:55|zz:"),
    "nobody under a unique": _zset("u:7:deliver:waits", 0, NOBODY),
    "cursors that are none": _hash("meta", "c5", "zz"),
    "places that are none": _hash("meta", "n", "zz"),
    "fences that are none": _hash("meta", "f", "zz"),
    "priorities that are none": _hash("meta", "p", "59a\xff1"),
    "no list of priorities": lambda house: house.raw.hdel(_key(house, "meta"), "p"),
    "buckets that are none": lambda house: house.raw.hset(
        _key(house, "meta"), mapping={"bk": "zz", "bn": "zz", "bw": "zz"}
    ),
    "cursors of sweeps that are none": lambda house: house.raw.hset(
        _key(house, "meta"), mapping={"al": "zz", "ad": "zz", "hm": "zz", "hz": "", "hd": BINARY}
    ),
    "a sweep that is not a moment": _hash("%meta", "swept", "zz"),
    "looks that are no moments": lambda house: house.raw.hset(
        _key(house, "%meta"), mapping={"looked": "zz", "trust": "zz", "listed": "zz", "asked": "zz"}
    ),
    "an owner that is nonsense": _hash("%roster", NOBODY, "nonsense"),
    "an owner that is something else": _hash("%roster", NOBODY, "[1]"),
    "an owner that is no text": _hash("%roster", BINARY, BINARY),
    "an owner that began at no moment": _hash("%roster", "a/b", '{"name":"a","nonce":"b","started_at":"x"}'),
    "an owner whose process is none": _hash("%roster", "a/c", '{"name":"a","nonce":"c","pid":"x"}'),
    "an owner without a name": _hash("%roster", "nil/nil", "{}"),
    "a word of nobody": _zset("%heard", 0, BINARY),
    "a word from before all time": _zset("%heard", float("-inf"), NOBODY),
    "a moment of nobody": _zset("%joined", float("inf"), BINARY),
    "a retirement of nobody": _hash("%retiring", BINARY, "zz"),
    "a banned nobody": _zset("%ban", 0, BINARY),
    "a queue that is no text": lambda house: house.raw.sadd(_key(house, "%queues"), BINARY),
    "a pause that is nonsense": _hash("%pauses", NOBODY, "nonsense"),
    "a pause that is no text": _hash("%pauses", BINARY, BINARY),
    "a post that is nonsense": _hash("%posts", NOBODY, "nonsense"),
    "a post that nearly is one": _hash("%posts", "stack x", "1|nonsense"),
    "a post until no moment": _hash("%posts", "stack y", 'inf|{"kind":"stack","name":"y"}'),
    "a post that is no text": _hash("%posts", BINARY, BINARY),
    "a document that is nonsense": _hash("%kv:token", NOBODY, "nonsense"),
    "a document that nearly is one": _hash("%kv:token", "x", "zz|nan|"),
    "a document that is no text": _hash("%kv:token", BINARY, BINARY),
    "a document that expires at no time": _zset("%kv!ends", 0, BINARY),
    "a kind that is no text": lambda house: house.raw.sadd(_key(house, "%kv!kinds"), BINARY),
    "a tick that is nonsense": _hash("%ticks", NOBODY, "{}"),
    "a tick that is not a moment": _hash("%ticks:at", "nightly", "zz"),
    "cancels that are none": lambda house: house.raw.set(_key(house, "%cancels"), "zz"),
    "an event that is none": _entry("%journal", {"who": "me"}),
    "events that are none": _entry("%journal", {"c": "1", "n": "zz", "o": "zz", "j": "nonsense"}),
    "a count of events that is none": lambda house: house.raw.set(_key(house, "%journal:n"), "zz"),
    "a place of pruning that is none": lambda house: house.raw.set(_key(house, "%journal:pruned"), "zz"),
    "marks of events that are none": lambda house: house.raw.set(_key(house, "%journal:i:0"), BINARY),
    "names of events that are none": lambda house: house.raw.set(_key(house, "%journal:k:0"), BINARY * 9),
    "a tally that is none": _hash("%tally:10:20", BINARY, BINARY),
    "a bucket that is none": _zset("%tally:10", 15, BINARY),
    "an act that is none": _zset("%acts", 0, BINARY),
    "an act at no place": _zset("%acts", float("inf"), "7:nonsense"),
    "a count of acts that is none": lambda house: house.raw.set(_key(house, "%acts:n"), "zz"),
    "a sweep at no time": lambda house: house.raw.hset(_key(house, "%sweep"), mapping={"at": "zz", "every": BINARY}),
    "a batch of nobodies": lambda house: house.raw.rpush(_key(house, "ended:C:0"), "", NOBODY, BINARY, "\n\n"),
    "beats of nobody": _hash("beats", NOBODY, "zz"),
    "hand-offs that are none": _hash("outbox", NOBODY, "nonsense"),
}

#: About messages of ours.
ABOUT_OURS: dict[str, Put] = {
    "counters that are none": lambda house: house.raw.hset(
        _key(house, "x:<held before>"), mapping={"d": "1.5", "a": "zz", "c": "-7", "l": BINARY}
    ),
    "what is told of it is nonsense": lambda house: house.raw.hset(
        _key(house, "x:<held before>"), mapping={"r": "{", "pg": BINARY, "f": "zz", "s": "nan", "ma": "zz"}
    ),
    "what is told of one that waits is nonsense": lambda house: house.raw.hset(
        _key(house, "x:<given back>"), mapping={"d": "zz", "r": "[]", "s": "nan", "ma": "zz", "k": "no", "u": BINARY}
    ),
    "a history that is none": lambda house: house.raw.rpush(_key(house, "h:<given back>"), "nonsense", BINARY),
    "a claim that is none": _hash("k:7:deliver:0:key:key", "u", "zz"),
    "a claim of nobody": lambda house: house.raw.hdel(_key(house, "k:7:deliver:0:key:key"), "o"),
    "a copy of an entry that waits": _of("ready", lambda id: _entry("s5", {"i": id, "e": "a copy"})),
    "a copy of an entry that is held": _of("held", lambda id: _entry("s5", {"i": id, "e": "a copy"})),
    "a copy of an entry that is finished": _of("completed", lambda id: _entry("s5", {"i": id, "e": "a copy"})),
    "one that is held came back": _of("held", lambda id: _zset("b5", 0, id)),
    "one that waits came back": _of("ready", lambda id: _zset("b5", 0, id)),
    "one that is dead came back": _of("dead", lambda id: _zset("b5", 0, id)),
    "one that is finished came back": _of("completed", lambda id: _zset("b5", 0, id)),
    "one that is held is due": _of("held", lambda id: _zset("z", 0, id)),
    "one that waits is dead": _of("ready", lambda id: _zset("dead", 5, id)),
    "one that is held is finished": _of("held", lambda id: _hash("done:0", id, "nonsense")),
    "beats that are none": _of("held", lambda id: _hash("beats", id, BINARY)),
    "beats that nearly are": _of(
        "held", lambda id: lambda house: _hash("beats", id, f"{_fence(house, 'held')}:zz:::")(house)
    ),
    "one that waits is among the completed": _of(
        "ready", lambda id: lambda house: house.raw.rpush(_key(house, "ended:C:0"), f"{id}\n{id}")
    ),
    "a lease that is nobody's": _of("held", lambda id: _hash("l", id, BINARY)),
    "a lease of one that waits": _of("ready", lambda id: _hash("l", id, "77")),
    "no lease": _of("held", lambda id: lambda house: house.raw.hdel(_key(house, "l"), id)),
    "no deadline": _of("held", lambda id: lambda house: house.raw.zrem(_key(house, "d"), id)),
    "a loan that is nonsense": lambda house: _hash("loan", _fence(house, "held"), "nonsense")(house),
    "a count that is nonsense": lambda house: _hash("n", _fence(house, "held"), "many")(house),
    "no count": lambda house: house.raw.hdel(_key(house, "n"), _fence(house, "held")),
    "no place where it waits": _of("given back", lambda id: lambda house: house.raw.zrem(_key(house, "b5"), id)),
    "a record that is nonsense": _of("ready", lambda id: _hash("m", id, "nonsense")),
    "a record of one that is held is nonsense": _of("held", lambda id: _hash("m", id, BINARY)),
    "its entry is gone": lambda house: house.raw.xtrim(_key(house, "s5"), 0),
    "no group": lambda house: house.raw.xgroup_destroy(_key(house, "s5"), "tenure"),
    "the group was set back": lambda house: house.raw.xgroup_setid(_key(house, "s5"), "tenure", "0"),
    "the group was set ahead": lambda house: house.raw.xgroup_setid(_key(house, "s5"), "tenure", "$"),
}


HARNESSES = [*SINGLE, ClusterHarness]
IDS = [*(kind.kind for kind in SINGLE), "cluster"]


@pytest.fixture(params=HARNESSES, ids=IDS)
def harness(request: pytest.FixtureRequest) -> RedisHarness:
    """Fresh keys in virtual time."""
    kind: type[RedisHarness] = request.param
    return kind()


async def test_garbage_of_all_kinds_stops_no_act(harness: RedisHarness) -> None:
    house = await _furnished(harness)
    for put in STRANGERS.values():
        put(house)
    await _every_act_goes_on(house)


@pytest.mark.parametrize("harness", HARNESSES[:1], ids=IDS[:1], indirect=True)
@pytest.mark.parametrize("what", ABOUT_OURS)
async def test_garbage_about_a_message_of_ours_stops_no_act(harness: RedisHarness, what: str) -> None:
    house = await _furnished(harness)
    ABOUT_OURS[what](house)
    await _every_act_goes_on(house)


@pytest.mark.parametrize("what", STRANGERS)
async def test_garbage_is_put_right_and_nothing_is_lost(harness: RedisHarness, what: str) -> None:
    house = await _furnished(harness)
    STRANGERS[what](house)
    await _is_put_right(house)


@pytest.mark.parametrize("what", ABOUT_OURS)
async def test_a_message_of_ours_comes_out_of_the_garbage_about_it(harness: RedisHarness, what: str) -> None:
    house = await _furnished(harness)
    ABOUT_OURS[what](house)
    await _is_put_right(house)


@pytest.mark.parametrize("what", ABOUT_OURS)
async def test_what_is_held_is_lent_to_nobody_else_and_what_waits_once(harness: RedisHarness, what: str) -> None:
    house = await _furnished(harness)
    ABOUT_OURS[what](house)
    held = [lease for name, lease in house.lease.items() if name.startswith("held")]
    stands = {one.id for one in await house.broker.touch(held) if one.state is LeaseState.HELD}
    assert len(stands) >= len(held) - 1
    lent = await harness.lease_all("reader/1", seconds=60.0)
    await harness.sweep()
    lent += await harness.lease_all("reader/2", seconds=60.0)
    ids = [lease.id for lease in lent]
    assert len(ids) == len(set(ids))
    assert not stands & set(ids)


async def _furnished(harness: RedisHarness) -> House:
    house = House(harness)
    await house.furnish()
    await harness.advance(5.0, sweeping=False)
    return house


async def _every_act_goes_on(house: House) -> None:
    spoilt, wrong = house.snapshot(), []
    for name, act in (READS | WRITES).items():
        house.restore(spoilt)
        try:
            await act(house)
            await house.harness.sweep()
            await house.broker.depth()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


async def _is_put_right(house: House) -> None:
    """Everything can be told of, lent once and finished, and nothing is left but what is dead."""
    harness = house.harness
    await harness.advance(130.0)
    for name, message in house.message.items():
        assert await house.state.records.get(message.id), f"{name} is lost"
    leases = await harness.lease_all("reader/1", seconds=60.0)
    lent = {lease.id for lease in leases}
    waited = [name for name in house.message if name.startswith(("ready", "delayed", "held", "given back", "lapsing"))]
    for name in waited:
        message = house.message[name]
        state = (await house.state.records.get(message.id)).state
        assert message.queue != QUEUE or message.id in lent or state is MessageState.DEAD, f"{name} is stuck as {state}"
    for lease in leases:
        await harness.complete(lease)
    await harness.sweep()
    (depth,) = await house.broker.depth([QUEUE])
    dead = await shown_in(house.broker, QUEUE, MessageState.DEAD)
    assert (depth.ready, depth.delayed, depth.leased, depth.dead) == (0, 0, 0, len(dead))
