"""Sending: letter, queue, mark.

The letter is inserted first, so that the same id is taken once; then the message is put into its queue; then the letter
is marked. Who dies in between leaves a letter without a mark: whoever sends the id again puts it once more. A copy too
many does no harm, because whoever leases second finds the message's life begun, and deletes the copy.

One call for up to 50 letters, one for each message, one for the marks. Next on the path: `lending.py`.
"""

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from tenure.adapters.azure import posting, uniqueness, wire
from tenure.adapters.azure.entry import (
    Asked,
    Kept,
    Letter,
    Life,
    letter_key,
    letter_row,
    life_row,
    mark_letter,
    read_letter,
)
from tenure.adapters.azure.naming import LONGEST_NAME, queue_name
from tenure.adapters.azure.rows import Change, Group
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.traits import TRAITS
from tenure.broker import Sent
from tenure.claim import Scope, digest
from tenure.envelope import encode
from tenure.message import Message, MessageState, Outgoing
from tenure.rules.rejections import of_size, unique_not_plain
from tenure.rules.sendable import unsendable
from tenure.verdict import Reason


async def send(store: Store, batch: Sequence[Outgoing]) -> list[Sent]:
    """Store what is new. Returns when everything that was taken is in its queue."""
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
    message = outgoing.message
    refused = refusal(store, outgoing)
    if refused is not None:
        return Sent(message.id, refusal=refused)

    async def put(outgoing: Outgoing) -> Sent:
        (sent,) = await _send(store, [outgoing])
        return sent

    return await uniqueness.send(store, outgoing, put)


async def _send(store: Store, batch: Sequence[Outgoing]) -> list[Sent]:
    answers: dict[int, Sent] = {}
    first: dict[str, int] = {}
    letters: list[tuple[int, Letter, Outgoing]] = []
    for number, outgoing in enumerate(batch):
        message = outgoing.message
        raw = encode(message)
        refused = _refusal(store, outgoing, raw)
        if refused is not None:
            answers[number] = Sent(message.id, refusal=refused)
        elif message.id in first:
            answers[number] = Sent(message.id, duplicate=True)
        else:
            first[message.id] = number
            letters.append((number, letter_of(store, message, raw), outgoing))
    # Before anything is in it: workers on patterns serve the queues that are on the list.
    await store.known_queues.register({letter.queue for _, letter, _ in letters})
    taken = await store.rows.commit([_group(store, letter, outgoing) for _, letter, outgoing in letters])
    to_put: list[tuple[Letter, float]] = []
    known: list[tuple[Letter, Outgoing]] = []
    for (number, letter, outgoing), rows in zip(letters, taken, strict=True):
        answers[number] = Sent(letter.id, duplicate=rows is None)
        if rows is None:
            known.append((letter, outgoing))
        else:
            to_put.append((letter, outgoing.delay_seconds))
    to_put += await _unfinished(store, known)
    await put_all(store, to_put)
    # Nothing is written unless it was forgotten in between.
    await store.known_queues.register({letter.queue for letter, _ in to_put})
    return [answers[number] for number in range(len(batch))]


async def put_all(store: Store, letters: Sequence[tuple[Letter, float]]) -> None:
    """Put letters into their queues, and mark them. Whatever failed is raised, once the others are through."""
    if not letters:
        return
    told = await store.each(
        [partial(posting.put, store, letter.queue, _text(store, letter), delay) for letter, delay in letters]
    )
    marks: list[Group] = []
    failure: BaseException | None = None
    for (letter, _), answer in zip(letters, told, strict=True):
        if isinstance(answer, BaseException):
            failure = failure or answer
            continue
        message_id, receipt = answer
        marks.append([mark_letter(letter.id, store.partitions, IsPut=True, MessageId=message_id, Receipt=receipt)])
    if marks:
        # Before the waiters: a mark that comes late only costs a copy too many.
        await store.rows.commit(marks)
    for queue, delay in {(letter.queue, posting.whole(delay)) for letter, delay in letters}:
        store.stir(queue, delay)
    if failure is not None:
        raise failure


async def _unfinished(store: Store, known: list[tuple[Letter, Outgoing]]) -> list[tuple[Letter, float]]:
    """Those that were taken before, but perhaps never put into their queue."""
    rows = await store.rows.get_all((store.part(letter.id), letter_key(letter.id)) for letter, _ in known)
    found = [(read_letter(row), outgoing) for row, (_, outgoing) in zip(rows, known, strict=True) if row is not None]
    return [(letter, outgoing.delay_seconds) for letter, outgoing in found if not letter.is_put and not letter.is_ended]


async def known(store: Store, ids: Sequence[str]) -> set[str]:
    """Which of these ids were sent before."""
    rows = await store.rows.get_all((store.part(id), letter_key(id)) for id in ids)
    return {id for id, row in zip(ids, rows, strict=True) if row is not None}


def _text(store: Store, letter: Letter) -> str:
    return wire.write(letter.envelope, letter.wire, store.options.encoding)


def letter_of(store: Store, message: Message, raw: bytes) -> Letter:
    """What the table knows of a message that is sent, and not yet put into its queue."""
    return Letter(
        id=message.id,
        queue=message.queue,
        task=message.task,
        place=store.shared.next_number(),
        sent_at=message.sent_at or store.clock.wall(),
        envelope=raw,
        key=Scope.of(message).key,
        generation=message.generation,
        digest=digest(message),
        wire=wire.PLAIN if store.options.wire == wire.PLAIN else "",
        asked=Asked.of(message),
    )


def _group(store: Store, letter: Letter, outgoing: Outgoing) -> Group:
    """The letter; for a delayed message also its life, which says when it is due."""
    insert = Change("insert", letter_row(letter, store.partitions))
    if outgoing.delay_seconds <= 0:
        return [insert]
    life = Life(
        id=letter.id,
        queue=letter.queue,
        place=letter.place,
        state=MessageState.DELAYED,
        task=letter.task,
        sent_at=letter.sent_at,
        due=store.timeline.now() + outgoing.delay_seconds,
        wire=letter.wire,
        asked=letter.asked,
    )
    return [insert, Change("insert", life_row(Kept(life), store.partitions))]


def refusal(store: Store, outgoing: Outgoing) -> Reason | None:
    """Why `send` would refuse it. None: it would not. Raises `BadSetting` for a queue's name that cannot be."""
    return unsendable(outgoing) or _refusal(store, outgoing, encode(outgoing.message))


def _refusal(store: Store, outgoing: Outgoing, raw: bytes) -> Reason | None:
    """Why it cannot be stored. None: it can."""
    message, is_plain = outgoing.message, store.options.wire == wire.PLAIN
    queue_name(store.options.prefix, message.queue)  # raises for a name that cannot be
    if max(len(message.id), len(message.task), len(Scope.of(message).key)) > LONGEST_NAME:
        what = f"its id, its task or its key has more than {LONGEST_NAME} characters"
        text = f"message {message.id[:100]} was not stored: {what}"
        return Reason("name_too_long", text)
    unfit = wire.refusal(message) if is_plain else ""
    if unfit:
        text = f"message {message.id} was not stored in the form wire=plain: {unfit}"
        return Reason("payload_not_plain", text) if message.ticket is None else Reason("body_too_large", text)
    size = len(raw) + (wire.ROOM if is_plain else 0)
    too_large = of_size(message, size, TRAITS.body_limit)
    if too_large is None and is_plain and message.unique is not None and outgoing.unique_seconds is None:
        return unique_not_plain(message)
    return too_large
