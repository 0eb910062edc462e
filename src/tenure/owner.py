"""An owner: one boot of one worker, to which leases belong; and a member of the roster.

The name stays over restarts; the nonce is new at each boot. A nonce that was declared dead never comes back, so what
was decided about it stays true. Owners without presence (an HTTP client, a loop of the user's own) are never on the
roster; only their lease binds them.

Stores list members; `rules/presence.py` decides which of them are dead.
"""

import os

import msgspec

from tenure.errors import OwnerRetired


class Owner(msgspec.Struct, frozen=True):
    """The owner of a lease, with what a witness needs to know about its process. Empty: unknown."""

    name: str
    nonce: str
    host: str = ""
    pid: int = 0
    #: Names the boot of the machine.
    boot_id: str = ""
    started_at: float = 0.0
    queues: tuple[str, ...] = ()
    concurrency: int = 0
    #: Names of the tasks that it knows: what others do not, they leave to it.
    tasks: tuple[str, ...] = ()
    #: Names the namespaces in which `pid` and `process_start` mean something.
    pid_namespace: str = ""
    #: When the kernel started the process, in the kernel's own unit: distinguishes it from a later one with the same
    #: pid.
    process_start: str = ""
    #: An identity that a process manager gives to one process at a time. Empty: none.
    slot: str = ""

    @property
    def id(self) -> str:
        """The id of this owner on its leases."""
        return f"{self.name}/{self.nonce}"

    @classmethod
    def of_id(cls, id: str) -> "Owner":
        """Make an owner of whom only the id is known."""
        name, _, nonce = id.rpartition("/")
        return cls(name, nonce)


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One owner on the roster, as the store lists it."""

    owner: Owner
    #: Seconds since the store last heard of it. A hint: silence proves nothing.
    silent_seconds: float = 0.0
    #: When it joined, in the store's time: which of two owners with one slot is the newer. 0: unknown.
    joined: float = 0.0
    #: It said goodbye: what it still holds is returned uncounted.
    left: bool = False
    #: It was declared dead, and what it held may not all be returned yet.
    is_retired: bool = False
    #: What the lock of its process says: True: held, False: free. None: there is none to be seen.
    lock: bool | None = None


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
    """Make the error for an owner that was declared dead. Its request comes too late."""
    return OwnerRetired(
        f"the worker {owner} was declared dead and its messages were returned; nothing was done for it. "
        "It must join again under a new nonce"
    )
