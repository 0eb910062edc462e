"""Sending: first the entry, then the copy in the queue; when both are there, the message is sent.

An entry whose copy perhaps never arrived (the reply was lost, the sender died) is recognised by a repeated send,
which sends the copy once more: a second copy is met as such when it is lent, and deleted. So `send` is idempotent for
as long as the entry is kept, also on standard queues.
"""

import math
from collections.abc import Sequence
from itertools import groupby

import msgspec

from tenure.broker import Sent
from tenure.delivery_queue import OutgoingCopy, PhysicalQueue, QueueFacts, ReceivedCopy
from tenure.message import DEFAULT_PRIORITY, Message, MessageState, Outgoing
from tenure.rowstore import queue_list, uniqueness, wire
from tenure.rowstore.entry import UNSENT, Entry
from tenure.rowstore.promoting import keep_copy
from tenure.rowstore.row_changes import ENTRY, Change, entry_place
from tenure.rowstore.store import Store
from tenure.rules.rejections import too_large, unique_not_plain
from tenure.rules.sendable import unsendable
from tenure.table import Row, Write
from tenure.verdict import Reason

#: So many ids are remembered of which the copy arrived.
_REMEMBERED = 100_000
#: What a delay must leave of the queue's retention.
_MARGIN = 3600.0

_NEW, _AGAIN, _KNOWN = "new", "again", "known"


async def send(store: Store, batch: Sequence[Outgoing]) -> list[Sent]:
    """Store messages, each once; those that are to be unique one by one."""
    refusals = [unsendable(outgoing) for outgoing in batch]
    if any(refusals):
        good = [outgoing for outgoing, refusal in zip(batch, refusals, strict=True) if refusal is None]
        sent = iter(await _send_all(store, good))
        return [
            next(sent) if refusal is None else Sent(outgoing.message.id, refusal=refusal)
            for outgoing, refusal in zip(batch, refusals, strict=True)
        ]
    return await _send_all(store, batch)


async def _send_all(store: Store, batch: Sequence[Outgoing]) -> list[Sent]:
    if all(outgoing.message.unique is None for outgoing in batch):
        return await _send(store, batch)
    answers: list[Sent] = []
    for is_unique, some in groupby(batch, lambda outgoing: outgoing.message.unique is not None):
        if is_unique:
            answers += [await _send_unique(store, outgoing) for outgoing in some]
        else:
            answers += await _send(store, list(some))
    return answers


async def _send_unique(store: Store, outgoing: Outgoing) -> Sent:
    packed = wire.pack(outgoing.message, store.settings.wire)
    refused = await _refusal(store, outgoing, *packed)
    if refused is not None:
        return Sent(outgoing.message.id, refusal=refused)

    async def put(outgoing: Outgoing) -> Sent:
        (sent,) = await _send(store, [outgoing])
        return sent

    return await uniqueness.send(store, outgoing, put)


async def _send(store: Store, batch: Sequence[Outgoing]) -> list[Sent]:
    answers: dict[int, Sent] = {}
    texts: dict[int, tuple[str, str]] = {}
    for number, outgoing in enumerate(batch):
        packed = wire.pack(outgoing.message, store.settings.wire)
        refused = await _refusal(store, outgoing, *packed)
        if refused is not None:
            answers[number] = Sent(outgoing.message.id, refusal=refused)
        else:
            texts[number] = packed
    # Before anything lies there: whoever serves patterns must know the queue by then.
    names = list(dict.fromkeys(batch[number].message.queue for number in texts))
    await queue_list.note(store, names)
    found, versions = await _enter(store, batch, texts)
    going = [number for number, how in found.items() if how != _KNOWN]
    copies = [_copy(store, batch[number], *texts[number], versions.get(number, "")) for number in going]
    told = await store.queue.send(copies)
    # Asks nobody, unless this process took one of them off the list meanwhile.
    await queue_list.note(store, names)
    for copy in {(copy.physical, copy.delay): copy for copy in copies}.values():
        store.heard([copy.physical], copy.delay)
    for number, why in zip(going, told, strict=True):
        if why:
            answers[number] = Sent(
                batch[number].message.id, refusal=await _take_back(store, batch[number].message, why)
            )
        else:
            _remember(store, batch[number].message.id)
    for number, how in found.items():
        answers.setdefault(number, Sent(batch[number].message.id, duplicate=how != _NEW))
    return [answers[number] for number in range(len(batch))]


async def _enter(
    store: Store, batch: Sequence[Outgoing], texts: dict[int, tuple[str, str]]
) -> tuple[dict[int, str], dict[int, str]]:
    """Write the entries; which are new, which are known, and which perhaps have no copy; and versions for copies.

    Those are of the entries that say no more than the message itself: whoever has the copy knows the entry.
    """
    entered: set[str] = set()
    plain: set[int] = set()
    numbers = list(texts)

    def decide(at: int, entry: Entry | None) -> Change[str]:
        outgoing = batch[numbers[at]]
        id = outgoing.message.id
        if id in entered:
            return Change(_KNOWN)
        (plain.add if entry is None and not outgoing.delay_seconds else plain.discard)(numbers[at])
        if entry is None or entry.state == UNSENT:
            return Change(_NEW, _entry(store, outgoing, entry, texts[numbers[at]]))
        was_met = entry.deliveries or entry.state not in (MessageState.READY, MessageState.DELAYED)
        return Change(_KNOWN if was_met or id in store.confirmed else _AGAIN)

    found: dict[int, str] = {}
    versions: dict[int, str] = {}
    # One after the other where an id stands twice: the earlier one is the one that counts.
    rounds = _rounds([batch[number].message.id for number in numbers])
    for turn in rounds:
        places = [entry_place(batch[numbers[at]].message.id) for at in turn]
        wrote: dict[int, str] = {}
        said = await store.rows.change(
            ENTRY, places, lambda at, entry, turn=turn: decide(turn[at], entry), are_new=True, versions=wrote  # type: ignore[misc]
        )  # fmt: skip
        versions |= {numbers[turn[at]]: version for at, version in wrote.items()}
        found |= {numbers[at]: how for at, how in zip(turn, said, strict=True)}
        entered |= {batch[numbers[at]].message.id for at in turn}
    if not _tells_versions(store):
        return found, {}
    return found, {number: version for number, version in versions.items() if number in plain}


def _tells_versions(store: Store) -> bool:
    """Whether a copy is to bring the version of its row: where that is the text itself, it would be too long."""
    return store.queue.traits.carries_versions and store.rows.table_has_etags


def sent_row(store: Store, copy: ReceivedCopy, message: Message | None) -> Row | None:
    """The row of a message as it was sent, by its copy. None: the copy does not tell, or was received before."""
    if not copy.version or message is None or copy.receives > 1 or not _tells_versions(store):
        return None
    entry = _entry_of(message, copy.sent_at or store.clock.wall(), copy.physical.level)
    entry.state = MessageState.READY
    return Row(entry_place(message.id), msgspec.json.encode(entry).decode(), copy.version)


def _entry_of(message: Message, sent_at: float, level: int, known: Entry | None = None) -> Entry:
    entry = Entry(queue=message.queue) if known is None else known
    entry.describe(message)
    entry.sent_at = message.sent_at or sent_at
    entry.level = level
    return entry


def _entry(store: Store, outgoing: Outgoing, known: Entry | None, packed: tuple[str, str]) -> Entry:
    message = outgoing.message
    entry = _entry_of(message, store.clock.wall(), store.queue.level_of(message), known)
    entry.put_back(outgoing.delay_seconds, store.rows.now())
    if outgoing.delay_seconds > 0:
        keep_copy(store, entry, *packed)
    return entry


def _copy(store: Store, outgoing: Outgoing, text: str, head: str, version: str) -> OutgoingCopy:
    message = outgoing.message
    group = group_of(message) if store.queue.keeps_order(message.queue) else ""
    return OutgoingCopy(
        physical=_spot(store, message),
        id=message.id,
        body=text,
        delay=min(store.queue.traits.max_delay_seconds, math.ceil(outgoing.delay_seconds)),
        group=group,
        dedup=f"{message.id}-{message.generation}" if group else "",
        head=head,
        version=version,
    )


def group_of(message: Message) -> str:
    """The FIFO group: what the sender says in the header `group`, else the client, else one for all."""
    return message.headers.get("group") or message.client or "tenure"


async def known(store: Store, ids: Sequence[str]) -> set[str]:
    """Which of these ids were sent before."""
    entries = await store.rows.get(ENTRY, [entry_place(id) for id in ids])
    return {id for id, entry in zip(ids, entries, strict=True) if entry is not None and entry.state != UNSENT}


def refusal(store: Store, outgoing: Outgoing) -> Reason | None:
    """Why `send` would refuse it, by what is known of its queue here. None: it would not."""
    told = unsendable(outgoing)
    if told is not None:
        return told
    known = store.queue.remembered(_spot(store, outgoing.message))
    return _judge(store, outgoing, wire.pack(outgoing.message, store.settings.wire), known)


async def _refusal(store: Store, outgoing: Outgoing, body: str, head: str) -> Reason | None:
    """Why it cannot be stored. None: it can."""
    known = await store.queue.facts(_spot(store, outgoing.message))
    return _judge(store, outgoing, (body, head), known)


def _spot(store: Store, message: Message) -> PhysicalQueue:
    return PhysicalQueue(message.queue, store.queue.level_of(message))


def _judge(store: Store, outgoing: Outgoing, packed: tuple[str, str], known: QueueFacts) -> Reason | None:
    """Why a message, packed into body and head, cannot be stored in a queue of which this is known. None: it can."""
    message, delay, (body, head) = outgoing.message, outgoing.delay_seconds, packed
    limit = known.body_limit
    size = len(body.encode()) + max(0, len(head.encode()) - len("null"))
    if message.ticket is not None and head:
        text = (
            f"message {message.id} was not stored: its body is too large for the queue, and with wire=plain other "
            "readers of the queue would not find it elsewhere; send less, or use the usual form in another queue"
        )
        return Reason("body_too_large", text)
    if size > limit:
        return too_large(message, size, limit)
    if delay > known.keep_seconds - _MARGIN:
        text = (
            f"message {message.id} was not stored: a delay of {delay:g} s would outlive it, because its queue keeps "
            f"messages for {known.keep_seconds} s; use a schedule, or send it later"
        )
        return Reason("delay_too_long", text)
    if store.queue.keeps_order(message.queue) and (delay > 0 or message.priority != DEFAULT_PRIORITY):
        what = "delay" if delay > 0 else "priority"
        text = (
            f"message {message.id} was not stored: a FIFO queue has one order, and no {what}; use another queue for it"
        )
        return Reason("fifo_order", text)
    if message.unique is not None and store.settings.wire == wire.PLAIN and outgoing.unique_seconds is None:
        return unique_not_plain(message)
    return None


async def _take_back(store: Store, message: Message, why: str) -> Reason:
    """The queue will never take it: its entry goes too."""
    (row,) = await store.table.get([entry_place(message.id)])
    if row is not None:
        await store.table.write([Write(row.place, None, row.version)])
    return Reason(
        "refused_by_queue", f"message {message.id} was not stored: {store.queue.traits.service} refused it ({why})"
    )


def _remember(store: Store, id: str) -> None:
    store.confirmed[id] = None
    if len(store.confirmed) > _REMEMBERED:
        del store.confirmed[next(iter(store.confirmed))]


def _rounds(ids: Sequence[str]) -> list[list[int]]:
    """Numbers in rounds in which no id stands twice."""
    rounds: list[list[int]] = []
    times: dict[str, int] = {}
    for number, id in enumerate(ids):
        turn = times.get(id, 0)
        times[id] = turn + 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(number)
    return rounds
