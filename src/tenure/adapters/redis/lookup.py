"""Finding: everything that the server knows about messages, read in one step for each queue.

An id does not name its queue. A caller may name it; else all queues are asked in one exchange whether they know it,
many in one step, and then those that do.
Used by `records.py`, `looking.py` and `operating.py`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.adapters.redis import foreign_keys
from tenure.adapters.redis.asking import ASKS
from tenure.adapters.redis.script import FIND, LOCATE
from tenure.adapters.redis.store import RedisStore
from tenure.errors import StoreForeign
from tenure.message import Counters, MessageState
from tenure.record import Ending, Progress
from tenure.verdict import Reason

_reason = msgspec.json.Decoder(Reason)
_progress = msgspec.json.Decoder(Progress)
_ending = msgspec.json.Decoder(Ending)

#: Queues that are asked in one step, and how often they are looked at for an id.
_TOGETHER = 200
_MOST_LOOKS = 2000

_ASKS = ASKS.encode()
_FINISHED = {b"C": MessageState.COMPLETED, b"X": MessageState.CANCELLED}


class LocatedMessage(msgspec.Struct, kw_only=True):
    """One message, as it is stored."""

    id: str
    queue: str
    state: MessageState
    #: Its number in the order of arrival.
    place: int = 0
    task: str | None = None
    sent_at: float | None = None
    finished_at: float | None = None
    #: Seconds until its lease ends, or until it is due.
    left: float | None = None
    owner: str | None = None
    fence: int | None = None
    envelope: bytes | None = None
    result: bytes | None = None
    counters: Counters = Counters()
    reason: Reason | None = None
    progress: Progress | None = None
    checkpoint: bytes | None = None
    history: tuple[Ending, ...] = ()


async def find(store: RedisStore, ids: Sequence[str], queues: Sequence[str] | None = None) -> dict[str, LocatedMessage]:
    """The records of these messages, by id."""
    if not ids:
        return {}
    queues = await locate(store, ids) if queues is None else queues
    answers = await store.run_each([store.call(FIND, [queue], ids) for queue in queues], writes=False)
    read = (
        _read(id, queue, one)
        for queue, reply in zip(queues, answers, strict=True)
        if not isinstance(reply, StoreForeign)
        for id, one in zip(ids, reply, strict=True)
        if one
    )
    found = {one.id: one for one in read if one is not None}
    foreign = next((reply for reply in answers if isinstance(reply, StoreForeign)), None)
    if foreign is not None and not found.keys() >= {*ids}:
        raise foreign  # it may be in the queue that cannot be read
    return found


async def find_near(store: RedisStore, ids: Sequence[str], queue: str | None) -> dict[str, LocatedMessage]:
    """The records of these messages: searched in `queue` first, then everywhere."""
    found = {} if queue is None else await find(store, ids, [queue])
    missing = [id for id in ids if id not in found]
    return {**found, **await find(store, missing)} if missing else found


async def locate(store: RedisStore, ids: Sequence[str]) -> list[str]:
    """The queues that know one of these messages, and those that cannot be read."""
    queues = await store.queues()
    together = 1 if store.link.is_cluster else max(1, min(_TOGETHER, _MOST_LOOKS // len(ids)))
    groups = [queues[start : start + together] for start in range(0, len(queues), together)]
    answers = await store.run_all([store.call(LOCATE, group, ids) for group in groups], writes=False)
    told = [is_there for answer in answers for is_there in answer]
    return [queue for queue, is_there in zip(queues, told, strict=True) if is_there]


def read_record(text: bytes) -> tuple[int, float, str] | None:
    """Place, time of sending and task. None: it is no record."""
    try:
        number, sent_at, rest = text.lstrip(b"x").split(b"|", 2)
        return int(number[1:]), float(sent_at), _bare(rest).decode()
    except ValueError:
        foreign_keys.tell("records", text)
        return None


def task_of(record: bytes) -> str | None:
    """The task of a record. None: it is no record, or has none."""
    _, _, rest = record.partition(b"|")
    _, mark, task = rest.partition(b"|")
    try:
        return _bare(task).decode() or None if mark else None
    except UnicodeDecodeError:
        foreign_keys.tell("records", record)
        return None


def _bare(rest: bytes) -> bytes:
    """Without what the message asks to be announced."""
    return rest.partition(_ASKS)[0]


def _read(id: str, queue: str, answer: list[Any]) -> LocatedMessage | None:
    state, record, left, fence, owner, raw, pairs, history = answer
    more = dict(zip(pairs[::2], pairs[1::2], strict=True))
    if state == b"finished":
        found = read_finished(id, queue, record)
    else:
        place, sent_at, task = read_record(record) or (0, 0.0, "")
        found = LocatedMessage(
            id=id,
            queue=queue,
            state=MessageState(state.decode()),
            place=place,
            task=task or None,
            sent_at=sent_at,
            left=int(left) / 1e6 if left else None,
            owner=foreign_keys.text_of(owner) or None,
            fence=foreign_keys.count(fence, "leases") if fence else None,
            envelope=raw,
            counters=Counters(deliveries=1 if fence else 0),
        )
    if found is None:
        return None
    if record[:1] == b"x" or more:
        read_details(found, more)
    if b"pg" in more:
        found.progress = foreign_keys.read(_progress, more[b"pg"], f"x:{id}")
    found.checkpoint = more.get(b"cp")
    endings = (foreign_keys.read(_ending, one, f"h:{id}") for one in history)
    found.history = tuple(one for one in endings if one is not None)
    return found


def read_details(found: LocatedMessage, more: dict[bytes, bytes]) -> None:
    """Counters, reason and end of a special message: fields of `x:<id>`; an empty one is not there."""
    where = f"x:{found.id}"
    found.counters = Counters(*(foreign_keys.count(more.get(name) or None, where) for name in (b"d", b"a", b"c", b"l")))
    if more.get(b"r"):
        found.reason = foreign_keys.read(_reason, more[b"r"], where)
    if more.get(b"f") and found.finished_at is None:
        found.finished_at = _moment(more[b"f"])


def _moment(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read_finished(id: str, queue: str, text: bytes) -> LocatedMessage | None:
    """A message with nothing left but its record. None: it is not such a record."""
    length, _, rest = text[1:].partition(b":")
    state = _FINISHED.get(text[:1])
    record = read_record(rest[: int(length)]) if state is not None and length.isdigit() else None
    if state is None or record is None:
        foreign_keys.tell("finished messages", text)
        return None
    place, sent_at, task = record
    is_special = rest[:1] == b"x"
    finished_at, _, result = rest[int(length) :].partition(b":")
    return LocatedMessage(
        id=id,
        queue=queue,
        state=state,
        place=place,
        task=task,
        sent_at=sent_at,
        finished_at=_moment(finished_at),
        result=result if state is MessageState.COMPLETED else None,
        counters=Counters(deliveries=0 if is_special else 1),
    )
