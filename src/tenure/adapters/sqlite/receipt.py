"""The receipt of a lease, and the test whether the lease still stands.

A receipt names the row and the message: a lease whose parts were mixed up matches nothing. A lease stands as
long as its row is leased under the same fence; the loan of that fence tells whose it is.
"""

from tenure.adapters.sqlite.states import LEASED
from tenure.lease import Lease

#: For one lease. Parameters: `standing(lease)`.
STANDS = f"state = {LEASED} AND seq = ? AND fence = ? AND EXISTS (SELECT 1 FROM loan WHERE fence = ? AND owner = ?)"
#: For many leases of one loan. Parameters: the list of row numbers, then fence, fence, owner.
STAND = (
    f"state = {LEASED} AND seq IN (SELECT value FROM json_each(?)) AND fence = ?"
    " AND EXISTS (SELECT 1 FROM loan WHERE fence = ? AND owner = ?)"
)


def receipt_for(seq: int, id: str) -> str:
    """The receipt that goes out with a lease."""
    return f"{seq}:{id}"


def row_of(lease: Lease) -> str:
    """The number of the row that the receipt names; "0", which is no row, if it is none for this message."""
    if isinstance(lease.receipt, str):
        row, _, id = lease.receipt.partition(":")
        if id == lease.id and row.isdecimal():
            return row
    return "0"


def standing(lease: Lease) -> tuple[object, ...]:
    """The parameters of `STANDS`."""
    return (int(row_of(lease)), lease.fence, lease.fence, lease.owner)
