"""Ownership: the one place where a message is taken and given up. It needs no worker and no heartbeat.

    take     leases in; out, for each message, its claim, or the verdict that it gets at once
    bodies   fetch the body of a message from the blob store
    settle   verdicts and latest leases in: seal first, then settle; a lost lease settles nothing

Between these calls the caller keeps the leases alive in any way it likes. A worker's path (`path/admission.py`,
`path/handling.py`, `path/outbox.py`) and consumers in other languages use the same three calls.
"""

from tenure.runtime.ownership.owned import Concluded, Owned, Reading, Settled
from tenure.runtime.ownership.ownership import Ownership

__all__ = ["Concluded", "Owned", "Ownership", "Reading", "Settled"]
