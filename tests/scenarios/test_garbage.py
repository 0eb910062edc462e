"""Things in the store that Tenure did not put there: they harm no message, and no worker."""

import os
from typing import Any

from tenure.message import MessageState

from .grounds import SERVERS, Ground, RedisGround, on
from .stage import Stage

#: Ids of messages that never were.
GHOSTS = [b"ghost", b"\x00\xff\x80", b"", "größe|1|2".encode(), b"x" * 5000]
_BYTES = b'\x00\xff{"tenure":'


def streams(redis: Any, queue: str, known: str) -> int:
    """Entries of all kinds into the streams; how many."""
    entries: list[dict[bytes | str, bytes | str]] = [
        {"a": "1"},
        {b"\x00": _BYTES, b"": b""},
        {"i": "ghost", "e": _BYTES},
        {"i": "", "e": ""},
        {b"i": b"\x00\xff", b"e": _BYTES},
        {"e": "the wrong", "i": "way round"},
        {"i": known, "e": "a message that is there already"},
        {"i": "too", "e": "many", "more": "fields"},
    ]
    for fields in entries:
        redis.xadd(f"{queue}s5", fields)
    return len(entries)


def hashes(redis: Any, queue: str) -> None:
    """Fields of all kinds into the hashes."""
    for ghost in GHOSTS:
        redis.hset(f"{queue}l", ghost, b"1")
        redis.hset(f"{queue}l", ghost + b"2", b"\xff not a fence")
        redis.hset(f"{queue}m", ghost + b"3", os.urandom(20))
        redis.hset(f"{queue}loan", ghost, b"not|a|loan")
        redis.hset(f"{queue}n", ghost, b"not a number")
        redis.hset(f"{queue}x:{ghost.hex()}", "a", "not a number")
        redis.rpush(f"{queue}h:{ghost.hex()}", b"not an ending")


def sorted_sets(redis: Any, queue: str) -> None:
    """Members of all kinds into the sorted sets: due, overdue, returned and dead."""
    for ghost in GHOSTS:
        for key in ("z", "d", "b5", "b0", "dead"):
            redis.zadd(f"{queue}{key}", {ghost: 1, ghost + b"3": 1})
            redis.zadd(f"{queue}{key}", {ghost + b"far": float("inf"), ghost + b"early": float("-inf")})


def common(redis: Any, prefix: str) -> None:
    """And into what belongs to no queue."""
    redis.hset(f"{prefix}roster", "ghost/1", b"\xff not an owner")
    redis.hset(f"{prefix}line", "ghost/2", b"no connection")
    redis.zadd(f"{prefix}until", {"ghost/3": 1})
    redis.sadd(f"{prefix}left", "ghost/4")
    redis.xadd(f"{prefix}journal", {"a": _BYTES})


@on(*SERVERS)
def test_garbage_in_the_store_harms_no_message_and_no_worker(stage: Stage, ground: Ground) -> None:
    """No loss: before anybody works, and in the midst of it. What was put into a stream lies in the dead letters."""
    assert isinstance(ground, RedisGround)
    stage.configure(lease=2, sweep_interval=0.25)
    redis, queue = ground.raw, ground.names.queue(stage.app.queue)
    ids = stage.submit_many("nap", [{"seconds": 0.02}] * 100)

    def inject() -> int:
        count = streams(redis, queue, ids[0])
        hashes(redis, queue)
        sorted_sets(redis, queue)
        common(redis, ground.names.common)
        return count

    # A number above all that will ever be: what is sent with this priority later must get past it.
    redis.xadd(f"{queue}s7", {"i": "ghost", "e": "far away"}, id="9007199254740991-7")
    put = inject()
    workers = [stage.worker(), stage.worker()]
    stage.submit("fail", {}, max_attempts=1)
    for number in range(5):
        stage.submit_many("nap", [{"seconds": 0.02 * (number % 2)}] * 60)
        stage.submit("nap", {"seconds": 0.0}, delay=0.3)
        stage.submit("nap", {"seconds": 0.0}, priority=7)
        put += inject()
    killed_at = workers[0].kill()

    stage.until(lambda: all_done(stage), "every message is settled")

    stage.measured("from kill -9 to the end", stage.runs()[-1].last - killed_at)
    stage.verdict(dead=[id for id in stage.sent if stage.record(id).task == "fail"])
    assert workers[1].exit_code is None
    for state in MessageState:
        stage.browse(state)
    dead = stage.browse(MessageState.DEAD)
    codes = [one.reason.code for one in dead if one.reason is not None]
    assert codes.count("malformed_entry") >= put
    assert any(_BYTES in one.envelope for one in dead), "with its raw bytes"


def all_done(stage: Stage) -> bool:
    """Asked of the messages themselves: depths count ghosts, too."""
    return all(record is not None and record.finished_at for record in stage.records().values())
