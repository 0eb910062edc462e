"""The roster: which workers are alive, by what they said last.

There is no connection whose end would prove a death. Whoever was not heard for 15 seconds is given up, and not called
crashed; whoever was not heard for 8 while a newer boot under its name is here, is: a restarted process does not come
back. A supervisor's own word (`Broker.retire`) is quicker than both. If nobody looked for ten seconds, the state was
away, and everybody is heard before anybody is blamed for silence.

A word costs a write, so only every fourth second's is written. Those who are over (`banned`) have a part of the table
for themselves, so that a look reads only those who may be alive. Where there are many, they share the looking.
"""

from collections.abc import Callable, Iterable

import msgspec

from tenure.adapters.aws.desk import Change, Desk, Kind
from tenure.owner import DeadOwner, Owner, retired
from tenure.table import Place, Write

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
#: Where there are more than so many, one look a second is enough for all of them, and each looks for it every so many
#: seconds for each other one, at most.
_FEW = 10
_SHARED_SECONDS = 1.0
_EACH_SECONDS, _SELDOM_SECONDS = 0.1, 5.0
_MANY = 100_000


class Member(msgspec.Struct, gc=False, omit_defaults=True):
    """One boot of a worker. Without `owner`: it never joined."""

    owner: Owner | None = None
    heard: float = 0.0
    has_left: bool = False
    #: Its process is known to have ended.
    is_gone: bool = False


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
        #: When we looked last, and how many there were.
        self._looked, self._count = float("-inf"), 0

    async def join(self, owner: Owner) -> None:
        def decide(_: Member | None) -> Change[None]:
            return Change(None, Member(owner=owner, heard=self._desk.now()))

        await self._desk.change_one(MEMBER, _place(owner.id), decide)
        # Last: whoever bans writes the ban first, so one of the two sees the other.
        if await self.banned([owner.id]):
            await self._desk.table.write([Write(_place(owner.id), None, None)])
            raise retired(owner.id)
        self._said[owner.id] = self._desk.clock.monotonic()

    async def beat(self, owner: Owner) -> None:
        now = self._desk.clock.monotonic()
        if now - self._said.get(owner.id, float("-inf")) < _BETWEEN_SECONDS:
            return

        def decide(member: Member | None) -> Change[None]:
            if member is None or member.has_left:
                return Change(None)
            member.heard = max(member.heard, self._desk.now())
            return Change(None, member)

        await self._desk.change_one(MEMBER, _place(owner.id), decide)
        self._said[owner.id] = now

    async def leave(self, owner: Owner) -> None:
        def decide(member: Member | None) -> Change[None]:
            if member is None or member.has_left:
                return Change(None)
            member.has_left = True
            return Change(None, member)

        await self._desk.change_one(MEMBER, _place(owner.id), decide)

    async def alive(self) -> list[Owner]:
        return [owner for owner, proof, _ in await self._look(await self._mark()) if not proof]

    async def dead(self) -> list[DeadOwner]:
        is_shared = self._count > _FEW
        pause = min(_SELDOM_SECONDS, _EACH_SECONDS * self._count) if is_shared else 0.0
        if self._desk.clock.monotonic() - self._looked < pause:
            return []
        trusted_from = await self._mark(is_shared=is_shared)
        if trusted_from is None:  # somebody else looked just now
            self._looked = self._desk.clock.monotonic()
            return []
        return [DeadOwner(owner, proof, left=left) for owner, proof, left in await self._look(trusted_from) if proof]

    # -- for the adapter's other parts ---------------------------------------------------------------

    async def members(self, owners: Iterable[str]) -> dict[str, Member]:
        """What is known of several; those who never joined are missing."""
        names = sorted(owners)
        found = await self._known(names, _place)
        return found | await self._known([name for name in names if name not in found], _place_of_banned)

    async def _known(self, names: list[str], place: Callable[[str], Place]) -> dict[str, Member]:
        found = await self._desk.get(MEMBER, [place(name) for name in names])
        return {name: member for name, member in zip(names, found, strict=True) if member is not None}

    async def banned(self, owners: Iterable[str]) -> frozenset[str]:
        """Which of these were retired. Asked anew each time: it may have happened a moment ago."""
        asked = set(owners)
        unknown = sorted(asked - self._known_banned)
        if unknown:
            self._known_banned.update(await self._known(unknown, _place_of_banned))
        return frozenset(asked & self._known_banned)

    async def ban(self, owner: str) -> None:
        """Retire it for ever: first that is written, then it goes from among those who may be alive."""
        known = await self._known([owner], _place)
        before = known.get(owner, Member())

        def decide(member: Member | None) -> Change[None]:
            after = Member(owner=before.owner, heard=before.heard)
            return Change(None, after if member is None else None, forget_at=self._desk.kept_until())

        await self._desk.change_one(MEMBER, _place_of_banned(owner), decide)
        self._known_banned.add(owner)
        if known:
            await self._desk.table.write([Write(_place(owner), None, None)])

    def is_silent(self, owner: str) -> bool:
        """Whether silence is all that spoke against it: no proof of a crash."""
        return owner in self._silent

    async def _look(self, trusted_from: float | None) -> list[tuple[Owner, str, bool]]:
        """Everybody on the roster, why it is dead (empty: it is not), and whether it said goodbye."""
        rows = await self._desk.table.page("roster", limit=_MANY)
        members = [member for row in rows if (member := MEMBER.read(row)) is not None]
        self._looked, self._count = self._desk.clock.monotonic(), len(members)
        self._silent &= {member.owner.id for member in members if member.owner is not None}
        newest: dict[str, float] = {}
        for member in members:
            if member.owner is not None and not member.has_left:
                newest[member.owner.name] = max(newest.get(member.owner.name, 0.0), member.owner.started_at)
        found = [
            (member.owner, self._proof(member, newest, trusted_from or 0.0), member.has_left)
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

    async def _mark(self, *, is_shared: bool = False) -> float | None:
        """Note that somebody looks; since when silence counts. None: that is shared, and somebody looked just now."""

        def decide(look: _Look | None) -> Change[float | None]:
            now = self._desk.now()
            if look is None:
                return Change(now, _Look(now, now))
            if now - look.at < (_SHARED_SECONDS if is_shared else _LOOK_SECONDS):
                return Change(None if is_shared else look.trusted_from)
            trusted = now if now - look.at > _GAP_SECONDS else look.trusted_from
            return Change(trusted, _Look(now, trusted))

        return await self._desk.change_one(_LOOK, _LOOK_PLACE, decide)


def _place(owner: str) -> Place:
    return Place("roster", owner)


def _place_of_banned(owner: str) -> Place:
    return Place(f"banned#{owner}", "b")
