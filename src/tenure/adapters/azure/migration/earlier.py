"""Reading the tables of earlier versions, in the account or elsewhere (`state=redis://…`).

Only reads. Messages come in pairs of rows, by id, one part after the other; a mark says where to go on.
"""

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from tenure.adapters.azure.migration import layout
from tenure.adapters.azure.migration.layout import DoneClaim, Letter, Life
from tenure.adapters.azure.rows import Row
from tenure.claim import Scope
from tenure.message import MessageState

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

    def __init__(self, rows: Any) -> None:
        """`rows` are `rows.Rows`, or `table_rows.TableRows` where the state is elsewhere."""
        self._rows = rows
        self.partitions = 1

    async def look(self) -> bool:
        """Whether there are any; reads into how many parts they were put."""
        row: Row | None = await self._rows.get(layout.COMMON, "layout")
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


async def _next(rows: AsyncIterator[Row]) -> Row | None:
    return await anext(rows, None)


def _behind(kind: str, word: str) -> str:
    # No key has a character as small as this one.
    return f"{kind}{word}!" if word else kind
