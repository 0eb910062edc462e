"""Reading the tables of earlier versions, in the account or elsewhere (`state=redis://…`).

Only reads. Messages come in pairs of rows, by id, one part after the other; a mark says where to go on.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from tenure.adapters.azure.bulk import Bulk
from tenure.adapters.azure.clients import Hook
from tenure.adapters.azure.migration import layout
from tenure.adapters.azure.migration.layout import DoneClaim, Letter, Life
from tenure.adapters.azure.options import Options
from tenure.adapters.azure.rows import Row, Rows
from tenure.adapters.azure.session import Session
from tenure.adapters.azure.table_rows import TableRows
from tenure.claim import Scope
from tenure.clock import Clock
from tenure.errors import StoreMissing
from tenure.message import MessageState
from tenure.table import GroupTable

_ON_ITS_WAY = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED})


class Message(msgspec.Struct, frozen=True):
    """What the earlier tables say of one message. One of the two at least is there."""

    part: int
    #: Its rows' keys, without the first two letters.
    word: str
    letter: Letter | None
    life: Life | None
    #: Where the life has the bytes.
    own_envelope: bytes | None

    @property
    def state(self) -> MessageState:
        """Where it is."""
        if self.life is not None:
            return self.life.state
        is_ended = self.letter is not None and self.letter.is_ended
        return MessageState.COMPLETED if is_ended else MessageState.READY

    @property
    def is_unfinished(self) -> bool:
        """Whether it still waits or runs."""
        return self.state in _ON_ITS_WAY

    @property
    def envelope(self) -> bytes:
        """Its bytes."""
        if self.own_envelope is not None:
            return self.own_envelope
        return b"" if self.letter is None else self.letter.envelope

    @property
    def scope(self) -> Scope | None:
        """The scope of its claim. None: nobody can tell, as of a message that Tenure did not send."""
        if self.letter is None:
            return None
        scope = self.letter.scope
        if self.life is not None and self.life.generation is not None:
            scope = msgspec.structs.replace(scope, generation=self.life.generation)
        return scope


class EarlierTables:
    """The rows of earlier versions."""

    def __init__(self, rows: Rows | TableRows, session: Session) -> None:
        """`rows` of the account, or those of another table (`state=redis://…`)."""
        self._rows = rows
        self._session = session
        self.partitions = 1

    def now(self) -> float:
        """The moment, on the account's time line."""
        return self._session.timeline.now()

    def wall(self) -> float:
        """Wall time by the clock of what keeps the rows."""
        return self._session.wall() if isinstance(self._rows, Rows) else self._rows.wall()

    async def look(self) -> bool:
        """Whether there are any; reads into how many parts they were put."""
        try:
            row = await self._rows.get(layout.COMMON, "layout")
        except StoreMissing:
            return False
        if row is not None:
            self.partitions = int(row.fields["Partitions"])
        return row is not None

    async def has_anything(self) -> bool:
        """Whether there is something to carry: a few queries of one row each."""
        parts = [f"{number:02d}" for number in range(self.partitions)]
        places = [
            *((part, "m:", "n") for part in parts), *((part, "s:", "t") for part in parts),
            *((f"k{part}", "k:", "l") for part in parts), (layout.DOCUMENTS, "d:", "e"), (layout.COMMON, "p", "q"),
            (layout.COMMON, "t:", "tu"), (layout.ACTS, "e:", "f"),
        ]  # fmt: skip
        for part, low, high in places:
            async for _ in self._rows.between(part, low, high, limit=1):
                return True
        return False

    async def messages(self, part: int = 0, after: str = "") -> AsyncIterator[Message]:
        """Every message behind the one whose rows' keys end with `after`, in that part; then those of the others."""
        for number in range(part, self.partitions):
            async for one in self._pairs(number, after):
                yield one
            after = ""

    async def _pairs(self, number: int, after: str) -> AsyncIterator[Message]:
        """Letters and lives of one part lie in the same order, so they are read side by side."""
        part = f"{number:02d}"
        letters = self._rows.between(part, _behind("s:", after), "s;")
        lives = self._rows.between(part, _behind("m:", after), "m;")
        letter, life = await _next(letters), await _next(lives)
        while letter is not None or life is not None:
            word = min(row.key[2:] for row in (letter, life) if row is not None)
            mine = letter if letter is not None and letter.key[2:] == word else None
            its = life if life is not None and life.key[2:] == word else None
            read, own = (None, None) if its is None else layout.read_life(its.fields)
            yield Message(number, word, None if mine is None else layout.read_letter(mine.fields), read, own)
            letter = await _next(letters) if mine is not None else letter
            life = await _next(lives) if its is not None else life

    async def done(self, scopes: list[Scope]) -> list[DoneClaim | None]:
        """The claims of scopes that are done."""
        found = await self._rows.get_all([layout.claim_row(scope, self.partitions) for scope in scopes])
        return [None if row is None else layout.read_done(row.fields) for row in found]

    async def between(self, part: str, low: str, high: str) -> AsyncIterator[Row]:
        """Other rows, by key."""
        async for row in self._rows.between(part, low, high):
            yield row


class _Earlier(Options, frozen=True, kw_only=True):
    """The options, with the table that earlier versions used."""

    @property
    def table(self) -> str:
        """The name of the table, and of the container with what was too large for it."""
        return f"{self.prefix}tenure"


@asynccontextmanager
async def opened(
    options: Options, clock: Clock, hook: Hook | None, make_table: Callable[[Any], GroupTable] | None
) -> AsyncIterator[EarlierTables | None]:
    """The tables of earlier versions, for as long as they are read. None: there are none. Nothing is created."""
    earlier = _Earlier(**msgspec.structs.asdict(options))
    session = Session(earlier, clock, must_exist=True, hook=hook)
    rows: Rows | TableRows
    if make_table is None:
        bulk = Bulk(session, lambda: session.clients.blob_service.get_container_client(earlier.table))
        rows = Rows(session, lambda: session.clients.table, bulk)
    else:
        rows = TableRows(session, make_table(session), f"azure:{options.account}:{options.prefix}:")
    await session.open()
    try:
        await rows.open()
        try:
            tables = EarlierTables(rows, session)
            yield tables if await tables.look() else None
        finally:
            await rows.close()
    finally:
        await session.close()


async def _next(rows: AsyncIterator[Row]) -> Row | None:
    return await anext(rows, None)


def _behind(kind: str, word: str) -> str:
    # No key has a character as small as this one.
    return f"{kind}{word}!" if word else kind
