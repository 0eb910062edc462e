"""Row changes: rows are read, decided about and written, again until no other change came first.

A decision is a plain function of what the row says now. It may be asked more than once, and must say the same to
whoever repeats it after a lost reply: who holds what is told by owner and fence, so a change that was made already is
recognised. A write that got no answer is looked for at once: if the row says what was to be written, it was.

Rows:  m#<id> m      the message's entry        o#<owner> <request>  what one lease call lent
       m#<id> b… a…  a dead letter's body       holders <owner>      who has rows of that kind
       m#<id> x…     checkpoint, large result   roster <owner>       presence
       k#<scope> k   the claim of a key, and x… banned#<owner> b     whose presence is over
       u#<word> u    messages to be unique      dead#<queue> …       dead letters in the order of their end
       board …, turn …, tick …, sweep           shelves <queue>      queues with dead letters
       queues <queue>  the queues there are     j …, s#…, acts …     events, samples, acts (`log_pages.py`)
       y#<step>#… …  tallies (`tallies.py`)     kv <kind> <name>     small documents (`key_values.py`)
       announce …    intents (`announcing.py`)

Used by everything above the table.
"""

import asyncio
import hashlib
import math
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from tenure.claim import Scope
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.message import MessageState
from tenure.rowstore.entry import Claim, Entry
from tenure.rules.announce_intent import number_of, place_of
from tenure.table import KEEP, Row, RowKey, Table, Write

T = TypeVar("T")
A = TypeVar("A")

#: For `Change.forget_at`: whatever was said before, the row is never forgotten.
NEVER = math.inf
#: Somebody else was faster, so often in a row.
_TRIES = 50
#: So often in a row it is looked for what became of a write.
_LOOKS = 3
_BODY_PAGE = 90_000
#: What is kept of a dead letter: its body, and the attributes of one that is not ours.
_BODY, _ATTRIBUTES = "b", "a"
#: No delivery queue keeps a message longer; SQS keeps it for so long.
_RETENTION_SECONDS = 14 * 86_400.0

_encode = msgspec.json.Encoder().encode
#: How an entry says that it is a dead letter, or on its way back, or lent.
_DEAD = '"state":"dead"'
_REDRIVING = '"is_redriving":true'
_LEASED = '"state":"leased"'
#: The part with a row for each worker, which nearly only the worker itself writes.
ROSTER = "roster"
#: How a claim of a key says that it is run.
_RUNNING = '"state":"running"'
_DONE = '"state":"done"'
#: How it says that it asked to be announced: then it is kept until it was.
_ASKS = '"announce":'
#: So many rows are remembered that were written here, and no large ones.
_REMEMBERED = 2000
_LONGEST = 16_384


class Kind(Generic[T]):
    """A kind of row: how it is read."""

    def __init__(self, type_: type[T]) -> None:
        """Rows hold JSON of that type."""
        self._decoder = msgspec.json.Decoder(type_)

    def read(self, row: Row | None) -> T | None:
        """What a row says. None: it is not there."""
        return None if row is None else self._decoder.decode(row.text)


ENTRY = Kind(Entry)
CLAIM = Kind(Claim)


class Change(msgspec.Struct, Generic[A]):
    """What was decided about a row: what to answer, and what it says from now on."""

    answer: A
    #: None: leave it as it is.
    to: Any = None
    remove: bool = False
    #: Wall time after which it may be forgotten, or `NEVER`. None: by what kind of row it is; else as was said before.
    forget_at: float | None = None
    #: Nothing is written, and the answer will do although it rests on what the row is only thought to say.
    is_guess: bool = False


class RowChanges:
    """Decides about rows of one table."""

    def __init__(
        self, table: Table, clock: Clock, keep_seconds: float, wrote: OrderedDict[RowKey, Row] | None = None
    ) -> None:
        """Finished rows are kept for so long. `wrote` is shared by all stores of one process, on whatever loop."""
        self.table = table
        self.clock = clock
        self.keep_seconds = keep_seconds
        self._fence = self._intent = 0
        #: What was written here last about messages that are lent.
        self._wrote = OrderedDict[RowKey, Row]() if wrote is None else wrote

    @property
    def table_forgets(self) -> bool:
        """Whether the table removes rows by itself when their time is over."""
        return bool(getattr(self.table, "forgets", False))

    @property
    def table_has_etags(self) -> bool:
        """Whether the version of a row is something else than its text."""
        return bool(getattr(self.table, "has_etags", False))

    def now(self) -> float:
        """The moment, on the table's line."""
        return self.table.now()

    def earliest(self) -> float:
        """The moment, if it is as early as it may be: to judge whether a lease is over."""
        return float(getattr(self.table, "earliest", self.table.now)())

    def latest(self) -> float:
        """The moment, if it is as late as it may be: for the deadlines of leases."""
        return float(getattr(self.table, "latest", self.table.now)())

    def kept_until(self) -> float:
        """When what ends now may be forgotten."""
        return self.table.wall() + self.keep_seconds

    def kept_after_the_queue(self) -> float:
        """When what belongs to a message that is sent now may be forgotten: its queue may keep it for long."""
        return self.kept_until() + _RETENTION_SECONDS

    def next_fence(self, top: int) -> int:
        """Higher than `top` and than every one that was given out here; and also if all data was lost."""
        self._fence = max(self._fence + 1, top + 1, int(self.clock.wall() * 1e6))
        return self._fence

    def next_intent(self, last: str) -> str:
        """The place of a new intent, behind `last` and behind every other one of this process."""
        before = max(self._intent, number_of(last))
        place, self._intent = place_of(int(self.table.wall() * 1e6), before, os.urandom(3).hex())
        return place

    async def get(self, kind: Kind[T], places: Sequence[RowKey]) -> list[T | None]:
        """What rows say. What was thought of them otherwise is forgotten: whoever looks first may rely on the look."""
        rows = await self.table.get(places) if places else []
        for place, row in zip(places, rows, strict=True):
            thought = self._wrote.get(place)
            if thought is not None and (row is None or row.version != thought.version):
                self._wrote.pop(place, None)
        return [kind.read(row) for row in rows]

    async def change(
        self,
        kind: Kind[T],
        places: Sequence[RowKey],
        decide: Callable[[int, T | None], Change[A]],
        *,
        are_new: bool = False,
        guesses: Mapping[RowKey, Row] | None = None,
        versions: dict[int, str] | None = None,
        beside: list[Write] | None = None,
    ) -> list[A]:
        """Decide about each row, by its number in `places`. Of a place that stands there twice, the first goes first.

        `are_new`: the rows are probably not there. That, and what was written here a moment ago, saves a reading;
        if it was wrong, the write is refused, and it is decided anew. So it is with `guesses`, what others wrote last.
        `versions` is told the new version of each row that was written. `beside` are writes that go out with the first
        ones, in the same request where the table can; those that were carried out are taken off the list.
        """
        answers: dict[int, A] = {}
        left = list(range(len(places)))
        looks = iter(range(_LOOKS))
        for tried in range(_TRIES):
            if not left:
                return [answers[number] for number in range(len(places))]
            turn = _firsts(left, places)
            thought = self._thought([places[number] for number in turn], guesses or {}, tried=tried, are_new=are_new)
            rows = await self._rows([places[number] for number in turn], thought)
            writes: list[tuple[int, A, Write]] = []
            for number, row in zip(turn, rows, strict=True):
                change = decide(number, kind.read(row))
                if change.to is None and not (change.remove and row is not None):
                    if places[number] in thought and not change.is_guess:
                        continue  # nothing would be written, so nothing would tell if that was wrong
                    answers[number] = change.answer
                    continue
                text = None if change.to is None else _encode(change.to).decode()
                expected = None if row is None else row.version
                forget_at = change.forget_at or self._forget_at(change.to, None if row is None else row.text)
                forget_at = None if forget_at == NEVER else forget_at
                writes.append((number, change.answer, Write(places[number], text, expected, forget_at)))
            done = await self._write_with([write for _, _, write in writes], beside, looks) if writes else []
            for (number, answer, write), version in zip(writes, done, strict=True):
                self._remember(write, version)
                if version is not None:
                    answers[number] = answer
                    if versions is not None:
                        versions[number] = version
            left = [number for number in left if number not in answers]
            if None in done and tried > 1:
                await asyncio.sleep(0.005 * min(tried, 20))
        raise BrokerUnavailable("too many concurrent changes to the same row; nothing was done; retrying")

    def last_written(self, kind: Kind[T], place: RowKey) -> T | None:
        """What was written here last, of a message that is lent; others may have changed it since."""
        return kind.read(self._wrote.get(place))

    async def _write_with(
        self, writes: list[Write], beside: list[Write] | None, looks: Iterator[int]
    ) -> list[str | None]:
        """As `_write`; what is written beside is taken off its list."""
        if not beside:
            return await self._write(writes, looks)
        more = list(beside)
        done = await self._write([*writes, *more], looks)
        told = done[len(writes) :]
        beside[:] = [write for write, version in zip(more, told, strict=True) if version is None]
        return done[: len(writes)]

    async def _write(self, writes: list[Write], looks: Iterator[int]) -> list[str | None]:
        """The new version of each that was carried out. Looks where no answer came; if that fails, nothing is known."""
        try:
            return await self.table.write(writes)
        except BrokerUnavailable as error:
            if not error.outcome_unknown or next(looks, None) is None:
                raise
            try:
                rows = await self.table.get([write.place for write in writes])
            except BrokerUnavailable:
                raise error from None
        return [_found(row, write) for row, write in zip(rows, writes, strict=True)]

    def _thought(
        self, places: list[RowKey], guesses: Mapping[RowKey, Row], *, tried: int, are_new: bool
    ) -> dict[RowKey, Row | None]:
        """What rows are thought to say, at first."""
        if tried:
            return {}
        if are_new:
            return dict.fromkeys(places)
        return {place: row for place in places if (row := self._wrote.get(place) or guesses.get(place)) is not None}

    async def _rows(self, places: list[RowKey], thought: dict[RowKey, Row | None]) -> list[Row | None]:
        """The rows as they are thought to be, and the others as they are."""
        asked = [place for place in places if place not in thought]
        found = dict(zip(asked, await self.table.get(asked), strict=True)) if asked else {}
        return [thought[place] if place in thought else found.get(place) for place in places]

    def _remember(self, write: Write, version: str | None) -> None:
        """Keep what was just written about a message that is lent, a key that is run or a worker: it speaks next."""
        self._wrote.pop(write.place, None)
        text = write.text
        if version is not None and text is not None and (write.place.part == ROSTER or _is_at_work(text)):
            self._wrote[write.place] = Row(write.place, text, None if version == text else version)
            if len(self._wrote) > _REMEMBERED:
                self._wrote.popitem(last=False)

    async def change_one(self, kind: Kind[T], place: RowKey, decide: Callable[[T | None], Change[A]]) -> A:
        """As `change`, for one row."""
        (answer,) = await self.change(kind, [place], lambda _, value: decide(value))
        return answer

    async def remove(self, place: RowKey, text: str) -> None:
        """Remove a row if it still says this."""
        version = text
        if self.table_has_etags:
            (row,) = await self.table.get([place])
            if row is None or row.text != text:
                return
            version = row.version
        await self.table.write([Write(place, None, version)])

    def _forget_at(self, value: Any, before: str | None) -> float | None:
        """What is on its way is kept as long as the queue can keep it, and the ledger's window more.

        A dead letter is kept always, and so is what asked to be announced, until it was (`announcements.py`).
        """
        is_entry = isinstance(value, Entry)
        if is_entry and (value.state == MessageState.DEAD or value.is_half_redriven):
            return None
        asks = is_entry and value.announce is not None and (value.intents or value.announced < value.generation)
        if before is not None and not (is_entry and (_DEAD in before or _REDRIVING in before)):
            return None if asks and _ASKS not in before else KEEP
        if asks:
            return None
        if isinstance(value, Entry | Claim):
            due = max(0.0, value.due - self.now()) if isinstance(value, Entry) else 0.0
            return self.kept_after_the_queue() + due
        return None

    # -- bodies of dead letters ----------------------------------------------------------------------

    async def keep_body(self, id: str, text: str, part: str) -> int:
        """Keep a body beside its entry; how many rows that takes. The same body may be kept again."""
        (pages,) = await self.keep_bodies([(id, text, part)])
        return pages

    async def keep_bodies(self, bodies: Sequence[tuple[str, str, str]]) -> list[int]:
        """Keep several: id, text and part of each. Nearly always they are not there yet, so nothing is read before."""
        counts, places, texts = list[int](), list[RowKey](), list[str]()
        for id, text, part in bodies:
            pages = [text[start : start + _BODY_PAGE] for start in range(0, len(text), _BODY_PAGE)] or [""]
            counts.append(len(pages))
            places += _pages(id, len(pages), part)
            texts += pages

        def decide(number: int, known: str | None) -> Change[None]:
            return Change(None, None if known == texts[number] else texts[number])

        await self.change(_TEXT, places, decide, are_new=True)
        return counts

    async def body(self, id: str, pages: int, part: str) -> str:
        """The body that was kept; empty if it is not there."""
        texts = await self.get(_TEXT, _pages(id, pages, part))
        return "".join(text or "" for text in texts)

    async def drop_body(self, id: str, pages: int, part: str) -> None:
        """It is needed no more."""
        writes = [Write(place, None, None) for place in _pages(id, pages, part)]
        if writes:
            await self.table.write(writes)


_TEXT = Kind(str)


def _is_at_work(text: str) -> bool:
    return len(text) <= _LONGEST and (_LEASED in text or _RUNNING in text) and _DONE not in text


def _found(row: Row | None, write: Write) -> str | None:
    """What `Table.write` would have answered, by what the row says now."""
    if row is None:
        return "" if write.text is None else None
    return row.version if row.text == write.text else None


def body_rows(shelf: int) -> str:
    """Where the body of the dead letter at that place of the index is: each death has rows of its own.

    So whoever drops those of an earlier one cannot drop these.
    """
    return f"{_BODY}{shelf}-"


def attribute_rows(shelf: int) -> str:
    """Likewise, for what stood beside its body."""
    return f"{_ATTRIBUTES}{shelf}-"


def _pages(id: str, count: int, part: str) -> list[RowKey]:
    return [RowKey(f"m#{id}", f"{part}{number:04}") for number in range(count)]


def entry_place(id: str) -> RowKey:
    """Where the entry of a message is."""
    return RowKey(f"m#{id}", "m")


#: How the key of a scope begins that is of one message alone.
OWN = "id:"


def is_own(scope: Scope) -> bool:
    """Whether it is the scope of one message without a key: its claim is in its entry."""
    return scope.key.startswith(OWN)


def claim_place(scope: Scope) -> RowKey:
    """Where the claim of a key is. Keys may be long, so they are told by their digest."""
    words = _encode([scope.queue, scope.task, scope.key, scope.generation])
    return RowKey(f"k#{hashlib.sha256(words).hexdigest()[:40]}", "k")


def _firsts(numbers: Sequence[int], places: Sequence[RowKey]) -> list[int]:
    """The first of each place."""
    seen: dict[RowKey, int] = {}
    for number in numbers:
        seen.setdefault(places[number], number)
    return list(seen.values())
