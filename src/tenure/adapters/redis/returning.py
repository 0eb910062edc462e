"""Returning: what a holder can no longer finish goes back to its queue. Sweep and retire, over all queues.

First: was there a gap, in the sweeps or in what is heard of workers, judged once for all queues. Then: what is overdue,
and has the server restarted, in each queue of which something is lent; after a gap, a silence or a restart in every
queue. Then the move. Of the other queues a part is looked at each time, so a thousand idle ones cost little. With its
last batch, queues are healed too, and those that were empty for an hour are forgotten.

A queue's script moves only while the look is young, so that a sweeper which was frozen in between returns nothing.
After a gap, a restart or a failover leases get a fresh window first: once between two touches, so that rare sweeps
still return leases that are not renewed.

A queue with a foreign value under a key is left out, and logged once; the others are swept.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tenure.adapters.redis.announcing import note_announcing
from tenure.adapters.redis.foreign_keys import sound, text_of
from tenure.adapters.redis.forgetting import forget_in_cluster
from tenure.adapters.redis.outbox import HandOffOutbox
from tenure.adapters.redis.repair import heal
from tenure.adapters.redis.roster import SILENCE_SECONDS, holding
from tenure.adapters.redis.script import JUDGE, RETIRE, ROSTER, SWEEP
from tenure.adapters.redis.store import RedisStore, micros, read_queues
from tenure.adapters.redis.topology import ScriptCall
from tenure.broker import SweepRequest, Swept
from tenure.errors import StoreForeign
from tenure.rules import lapse as rule
from tenure.rules.rotation import rotated

#: Queues that are looked at in one step.
_TOGETHER = 50
#: Queues without leases are looked at in turn, this many with each sweep: people may have changed them by hand,
#: older versions do not announce that they lease, and one that stays empty is forgotten.
_PART = 100
#: States of a queue: it has leases; it was empty for an hour, and is forgotten.
_LENT, _FORGOTTEN = 2, -1
_RETURNED, _DEAD = 1, 2
#: Messages of a retired owner that one script returns: about ten milliseconds, in which Redis serves no other client.
_PAGE = 250

#: The queues of one call, and its arguments.
_Step = tuple[Sequence[str], Sequence[Any]]


class _Look(NamedTuple):
    """The state of one queue."""

    queue: str
    #: The queue's time then.
    at: bytes
    overdue: int
    #: The server is another one, or started over, since something was lent.
    began_anew: bool
    #: Whether something is there, or was for the last hour.
    content: int
    adopted: tuple[str, ...]


class RedisReturns:
    """Sweeps and retirements."""

    def __init__(self, store: RedisStore, outbox: HandOffOutbox) -> None:
        """Take the store."""
        self._store = store
        self._outbox = outbox
        self._turn = 0
        #: The queues there were at the last sweep; None before the first.
        self._known: set[str] | None = None
        #: Those that are looked at this time though nothing may be lent there, and where the next ones begin.
        self._part: set[str] = set()
        self._next = 0

    async def sweep(self, request: SweepRequest) -> Swept:
        """Return overdue leases; after an outage, what had no fresh window since its last touch gets one."""
        store, interval = self._store, micros(request.interval_seconds)
        began = store.clock.monotonic()
        gap, silence, looks = await self._look(request)
        queues = [look.queue for look in looks if look.content == _LENT]
        given = 0
        if gap:
            given = await self._give_grace(queues, request)
            await store.run(JUDGE, (), "note", interval, micros(SILENCE_SECONDS))
        elif silence:
            given = await self._excuse(queues, request, silence)
            await store.run(JUDGE, (), "note", interval, micros(SILENCE_SECONDS))
        adopted = tuple(id for look in looks for id in look.adopted)
        given += await self._give_grace([look.queue for look in looks if look.began_anew], request)
        grace = given > 0
        is_last = sum(look.overdue for look in looks) <= request.limit
        found, unreadable = await self._tidy_up(looks) if is_last else ({}, {})
        if store.clock.monotonic() - began > request.interval_seconds:
            # We were held up; the next sweep judges again.
            return Swept(tuple(found), tuple(unreadable), adopted, grace, queues={**found, **unreadable})
        returned, dead = await self._move(looks, request)
        moved = {**returned, **dead, **found, **unreadable}
        await store.hint({*returned.values(), *found.values()})
        return Swept((*returned, *found), (*dead, *unreadable), adopted, grace, queues=moved)

    async def _tidy_up(self, looks: list[_Look]) -> tuple[dict[str, str], dict[str, str]]:
        """Once a sweep, with its last batch, and before anything is moved: what fails here fails as a whole."""
        if self._store.link.is_cluster:
            for look in looks:
                await self._outbox.empty_all(look.queue)
                if look.content == _FORGOTTEN:
                    await forget_in_cluster(self._store, look.queue)
            await note_announcing(self._store, [look.queue for look in looks if look.content != _FORGOTTEN])
        return await heal(self._store, [look.queue for look in looks if look.queue in self._part and look.content > 0])

    async def _look(self, request: SweepRequest) -> tuple[bool, int, list[_Look]]:
        """Was there a gap, how long a silence, and what is to be seen in each queue that must be looked at."""
        store = self._store
        ask = ("ask", micros(request.interval_seconds), micros(SILENCE_SECONDS))
        gap, silence, known, lent, is_new = await store.run(JUDGE, (), *ask)
        must_all = gap or int(silence) or is_new or lent is None or store.link.is_cluster
        chosen = self._choose(sorted(read_queues(known)), lent or (), must_all=bool(must_all))
        looks: list[_Look] = []
        for some in self._groups(chosen):  # one after the other: between two of them others are served
            looks += await self._looks([some], await self._run("look", request, _limited([some], request)), request)
        # Beginning with another one each time, so that a limit starves none.
        self._turn += 1
        return bool(gap), int(silence), list(rotated(looks, self._turn))

    def _choose(self, queues: list[str], lent: Sequence[bytes], *, must_all: bool) -> list[str]:
        """Queues with leases, queues that are new here, and a part of the others, in turn."""
        start = self._next if self._next < len(queues) else 0
        self._part = {*queues[start : start + _PART]}
        self._next = start + _PART
        # Where others have swept just before our first sweep, they have seen all, and none is new.
        new = set[str]() if self._known is None else {*queues} - self._known
        self._known = {*queues}
        if must_all:
            return queues
        names = (self._store.names.queue_of(prefix) for prefix in lent)
        return sorted({name for name in names if name is not None} | new | self._part)

    async def _looks(self, groups: list[list[str]], answers: Sequence[Any], request: SweepRequest) -> list[_Look]:
        """The states of queues. If one queue has a foreign key, the others of its group are read one by one."""
        seen = [*zip(groups, answers, strict=True)]
        mixed = [group for group, answer in seen if isinstance(answer, StoreForeign) and len(group) > 1]
        if mixed:
            singles = [[queue] for group in mixed for queue in group]
            seen = [one for one in seen if one[0] not in mixed]
            seen += zip(singles, await self._run("look", request, _limited(singles, request)), strict=True)
        sane = [(group, answer) for group, answer in seen if sound(group[0], answer)]
        return _read_looks(sane)

    def _groups(self, queues: list[str]) -> list[list[str]]:
        """Group the queues that one script can look at."""
        together = 1 if self._store.link.is_cluster else _TOGETHER
        return [queues[start : start + together] for start in range(0, len(queues), together)]

    async def _give_grace(self, queues: list[str], request: SweepRequest) -> int:
        """Extend one page of leases at a time; return how many. No message is moved until all are extended."""
        left: list[tuple[str, bytes]] = [(queue, b"0") for queue in queues]
        count = 0
        while left:
            answers = await self._run("grace", request, (([queue], (cursor,)) for queue, cursor in left))
            told = [(queue, *said) for (queue, _), said in zip(left, answers, strict=True) if sound(queue, said)]
            count += sum(lent for _, _, lent in told)
            left = [(queue, cursor) for queue, cursor, _ in told if cursor != b"0"]
        return count

    async def _excuse(self, queues: list[str], request: SweepRequest, silence: int) -> int:
        """Give a fresh window to leases that lapsed while no worker was heard; how many."""
        count = 0
        left = [(queue, 0) for queue in queues]
        while left:
            answers = await self._run("excuse", request, (([queue], (silence, skip)) for queue, skip in left))
            told = [(*one, *said) for one, said in zip(left, answers, strict=True) if sound(one[0], said)]
            count += sum(given for *_, given, _ in told)
            left = [(queue, skip + skipped) for queue, skip, more, _, skipped in told if more]
        return count

    async def _move(self, looks: list[_Look], request: SweepRequest) -> tuple[dict[str, str], dict[str, str]]:
        """The ids that were returned, and those that are dead now; each with its queue."""
        shares = [(look, share) for look, share in _shares(looks, request.limit) if share]
        if not shares:
            return {}, {}
        limits = (request.max_attempts, rule.MAX_LOST)
        texts = (rule.LAPSED_TEXT, rule.MAX_ATTEMPTS_TEXT, rule.MAX_LOST_TEXT, rule.UNKNOWN_OWNER, rule.REMOTE_OWNER)
        age = micros(request.interval_seconds)
        answers = await self._run(
            "move", request, (([look.queue], (share, *limits, look.at, age, *texts)) for look, share in shares)
        )
        returned: dict[str, str] = {}
        dead: dict[str, str] = {}
        for (look, _), answer in zip(shares, answers, strict=True):
            if sound(look.queue, answer) and not isinstance(
                answer, int
            ):  # else we were held up; the next sweep judges again
                returned |= dict.fromkeys(_of_kind(answer, _RETURNED), look.queue)
                dead |= dict.fromkeys(_of_kind(answer, _DEAD), look.queue)
        return returned, dead

    async def _run(self, mode: str, request: SweepRequest, calls: Iterable[_Step]) -> list[Any]:
        return await self._store.run_each(self._calls(mode, request, calls))

    def _calls(self, mode: str, request: SweepRequest, calls: Iterable[_Step]) -> list[ScriptCall]:
        lease = micros(request.lease_seconds)
        return [self._store.call(SWEEP, queues, (mode, lease, *more)) for queues, more in calls]

    async def retire(self, owner: str, limit: int, *, crashed: bool) -> Swept:
        """Ban the owner, return its messages, then take it off the roster. Any worker can go on in between."""
        store, how = self._store, "crashed" if crashed else "left"
        declared = bool(await store.run(ROSTER, (), "ban", owner, how))
        returned: dict[str, str] = {}
        for queue in await holding(store, owner, "ban"):
            await self._retire_in(queue, owner, how, returned, limit)
        await store.hint({*returned.values()})
        if len(returned) >= limit:
            return Swept(tuple(returned), more=True, declared=declared, queues=returned)
        await store.run(ROSTER, (), "retired", owner)
        return Swept(tuple(returned), declared=declared, queues=returned)

    async def _retire_in(self, queue: str, owner: str, how: str, returned: dict[str, str], limit: int) -> None:
        """Return what it holds in one queue, page by page, until nothing is left or the limit is reached."""
        cursor = b"0"
        while len(returned) < limit:
            left = min(_PAGE, limit - len(returned))
            call = self._store.call(RETIRE, [queue], ("move", owner, how, cursor, left))
            (answer,) = await self._store.run_each([call])
            if not sound(queue, answer):
                return  # what it held there is returned when its lease has lapsed and the keys are put right
            is_done, cursor, *ids = answer
            returned |= dict.fromkeys((text_of(id) for id in ids), queue)
            if is_done:
                return


def _limited(groups: Iterable[list[str]], request: SweepRequest) -> list[_Step]:
    return [(group, (request.limit,)) for group in groups]


def _read_looks(seen: Iterable[tuple[list[str], Any]]) -> list[_Look]:
    return [
        _Look(queue, at, overdue, bool(began_anew), content, tuple(text_of(id) for id in adopted))
        for group, answer in seen
        for queue, (at, overdue, began_anew, content, *adopted) in zip(group, answer, strict=True)
    ]


def _shares(looks: Iterable[_Look], limit: int) -> Iterable[tuple[_Look, int]]:
    """Share the limit among the queues: how many messages to return in each."""
    for look in looks:
        share = min(limit, look.overdue)
        limit -= share
        yield look, share


def _of_kind(answer: Sequence[Any], wanted: int) -> list[str]:
    return [text_of(id) for kind, id in zip(answer[::2], answer[1::2], strict=True) if kind == wanted]
