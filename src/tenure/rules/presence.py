"""Presence: the one rule that decides which members of the roster are dead, on every store.

No overlap comes before fast recovery: a worker that runs is never robbed of its lease. So only proof counts:

    it said goodbye, or was declared dead before
    the lock of its process is free (SQLite)
    a witness in the same boot and the same namespaces sees that the process has ended
    a newer owner has its slot, which a manager gives to one process at a time

Silence, a lost connection, another boot id, another host and the same name prove nothing. A process that can be seen
to run is alive, even if another worker has its slot. The supervisor's `waitpid` is proof too, and needs no judging.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tenure.owner import DeadOwner, Member, Owner
from tenure.probe import Probe, ProcessId

#: Who was silent for this long and holds nothing is taken off the roster, and joins again when it speaks.
SILENT_SECONDS = 60.0


class Judgement(NamedTuple):
    """The members of a roster, by whether their death is proven."""

    dead: list[DeadOwner]
    #: Nothing proves that they are dead; some may be silent.
    living: list[Member]

    @property
    def owners(self) -> list[Owner]:
        """The owners whose death is not proven."""
        return [member.owner for member in self.living]

    @property
    def silent(self) -> list[Member]:
        """The living who may be taken off the roster if they hold nothing."""
        return [member for member in self.living if member.silent_seconds >= SILENT_SECONDS]


def judge(members: Sequence[Member], probe: Probe) -> Judgement:
    """Find the dead members, each with its proof as a sentence."""
    here = probe.me()
    newest = _newest_in_slots(members)
    dead: list[DeadOwner] = []
    living: list[Member] = []
    for member in members:
        proof = _proof(member, newest, here, probe)
        if proof:
            dead.append(DeadOwner(member.owner, proof, left=member.left))
        else:
            living.append(member)
    return Judgement(dead, living)


def joined_after(members: Iterable[Member], owner: Owner, now: float) -> float:
    """Return the time at which `owner` joins: later than all earlier owners of its slot, even if `now` is behind."""
    before = [member.joined for member in members if member.owner.slot == owner.slot and member.owner.id != owner.id]
    return max([now, *(joined + 0.001 for joined in before)]) if owner.slot else now


def _proof(member: Member, newest: dict[str, Member], here: ProcessId, probe: Probe) -> str:
    """Why it is dead. Empty: nothing proves it."""
    owner = member.owner
    if member.is_retired:
        return "it was declared dead before, and not all that it held was returned"
    if member.left:
        return "it said goodbye"
    if member.lock is not None:
        return "" if member.lock else f"its process{_pid(owner)} has ended (its lock is free)"
    seen = _witness(owner, here, probe)
    if seen is not None:
        return seen
    successor = newest.get(owner.slot)
    if successor is not None and successor.joined > member.joined:
        return f"a newer worker ({successor.owner.id}) has its slot {owner.slot!r}"
    return ""


def _witness(owner: Owner, here: ProcessId, probe: Probe) -> str | None:
    """Look at the process: why it is dead, or empty if it runs. None: not known."""
    is_comparable = owner.pid > 0 and "" not in (owner.boot_id, owner.pid_namespace)
    if not is_comparable or (owner.boot_id, owner.pid_namespace) != (here.boot_id, here.pid_namespace):
        return None
    look = probe.look(owner.pid)
    if not look.exists or look.is_zombie:
        return f"its process{_pid(owner)} has ended"
    if not (owner.process_start and look.start):
        return None
    if look.start != owner.process_start:
        return f"its process{_pid(owner)} has ended, and another one has that pid now"
    return ""


def _pid(owner: Owner) -> str:
    return f" (pid {owner.pid})" if owner.pid > 0 else ""


def _newest_in_slots(members: Iterable[Member]) -> dict[str, Member]:
    newest: dict[str, Member] = {}
    for member in members:
        slot = member.owner.slot
        if slot and (slot not in newest or member.joined > newest[slot].joined):
            newest[slot] = member
    return newest
