"""The roster: which workers are alive, by what they said last.

There is no connection whose end would prove a death. Whoever was not heard for 15 seconds is given up, and not called
crashed; whoever was not heard for 8 while a newer boot under its name is here, is: a restarted process does not come
back. A supervisor's own word (`Broker.retire`) is quicker than both. If nobody looked for ten seconds, the state was
away, and everybody is heard before anybody is blamed for silence.

A word costs a write, so only every fourth second's is written.
"""

from collections.abc import Iterable

import msgspec

from tenure.adapters.aws import faults
from tenure.adapters.aws.desk import Change, Desk, Kind
from tenure.adapters.aws.table import Place
from tenure.owner import DeadOwner, Owner

#: How long a word counts.
PRESENCE_SECONDS = 15.0
#: A newer boot under the same name is here, and the older one was not heard for so long.
_REPLACED_SECONDS = 8.0
#: If nobody looked for so long, nobody is blamed for silence.
_GAP_SECONDS = 10.0
#: Words that follow one another faster are not written.
_BETWEEN_SECONDS = 3.5
#: A mark that somebody looked is renewed so often.
_LOOK_SECONDS = 3.0
_MANY = 10_000


class Member(msgspec.Struct, gc=False, omit_defaults=True):
    """One boot of a worker. Without `owner`: it never joined."""

    owner: Owner | None = None
    heard: float = 0.0
    has_left: bool = False
    #: Its process is known to have ended.
    is_gone: bool = False
    #: Retired for ever.
    is_banned: bool = False


class _Look(msgspec.Struct):
    """When somebody last looked, and since when everybody could be heard."""

    at: float
    trusted_from: float


MEMBER = Kind(Member)
_LOOK = Kind(_Look)
_LOOK_PLACE = Place("roster-look", "look")


class AwsRoster:
    """Presence in the table."""

    def __init__(self, desk: Desk) -> None:
        """Stand on `desk`."""
        self._desk = desk
        self._said: dict[str, float] = {}
        self._known_banned: set[str] = set()
        #: Those against whom silence is all that spoke when we looked.
        self._silent: set[str] = set()

    async def join(self, owner: Owner) -> None:
        def decide(member: Member | None) -> Change[bool]:
            if member is not None and member.is_banned:
                return Change(answer=False)
            return Change(answer=True, to=Member(owner=owner, heard=self._desk.now()))

        if not await self._desk.change_one(MEMBER, _place(owner.id), decide):
            raise faults.retired(owner.id)
        self._said[owner.id] = self._desk.clock.monotonic()

    async def beat(self, owner: Owner) -> None:
        now = self._desk.clock.monotonic()
        if now - self._said.get(owner.id, float("-inf")) < _BETWEEN_SECONDS:
            return

        def decide(member: Member | None) -> Change[None]:
            if member is None or member.is_banned or member.has_left:
                return Change(None)
            member.heard = max(member.heard, self._desk.now())
            return Change(None, member)

        await self._desk.change_one(MEMBER, _place(owner.id), decide)
        self._said[owner.id] = now

    async def leave(self, owner: Owner) -> None:
        def decide(member: Member | None) -> Change[None]:
            if member is None or member.is_banned or member.has_left:
                return Change(None)
            member.has_left = True
            return Change(None, member)

        await self._desk.change_one(MEMBER, _place(owner.id), decide)

    async def alive(self) -> list[Owner]:
        return [owner for owner, proof, _ in await self._look() if not proof]

    async def dead(self) -> list[DeadOwner]:
        return [DeadOwner(owner, proof, left=left) for owner, proof, left in await self._look() if proof]

    # -- for the adapter's other parts ---------------------------------------------------------------

    async def member(self, owner: str) -> Member | None:
        """What is known of one boot."""
        (member,) = await self._desk.get(MEMBER, [_place(owner)])
        return member

    async def members(self, owners: Iterable[str]) -> dict[str, Member]:
        """What is known of several; those who never joined are missing."""
        names = sorted(owners)
        found = await self._desk.get(MEMBER, [_place(name) for name in names])
        return {name: member for name, member in zip(names, found, strict=True) if member is not None}

    async def banned(self, owners: Iterable[str]) -> frozenset[str]:
        """Which of these were retired. Asked anew each time: it may have happened a moment ago."""
        asked = set(owners)
        unknown = asked - self._known_banned
        if unknown:
            members = await self.members(unknown)
            self._known_banned |= {name for name, member in members.items() if member.is_banned}
        return frozenset(asked & self._known_banned)

    async def ban(self, owner: str) -> Member:
        """Retire it for ever; what was known of it before."""

        def decide(member: Member | None) -> Change[Member]:
            before = Member() if member is None else member
            if before.is_banned:
                return Change(before)
            after = Member(owner=before.owner, heard=before.heard, is_banned=True)
            return Change(before, after, forget_at=self._desk.kept_until())

        before = await self._desk.change_one(MEMBER, _place(owner), decide)
        self._known_banned.add(owner)
        return before

    def is_silent(self, owner: str) -> bool:
        """Whether silence is all that spoke against it: no proof of a crash."""
        return owner in self._silent

    async def _look(self) -> list[tuple[Owner, str, bool]]:
        """Everybody on the roster, why it is dead (empty: it is not), and whether it said goodbye."""
        trusted_from = await self._mark()
        rows = await self._desk.table.page("roster", limit=_MANY)
        members = [member for row in rows if (member := MEMBER.read(row)) is not None and not member.is_banned]
        newest: dict[str, float] = {}
        for member in members:
            if member.owner is not None and not member.has_left:
                newest[member.owner.name] = max(newest.get(member.owner.name, 0.0), member.owner.started_at)
        found = [
            (member.owner, self._proof(member, newest, trusted_from), member.has_left)
            for member in members
            if member.owner is not None
        ]
        return sorted(found, key=lambda one: (one[0].started_at, one[0].id))

    def _proof(self, member: Member, newest: dict[str, float], trusted_from: float) -> str:
        owner = member.owner
        if owner is None:
            return ""
        self._silent.discard(owner.id)
        if member.has_left:
            return "it said goodbye"
        if member.is_gone:
            return "its process is known to have ended"
        silent = self._desk.now() - max(member.heard, trusted_from)
        if silent > PRESENCE_SECONDS:
            self._silent.add(owner.id)
            return f"nothing was heard of it for {PRESENCE_SECONDS:.0f} s"
        if silent > _REPLACED_SECONDS and newest.get(owner.name, 0.0) > owner.started_at:
            return "a new boot under its name is here, and nothing was heard of it since"
        return ""

    async def _mark(self) -> float:
        """Note that somebody looks; since when silence counts."""

        def decide(look: _Look | None) -> Change[float]:
            now = self._desk.now()
            if look is None:
                return Change(now, _Look(now, now))
            if now - look.at < _LOOK_SECONDS:
                return Change(look.trusted_from)
            trusted = now if now - look.at > _GAP_SECONDS else look.trusted_from
            return Change(trusted, _Look(now, trusted))

        return await self._desk.change_one(_LOOK, _LOOK_PLACE, decide)


def _place(owner: str) -> Place:
    return Place("roster", owner)
