"""The receipt of a lease, and the test whether the lease is still valid.

A receipt names the row and the message: a lease whose parts were mixed up matches nothing. A lease is valid as long as
its row is leased under the same fence; the loan of that fence names its holder. It stays valid after its deadline,
until the message is taken away.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.states import LEASED
from tenure.adapters.sqlite.transaction import ReadView
from tenure.lease import Lease

#: For leases of one loan. Parameters: the list of rows (`rows_of`), then fence, fence, owner.
STAND = (
    f"state = {LEASED} AND seq IN (SELECT value FROM json_each(?)) AND fence = ?"
    " AND EXISTS (SELECT 1 FROM loan WHERE fence = ? AND owner = ?)"
)
_FIND = f"""
SELECT json_group_array(json_array(entry.key, seq, message.id, queue, extras))
FROM json_each(?) AS entry
CROSS JOIN message ON seq = json_extract(entry.value, '$[0]')
CROSS JOIN loan ON loan.fence = message.fence
WHERE state = {LEASED} AND message.fence = json_extract(entry.value, '$[1]')
  AND loan.owner = json_extract(entry.value, '$[2]')
"""
#: Row numbers have at most 63 bits.
_LONGEST_NUMBER = 18


class LeasedRow(NamedTuple):
    """A message that is leased."""

    seq: int
    id: str
    queue: str
    extras: int


_found = msgspec.json.Decoder(list[tuple[int, int, str, str, int]])


def receipt_for(seq: int, id: str) -> str:
    """The receipt that goes out with a lease."""
    return f"{seq}:{id}"


def row_of(lease: Lease) -> str:
    """The number of the row that the receipt names; "0", which is no row, if it is not of this message."""
    if isinstance(lease.receipt, str):
        row, _, id = lease.receipt.partition(":")
        if id == lease.id and row.isascii() and row.isdecimal() and len(row) <= _LONGEST_NUMBER:
            return str(int(row))
    return "0"


def rows_of(leases: Iterable[Lease]) -> str:
    """The rows of many leases, as one parameter."""
    return f"[{','.join([row_of(lease) for lease in leases])}]"


def find(view: ReadView, leases: Sequence[Lease]) -> list[LeasedRow | None]:
    """The message of each lease, if the lease is still valid."""
    entries = listed([(int(row_of(lease)), lease.fence, lease.owner) for lease in leases])
    (text,) = view.db.execute(_FIND, (entries,)).fetchone()
    held: list[LeasedRow | None] = [None] * len(leases)
    for place, seq, id, queue, extras in _found.decode(text):
        held[place] = LeasedRow(seq, id, queue, extras)
    return held
