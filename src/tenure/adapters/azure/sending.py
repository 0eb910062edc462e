"""Sending: letter, queue, mark.

The letter is inserted first, so that the same id is taken once; then the message is put into its queue; then the letter
is marked. Who dies in between leaves a letter without a mark: whoever sends the id again puts it once more. A copy too
many does no harm, because whoever leases second finds the message's life begun, and deletes the copy.

One call for up to 50 letters, one for each message, one for the marks. Next on the path: `lending.py`.
"""

from collections.abc import Sequence
from functools import partial

from tenure.adapters.azure import posting
from tenure.adapters.azure.entry import Kept, Letter, Life, letter_key, letter_row, life_row, mark_letter, read_letter
from tenure.adapters.azure.naming import queue_name
from tenure.adapters.azure.rows import Change, Group
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.traits import TRAITS
from tenure.broker import Sent
from tenure.claim import Scope, digest
from tenure.envelope import encode
from tenure.message import Message, MessageState, Outgoing
from tenure.verdict import Reason


async def send(store: Store, batch: Sequence[Outgoing]) -> list[Sent]:
    """Store what is new. Returns when everything that was taken is in its queue."""
    answers: dict[int, Sent] = {}
    first: dict[str, int] = {}
    letters: list[tuple[int, Letter, Outgoing]] = []
    for number, outgoing in enumerate(batch):
        message = outgoing.message
        queue_name(store.options.prefix, message.queue)  # raises for a name that cannot be
        raw = encode(message)
        if len(raw) > TRAITS.body_limit:
            answers[number] = Sent(message.id, refusal=_too_large(message, len(raw)))
        elif message.id in first:
            answers[number] = Sent(message.id, duplicate=True)
        else:
            first[message.id] = number
            letters.append((number, _letter(store, message, raw), outgoing))
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
    return [answers[number] for number in range(len(batch))]


async def put_all(store: Store, letters: Sequence[tuple[Letter, float]]) -> None:
    """Put letters into their queues, and mark them. Whatever failed is raised, once the others are through."""
    if not letters:
        return
    told = await store.each(
        [partial(posting.put, store, letter.queue, letter.envelope, delay) for letter, delay in letters]
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
    for letter, _ in letters:
        store.shared.stir(letter.queue)
    if failure is not None:
        raise failure


async def _unfinished(store: Store, known: list[tuple[Letter, Outgoing]]) -> list[tuple[Letter, float]]:
    """Those that were taken before, but perhaps never put into their queue."""
    rows = await store.rows.get_all((store.part(letter.id), letter_key(letter.id)) for letter, _ in known)
    found = [(read_letter(row), outgoing) for row, (_, outgoing) in zip(rows, known, strict=True) if row is not None]
    return [(letter, outgoing.delay_seconds) for letter, outgoing in found if not letter.is_put and not letter.is_ended]


def _letter(store: Store, message: Message, raw: bytes) -> Letter:
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
        due=store.timeline.now() + outgoing.delay_seconds,
    )
    return [insert, Change("insert", life_row(Kept(life), store.partitions))]


def _too_large(message: Message, size: int) -> Reason:
    text = (
        f"message {message.id} was not stored: it takes {size} bytes and the broker takes {TRAITS.body_limit}; "
        "put large data elsewhere and send where it is"
    )
    return Reason("body_too_large", text)
