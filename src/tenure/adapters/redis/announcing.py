"""Announcements: read in the order of their places, and ended. The scripts that end messages write them.

On one server they are one stream for all queues, so their places are in exactly the order of the endings. In a
cluster each queue has one, because a script reaches its own queue only. Which queues have some is known from a set: a
queue is put on it before a message that asks is sent there (`RedisStore.make_announcing`), so a crash in between loses
nothing. If the set was lost, the next sweep finds the queues again (`note_announcing`). Places are compared over
queues by the time of their servers, so with clocks that differ a new one may come behind a place that was read.

`lua/announce.lua` says how they are stored. Used by `broker.py` and `returning.py`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from tenure.adapters.redis import foreign_keys
from tenure.adapters.redis.asking import ASKS, read_request
from tenure.adapters.redis.script import ANNOUNCED
from tenure.adapters.redis.store import RedisStore, read_queues
from tenure.announcement import Announcement, AnnounceRequest
from tenure.errors import StoreForeign
from tenure.message import MessageState
from tenure.verdict import Reason

_reason = msgspec.json.Decoder(Reason)

#: Announcements that one script reads or ends: a few milliseconds, in which the server does nothing else.
_PIECE = 250
#: Bytes that one script reads, about; in a cluster all together, but at least one entry of each queue.
_BYTES = 4 * 1024 * 1024
_ENDINGS = {b"C": MessageState.COMPLETED, b"D": MessageState.DEAD, b"X": MessageState.CANCELLED}
_WHERE = "the announcements"
#: An entry's number; of a pack, which of it and how many it has; in a cluster the queue.
_PLACE = re.compile(r"(\d{1,20})-(\d{1,20})(?:/(\d{1,6})/(\d{1,6}))?(?: (.*))?", re.DOTALL)
_HIGHEST = 2**64 - 1
_ASKS = ASKS.encode()


class _Place(NamedTuple):
    """Where an announcement is, in the order of all. The queue, in a cluster, tells those of one moment apart."""

    milliseconds: int
    number: int
    queue: str
    #: In a pack: which of it, counted from 0, and how many it has.
    at: int = 0
    of: int = 1

    @classmethod
    def read(cls, text: str) -> "_Place":
        """Of one that is not ours, the start: what was read before is read again, and nothing is left out."""
        found = _PLACE.fullmatch(text)
        if not found:
            return _START
        place = cls(int(found[1]), int(found[2]), found[5] or "", int(found[3] or 0), int(found[4] or 1))
        return place if max(place.milliseconds, place.number) <= _HIGHEST else _START

    @property
    def entry(self) -> str:
        """The number of the entry."""
        return f"{self.milliseconds}-{self.number}"

    @property
    def is_last(self) -> bool:
        """Whether nothing of its entry is behind it."""
        return self.at + 1 >= self.of

    def begin(self, queue: str) -> str:
        """Where to begin in the stream of `queue`, for what is behind this place."""
        is_behind = queue > self.queue or (queue == self.queue and not self.is_last)
        return f"{'' if is_behind else '('}{self.entry}"


_START = _Place(0, 0, "")


class _Entry(NamedTuple):
    """What stands under one number of a stream, as far as it is behind the place that was asked for."""

    milliseconds: int
    number: int
    queue: str
    #: None: it was not written by Tenure.
    told: list[Announcement | None]
    size: int


async def announcements(store: RedisStore, after: str, limit: int) -> list[Announcement]:
    """The next ones behind a place. Fewer than `limit` before the last only if they are large."""
    found: list[Announcement] = []
    place, size = _Place.read(after), 0
    queues: list[str] | None = None
    if store.link.is_cluster:
        queues = sorted(read_queues(await store.command("SMEMBERS", store.names.announcing)))
    while len(found) < limit and size < _BYTES:
        most = min(limit - len(found), _PIECE)
        entries, is_end = await (_read(store, place, most) if queues is None else _merge(store, queues, place, most))
        for entry in entries:
            found += [one for one in entry.told if one is not None]
            size += entry.size
        if entries:
            place = _Place(*entries[-1][:3])
        if is_end:
            break
    return found[:limit]


#: Entries in their order; and whether nothing is behind them.
_Entries = tuple[list[_Entry], bool]


async def _read(store: RedisStore, place: _Place, most: int) -> _Entries:
    begin = place.begin("")
    if begin == f"({_HIGHEST}-{_HIGHEST}":
        return [], True  # Redis calls it an error to read on
    # Nearly always nothing waits, and a plain command says so for a tenth of what a script costs.
    if not await store.command("XRANGE", f"{store.names.common}announcements", begin, "+", "COUNT", 1):
        return [], True
    # In one stream nothing else is at the same place.
    is_end, values = await store.run(ANNOUNCED, (), "read", begin, most, _BYTES, writes=False)
    return _entries(store, "", values, place), bool(is_end)


async def _merge(store: RedisStore, queues: list[str], place: _Place, most: int) -> _Entries:
    """The first ones of all queues. What lies behind the last that was read of some queue is left for the next call."""
    room = _BYTES // max(1, len(queues))
    asked = [(queue, place.begin(queue)) for queue in queues]
    asked = [(queue, start) for queue, start in asked if start != f"({_HIGHEST}-{_HIGHEST}"]
    answers = await store.run_each(
        [store.call(ANNOUNCED, [queue], ("read", start, most, room)) for queue, start in asked], writes=False
    )
    entries: list[_Entry] = []
    known_until: list[_Entry] = []
    for (queue, _), answer in zip(asked, answers, strict=True):
        if not foreign_keys.sound(queue, answer):
            continue
        is_end, values = answer
        entries += _entries(store, queue, values, place)
        if not is_end:
            known_until.append(entries[-1])
    entries.sort(key=itemgetter(0, 1, 2))
    if known_until:
        until = min(known_until, key=itemgetter(0, 1, 2))
        entries = [entry for entry in entries if entry[:3] <= until[:3]]
    some, count = list[_Entry](), 0
    for entry in entries:
        if count >= most:
            break
        some.append(entry)
        count += len(entry.told)
    return some, not known_until and len(some) == len(entries)


def _entries(store: RedisStore, queue: str, values: list[Any], after: _Place) -> list[_Entry]:
    """Entries of a stream as the script answers them: number, fields, and which of a pack are announced."""
    suffix = f" {queue}" if queue else ""
    found = []
    for id, fields, had in zip(values[::3], values[1::3], values[2::3], strict=True):
        milliseconds, _, number = id.partition(b"-")
        entry = id.decode()
        if len(fields) > _PACK_FIELDS and fields[2] == b"p":
            is_same = after.queue == queue and after.entry == entry
            told = _pack(store, entry, suffix, fields, had, after.at + 1 if is_same else 0)
        else:
            told = [_single(store, f"{entry}{suffix}", fields)]
        found.append(_Entry(int(milliseconds), int(number), queue, told, sum(map(len, fields))))
    return found


#: Before the messages of a pack: queue, time, and the result that all of them have.
_PACK_FIELDS = 6


def _pack(
    store: RedisStore, entry: str, suffix: str, fields: list[bytes], had: bytes, first: int
) -> list[Announcement | None]:
    """Those of a pack from one on that are not announced."""
    found: list[Announcement | None] = []
    try:
        queue, ended_at = store.names.queue_of(fields[1]), float(fields[3])
        if queue is None:
            raise ValueError  # noqa: TRY301 - told below
        width = 2 if fields[4] == b"s" else 4
        ids, records = fields[_PACK_FIELDS::width], fields[_PACK_FIELDS + 1 :: width]
        results = [fields[5]] * len(ids) if width == 2 else fields[_PACK_FIELDS + 3 :: width]  # noqa: PLR2004
        count, requests = len(ids), dict[bytes, AnnounceRequest | None]()
        for index in range(first, count):
            if had[index : index + 1] == b"1":
                continue
            head, _, asked = records[index].partition(_ASKS)
            request = requests.get(asked)
            if request is None:
                request = requests[asked] = read_request(asked.partition(b"|")[2], _WHERE)
            found.append(None if request is None else Announcement(
                id=ids[index].decode(), queue=queue, task=head.split(b"|", 2)[2].decode(errors="replace"),
                targets=request.targets, ending=MessageState.COMPLETED, ended_at=ended_at, client=request.client,
                correlation_id=request.correlation_id, result=results[index] or None,
                place=f"{entry}/{index}/{count}{suffix}",
            ))  # fmt: skip
    except (IndexError, ValueError):  # a UnicodeDecodeError is one
        foreign_keys.tell(_WHERE, b" ".join(fields))
    return found


def _single(store: RedisStore, place: str, fields: list[bytes]) -> Announcement | None:
    """None: it was not written by Tenure."""
    row: Mapping[bytes, bytes] = dict(zip(fields[::2], fields[1::2], strict=True))
    try:
        queue = store.names.queue_of(row[b"q"])
        generation, how, ended_at, large, task = row[b"h"].split(b"|", 4)
        ending, about = _ENDINGS[how], row[b"r"]
        request = read_request(row[b"a"], _WHERE)
        is_completed = ending is MessageState.COMPLETED
        reason = foreign_keys.read(_reason, about, _WHERE) if about and not is_completed else None
        if queue is None or request is None:
            raise ValueError  # noqa: TRY301 - told below, as all others
        return Announcement(
            id=row[b"i"].decode(), generation=int(generation), queue=queue, task=task.decode(errors="replace"),
            targets=request.targets, ending=ending, ended_at=float(ended_at), reason=reason,
            client=request.client, correlation_id=request.correlation_id,
            result=about or None if is_completed else None, large_result=int(large) if large else None, place=place,
        )  # fmt: skip
    except (KeyError, ValueError):  # a UnicodeDecodeError is one
        foreign_keys.tell(_WHERE, b" ".join(fields))
        return None


async def announced(store: RedisStore, batch: Sequence[Announcement]) -> None:
    """Forget them."""
    singles: dict[str, list[tuple[str, str, int]]] = {}
    packs: dict[str, dict[str, list[tuple[int, int, str]]]] = {}
    for one in batch:
        # Not read as a whole: there are many, and the script compares it with what it finds.
        entry, _, rest = one.place.partition("/")
        if rest:
            if not one.generation and (found := _IN_PACK.match(rest)):
                packs.setdefault(one.queue, {}).setdefault(entry, []).append((int(found[1]), int(found[2]), one.id))
        elif (place := _Place.read(one.place)) != _START:
            singles.setdefault(one.queue, []).append((place.entry, one.id, one.generation))
    calls = [
        store.call(ANNOUNCED, [queue], ("end", *(value for one in own[start : start + _PIECE] for value in one)))
        for queue, own in singles.items()
        for start in range(0, len(own), _PIECE)
    ]
    for queue, entries in packs.items():
        values = [value for entry, own in entries.items() for value in _ended(entry, own)]
        calls += [
            store.call(ANNOUNCED, [queue], ("pack", *values[start : start + 3 * _PACKS]))
            for start in range(0, len(values), 3 * _PACKS)
        ]
    await store.run_all(calls)


#: Packs that one script ends.
_PACKS = 5
_IN_PACK = re.compile(r"(\d{1,6})/(\d{1,6})(?: |$)")


def _ended(entry: str, own: list[tuple[int, int, str]]) -> tuple[str, str, str]:
    """The arguments of one pack."""
    found = _PLACE.fullmatch(entry)
    own = sorted({index: (index, count, id) for index, count, id in own}.values())
    is_whole = len(own) == own[0][1]
    which = "" if is_whole else ",".join([str(index) for index, _, _ in own])
    return entry if found else "0-0", which, "\n".join([id for _, _, id in own])


async def note_announcing(store: RedisStore, queues: Iterable[str]) -> None:
    """In a cluster: put queues that have announcements on the set again, if it was lost."""
    queues = list(queues)
    calls = [store.call(ANNOUNCED, [queue], ("read", "-", 1, 0)) for queue in queues]
    answers = await store.run_each(calls, writes=False)
    found = [
        queue
        for queue, answer in zip(queues, answers, strict=True)
        if not isinstance(answer, StoreForeign) and answer[1]
    ]
    if found:
        await store.command("SADD", store.names.announcing, *found)
