"""An owner: one boot of one worker, the party that leases belong to.

The name stays over restarts; the nonce is new at each boot. A nonce that was proven dead never comes
back, so what was decided about it stays true. Owners without presence (an HTTP client, a loop of the
user's own) are never on the roster and are bound by their lease alone.
"""

import os

import msgspec

from tenure.errors import OwnerRetired


class Owner(msgspec.Struct, frozen=True):
    """Who holds a lease, and where to look for it."""

    name: str
    nonce: str
    host: str = ""
    pid: int = 0
    #: Names the boot of the machine; an owner of an earlier boot is dead.
    boot_id: str = ""
    started_at: float = 0.0
    queues: tuple[str, ...] = ()
    concurrency: int = 0
    #: Names of the tasks that it knows: what others do not, they leave to it.
    tasks: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The word that stands on every lease of this owner."""
        return f"{self.name}/{self.nonce}"


class DeadOwner(msgspec.Struct, frozen=True):
    """An owner that is proven to be gone, with the proof in words."""

    owner: Owner
    proof: str
    #: True if it said goodbye: what it still held is returned uncounted.
    left: bool = False


def new_nonce() -> str:
    """Eight hex digits, new for each boot of a worker."""
    return os.urandom(4).hex()


def retired(owner: str) -> OwnerRetired:
    """What every store says to an owner that was declared dead: whatever it still asks for comes too late."""
    return OwnerRetired(
        f"the worker {owner} was declared dead and its messages were returned; nothing was done for it. "
        "It must join again under a new nonce"
    )
