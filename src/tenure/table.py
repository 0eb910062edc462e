"""The table port: rows of text that are changed only by compare-and-set.

All that a broker without a truth of its own needs of a store: what the ports of the state promise is decided above it
(`rowstore/`), in Python, and written by compare-and-set. So a cloud's state can be kept by the same vendor
(`adapters/aws/dynamo`), or by another (`adapters/redis/table`, `adapters/sqlite/table`); `assembly` brings them
together. A row has a place: the part says which rows are kept together, and rows of a part are in the order of their
`sort`.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec


class RowKey(NamedTuple):
    """The place of a row."""

    part: str
    sort: str


class Row(msgspec.Struct, frozen=True, gc=False):
    """One row as it was read."""

    place: RowKey
    text: str
    #: The store's own mark of this version. None: the text is the version.
    etag: str | None = None

    @property
    def version(self) -> str:
        """What a change of this row is compared with. Opaque: only the table reads it."""
        return self.text if self.etag is None else self.etag


class Write(msgspec.Struct, frozen=True, gc=False):
    """Set a row to `text` if its version is still `expected` (None: it is not there).

    `text` None removes it, with `expected` None whatever its version.
    """

    place: RowKey
    text: str | None
    expected: str | None
    #: Wall time after which the store may forget the row. None: never. `KEEP`: as was said before.
    forget_at: float | None = None


#: Of a row that is there, leave it as it is when it is forgotten: that is cheaper to say.
KEEP = -1.0


class Table(Protocol):
    """Rows, changed by compare-and-set. All verbs raise `BrokerUnavailable` when the store is away."""

    async def open(self) -> None:
        """Connect, and make what must exist."""
        ...

    async def close(self) -> None:
        """Close the table."""
        ...

    def now(self) -> float:
        """The moment, on a line that all who use the table share."""
        ...

    def wall(self) -> float:
        """Wall time by the store's clock, as last read; by this machine's where the store is here."""
        ...

    async def get(self, places: Sequence[RowKey]) -> list[Row | None]:
        """The rows as they are now, each place once or more often."""
        ...

    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        """Change rows, each for itself. For each its new version; empty: it was removed. No place twice.

        None: its version was not the expected one, and nothing was changed. To remove a row that is not there may be
        answered as a success, whatever was expected: DynamoDB shows no difference.
        """
        ...

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        """Rows of a part beyond `after`, in order; backwards from the end."""
        ...


class GroupTable(Table, Protocol):
    """A table that can also change several rows as one."""

    async def commit(self, groups: Sequence[Sequence[Write]]) -> list[bool]:
        """Carry out each group as a whole, or not at all. False: a row in it was not as expected."""
        ...


class Scanned(NamedTuple):
    """A part of a scan."""

    #: Rows that were wanted, each with the mark to go on behind it.
    rows: list[tuple[Row, str]]
    #: Rows that were read for it, wanted or not.
    looked_at: int
    #: Where to go on; empty: the end was reached.
    mark: str


@runtime_checkable
class ScanTable(Table, Protocol):
    """A table that can also be read from one end to the other."""

    async def scan(self, beginning: str, sort: str, *, after: str = "", limit: int = 1000) -> Scanned:
        """Rows called `sort` of the parts that begin so, in no order; reads about `limit` rows of whatever kind.

        Raises `ValueError` for a mark of another table.
        """
        ...


@runtime_checkable
class PrunedTable(Table, Protocol):
    """A table whose store forgets nothing by itself."""

    async def prune(self) -> int:
        """Remove rows whose time (`Write.forget_at`) is over; how many. One call does a bounded part of the work."""
        ...


def text_versions(batch: Sequence[Write], done: Sequence[bool]) -> list[str | None]:
    """The answers to a batch of writes, of a table in which a row's text is its version."""
    return [(one.text or "") if ok else None for one, ok in zip(batch, done, strict=True)]


def split_mark(mark: str) -> RowKey:
    """The place in the mark of a table whose rows have one order: part and sort, on two lines."""
    part, line, sort = mark.rpartition("\n")
    if not line:
        msg = f"{mark!r} is no mark"
        raise ValueError(msg)
    return RowKey(part, sort)
