"""The leases there are: all of them, soonest deadline first, or one by its name. Changes nothing.

However many queues there are, first it is asked how many leases each has, and only those that have some are read, in
scripts of some hundred rows (`lua/leases.lua`). Where there are more than were asked for, each queue is read as far as
it can belong to the soonest.

The fence of a lease is its moment: the queue's time in microseconds. What a touch adds (beats, size, prediction) is
in a hash beside the leases (`lua/touch.lua`).
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from tenure.adapters.redis import foreign_keys
from tenure.adapters.redis.lending import FIRST_DELIVERY, read_counters
from tenure.adapters.redis.lookup import task_of
from tenure.adapters.redis.script import LEASES, LENT
from tenure.adapters.redis.store import RedisStore
from tenure.adapters.redis.sweep_time import sweep_key
from tenure.adapters.redis.topology import ScriptCall
from tenure.errors import StoreForeign
from tenure.lease import Lease
from tenure.query import HeldLease, Leases
from tenure.record import Progress
from tenure.rules.queue_pattern import served_of

#: Queues that one script is asked about, and rows that it reads.
_TOGETHER, _ROWS = 200, 400
#: What `lua/move.lua` puts behind the loan of a holder that never joined the roster.
_NO_PRESENCE = b"\x1fno presence"

#: As LONGEST in `lua/base.lua`: a moment further ahead was written by hand.
_LONGEST = 3653 * 86_400.0

#: Attempts and progress.
_NO_DETAILS = (b"", b"")

_progress = msgspec.json.Decoder(Progress)


class _Want(NamedTuple):
    """Some leases of one queue."""

    queue: str
    #: The rank of the first one, by deadline.
    start: int
    size: int


class _Loan(NamedTuple):
    seconds: float
    owner: str
    fence: int
    #: Wall time. None: its fence is not the time of a loan.
    leased_at: float | None
    has_presence: bool


async def find(store: RedisStore, id: str, owner: str, fence: int, queue: str | None) -> Lease | None:
    """The lease that `owner` has on a message under `fence`."""
    asked = store.clock.monotonic()
    if queue is not None:
        found = await _find_in(store, [queue], id, owner, fence, asked)
        if found is not None:
            return found
    return await _find_in(store, [one for one in await store.queues() if one != queue], id, owner, fence, asked)


async def _find_in(store: RedisStore, queues: list[str], id: str, owner: str, fence: int, asked: float) -> Lease | None:
    groups = _groups(store, queues)
    answers = await _run_each(store, groups, lambda group: store.call(LENT, group, (id, fence, owner)))
    for group, said in answers:
        if isinstance(said, StoreForeign):
            continue
        if said:
            number, raw, window, left, counters = said
            return Lease(
                id,
                group[number],
                raw,
                owner,
                fence,
                fence,
                int(window) / 1e6,
                asked + int(left) / 1e6,
                read_counters(counters) if counters else FIRST_DELIVERY,
            )
    foreign = next((said for _, said in answers if isinstance(said, StoreForeign)), None)
    if foreign is not None:
        raise foreign  # it may stand in the queue that cannot be read
    return None


async def leases(store: RedisStore, queues: Sequence[str] | None, limit: int) -> Leases:
    """The current leases, in all queues or in these."""
    (swept,) = await store.run_all([store.call(LEASES, (), ("sweep", sweep_key(store.names)))], writes=False)
    now = store.wall.now()
    last = now - int(swept[0]) / 1e6 if swept else None
    following = last + int(swept[1]) / 1e6 if last is not None and swept[1] else None
    held: list[HeldLease] = []
    is_cut = False
    if limit > 0:
        known = await store.queues()
        held, is_cut = await _soonest(store, known if queues is None else served_of(known, queues), limit)
    return Leases(leases=tuple(held), is_cut=is_cut, now=now, last_sweep_at=last, next_sweep_at=following)


async def _soonest(store: RedisStore, queues: list[str], limit: int) -> tuple[list[HeldLease], bool]:
    """Up to `limit` leases, and whether there are more."""
    answers = await _run_each(store, _groups(store, queues), lambda group: store.call(LEASES, group, ("count",)))
    counts: dict[str, int] = {}
    for group, said in answers:
        if not foreign_keys.sound(group[0], said):
            continue
        counts.update((queue, count) for queue, count in zip(group, said, strict=True) if count)
    total = sum(counts.values())
    first = _ROWS if total <= limit else math.ceil(limit / max(1, len(counts))) + 10
    read = dict.fromkeys(counts, 0)
    found: dict[tuple[str, str], HeldLease] = {}
    wants = [_Want(queue, 0, min(count, first)) for queue, count in counts.items()]
    while wants:
        latest: dict[str, float] = {}
        for queue, rows in await _read(store, wants):
            found.update(((queue, one.id), one) for one in rows)
            if rows:
                latest[queue] = rows[-1].deadline_in
        for want in wants:
            read[want.queue] += want.size
        # Behind the last one of a queue there is nothing sooner: those that end after all who are wanted are done with.
        end = math.inf
        if len(found) >= limit:
            end = heapq.nsmallest(limit, (one.deadline_in for one in found.values()))[-1]
        wants = [
            _Want(queue, read[queue], min(_ROWS, counts[queue] - read[queue]))
            for queue in dict.fromkeys(want.queue for want in wants)
            if read[queue] < counts[queue] and latest.get(queue, -math.inf) < end
        ]
    ordered = sorted(found.values(), key=lambda one: (one.deadline_in, one.queue, one.id))
    return ordered[:limit], len(ordered) > limit or any(read[queue] < count for queue, count in counts.items())


async def _read(store: RedisStore, wants: list[_Want]) -> list[tuple[str, list[HeldLease]]]:
    """The leases of each queue. A queue with a foreign key is left out, and logged once."""
    groups = list(_portions(wants, together=1 if store.link.is_cluster else _TOGETHER))

    def call(group: list[_Want]) -> ScriptCall:
        words = [word for want in group for word in (want.start, want.size)]
        return store.call(LEASES, [want.queue for want in group], ("rows", *words))

    answers = await store.run_each([call(group) for group in groups], writes=False)
    seen = [one for one in zip(groups, answers, strict=True) if not isinstance(one[1], StoreForeign)]
    single = [
        [want] for group, said in zip(groups, answers, strict=True) if isinstance(said, StoreForeign) for want in group
    ]
    seen += zip(single, await store.run_each([call(group) for group in single], writes=False), strict=True)
    wall = store.wall.now()
    return [
        (want.queue, list(_read_queue(want.queue, told, wall)))
        for group, said in seen
        if foreign_keys.sound(group[0].queue, said)
        for want, told in zip(group, said, strict=True)
    ]


def _portions(wants: list[_Want], *, together: int) -> Iterator[list[_Want]]:
    """Split the leases into the portions that one script call reads."""
    group: list[_Want] = []
    rows = 0
    for want in wants:
        if group and (len(group) >= together or rows + want.size > _ROWS):
            yield group
            group, rows = [], 0
        group.append(want)
        rows += want.size
    yield group


def _read_queue(queue: str, told: list[Any], wall: float) -> Iterator[HeldLease]:
    raw_now, raw_loans, pairs, fences, records, beats, more = told
    now = int(raw_now)
    pieces = zip(raw_loans[::2], raw_loans[1::2], strict=True)
    loans = {fence: loan for fence, text in pieces if (loan := _read_loan(fence, text, now, wall)) is not None}
    details = {place: (attempts, progress) for place, attempts, progress in zip(*[iter(more)] * 3, strict=True)}
    rows = zip(pairs[::2], pairs[1::2], fences, records, beats or [None] * len(fences), strict=True)
    for place, (id, score, fence, record, beat) in enumerate(rows):
        if fence is None or record is None:
            continue  # a deadline without a holder, or a lease without a message: the next sweep drops it
        loan = loans.get(fence)
        if loan is None:
            foreign_keys.tell("leases", fence)
            continue
        left = (float(score) - now) / 1e6
        if not -_LONGEST <= left <= _LONGEST:  # none lies further ahead, or behind, than can be told
            left = _LONGEST if left > 0 else -_LONGEST
        touched = beat and _read_beats(beat, fence)
        seconds, count, last, size, predicted = touched or (loan.seconds, 0, None, None, None)
        attempts, progress = details.get(place, _NO_DETAILS) if details else _NO_DETAILS
        yield HeldLease(
            id=foreign_keys.text_of(id), queue=queue, task=task_of(record), owner=loan.owner, fence=loan.fence,
            attempt=1 + foreign_keys.count(attempts, "x") if attempts else 1, leased_at=loan.leased_at,
            deadline=wall + left, deadline_in=left, seconds=seconds, beats=count,
            last_beat_at=None if last is None else wall - (now - last) / 1e6,
            progress=foreign_keys.read(_progress, progress, "x") if progress else None, size=size,
            predicted_seconds=predicted, has_presence=loan.has_presence,
        )  # fmt: skip


def _read_loan(fence: bytes, text: bytes, now: int, wall: float) -> _Loan | None:
    """Decode a loan, as `read_loan` in `lua/move.lua` does."""
    seconds, _, rest = text.partition(b"|")
    length, _, who = rest.partition(b"|")
    if not seconds.isdigit() or not length.isdigit() or not fence.isdigit():
        return None
    number, owner = int(fence), foreign_keys.text_of(who[: int(length)])
    leased_at = wall - (now - number) / 1e6 if number <= now + 1_000_000 else None
    return _Loan(int(seconds) / 1e6, owner, number, leased_at, has_presence=not who.endswith(_NO_PRESENCE))


#: Seconds of each touch, touches, the queue's time at the last one in microseconds, size and predicted seconds.
_Beats = tuple[float, int, int, float | None, float | None]


def _read_beats(text: bytes, fence: bytes) -> _Beats | None:
    """Decode the beats that `lua/touch.lua` wrote. None: no touch under this fence, or the value was overwritten."""
    own, *rest = text.split(b":")
    if own != fence:
        return None
    try:
        count, at, micros, size, predicted = rest
        return (
            int(micros) / 1e6, int(count), int(at), float(size) if size else None,
            float(predicted) if predicted else None,
        )  # fmt: skip
    except ValueError:
        foreign_keys.tell("beats", text)
        return None


def _groups(store: RedisStore, queues: list[str]) -> list[list[str]]:
    """Group the queues that one script can look at."""
    together = 1 if store.link.is_cluster else _TOGETHER
    return [queues[start : start + together] for start in range(0, len(queues), together)]


async def _run_each(store: RedisStore, groups: list[list[str]], call: Any) -> list[tuple[list[str], Any]]:
    """Run each group's script. If a group meets a foreign key, its queues are asked one by one."""
    answers = await store.run_each([call(group) for group in groups], writes=False)
    seen = list(zip(groups, answers, strict=True))
    mixed = [group for group, said in seen if isinstance(said, StoreForeign) and len(group) > 1]
    singles = [[queue] for group in mixed for queue in group]
    seen = [one for one in seen if one[0] not in mixed]
    seen += zip(singles, await store.run_each([call(group) for group in singles], writes=False), strict=True)
    return seen
