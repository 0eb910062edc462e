"""States with one fault each: ledger, records, roster, journal."""

from collections.abc import Sequence

import msgspec

from tenure.claim import ClaimAnswer, ClaimRequest, Done, Fresh, Running, Scope, Seal, Token
from tenure.event import Event, StoredEvent
from tenure.lease import Lease
from tenure.owner import DeadOwner, Owner
from tenure.record import Progress, Record
from tenure.state import State
from tenure.testing.faulty.honest import HonestJournal, HonestLedger, HonestRecords, HonestRoster
from tenure.testing.virtual import VirtualClock


class ForgetsSeals(HonestLedger):
    """Says that it is done, and lets it run again."""

    caught_by = ("Ledger",)

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Only release."""
        return await self.inner.release([one.token for one in batch])


class LetsTwoRun(HonestLedger):
    """Grants a claim that somebody has."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """The last to ask wins."""
        return [await self._claim(one) for one in batch]

    async def _claim(self, request: ClaimRequest) -> ClaimAnswer:
        (answer,) = await self.inner.claim([request])
        if isinstance(answer, Running):
            await self.inner.forget([request.scope])
            (answer,) = await self.inner.claim([request])
        return answer


class _RememberingLedger(HonestLedger):
    """Not a fault yet: knows the latest token of each scope."""

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Nothing was claimed yet."""
        super().__init__(inner, clock)
        self.latest: dict[Scope, Token] = {}

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Remember who may run."""
        answers = await self.inner.claim(batch)
        self.latest |= {one.token.scope: one.token for one in answers if isinstance(one, Fresh)}
        return answers

    def now_valid(self, token: Token) -> Token:
        """The token that the ledger would take."""
        return self.latest.get(token.scope, token)


class SealsForAStaleToken(_RememberingLedger):
    """Takes the result of whoever brings one."""

    caught_by = ("Ledger",)

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """By scope alone."""
        return await self.inner.seal([msgspec.structs.replace(one, token=self.now_valid(one.token)) for one in batch])


class RenewsForAnyone(_RememberingLedger):
    """Prolongs somebody else's claim."""

    caught_by = ("Ledger",)

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """By scope alone."""
        return await self.inner.renew([self.now_valid(one) for one in tokens])


class ReleasesForAnyone(_RememberingLedger):
    """Ends somebody else's claim."""

    caught_by = ("Ledger",)

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """By scope alone."""
        return await self.inner.release([self.now_valid(one) for one in tokens])


class NeverTakesOver(_RememberingLedger):
    """Keeps a claim for a holder that never comes back."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Prolong everything first."""
        await self.inner.renew(list(self.latest.values()))
        return await super().claim(batch)


class KeepsTheClaimsOfTheDead(_RememberingLedger):
    """Waits for the end of a claim although its owner is retired."""

    caught_by = ("Ledger", "Retiring")

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Nothing was claimed yet."""
        super().__init__(inner, clock)
        self.until: dict[Scope, float] = {}

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Whose claim has not lapsed keeps it."""
        before = dict(self.latest)
        now = self.clock.monotonic()
        answers: list[ClaimAnswer] = []
        for answer in await super().claim(batch):
            if isinstance(answer, Fresh):
                scope = answer.token.scope
                if self.until.get(scope, 0.0) >= now:
                    await self.inner.release([answer.token])
                    answers.append(Running(before[scope].owner, self.until[scope] - now))
                    continue
                self.until[scope] = now + answer.token.seconds
            answers.append(answer)
        return answers

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Note the new end."""
        renewed = await self.inner.renew(tokens)
        now = self.clock.monotonic()
        self.until |= {one.scope: now + one.seconds for one, done in zip(tokens, renewed, strict=True) if done}
        return renewed

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Over."""
        released = await self.inner.release(tokens)
        self._end([one.scope for one, done in zip(tokens, released, strict=True) if done])
        return released

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Over."""
        sealed = await self.inner.seal(batch)
        self._end([one.token.scope for one, done in zip(batch, sealed, strict=True) if done])
        return sealed

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Over."""
        await self.inner.forget(scopes)
        self._end(scopes)

    def _end(self, scopes: Sequence[Scope]) -> None:
        for scope in scopes:
            self.until.pop(scope, None)


class ClaimFenceStandsStill(HonestLedger):
    """Gives each claim of a scope the same fence."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Always the first."""
        answers = await self.inner.claim(batch)
        return [
            Fresh(msgspec.structs.replace(one.token, fence=1)) if isinstance(one, Fresh) else one for one in answers
        ]


class DoneForAnHour(HonestLedger):
    """Forgets what is done after an hour."""

    caught_by = ("Ledger",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Nothing is done yet."""
        super().__init__(inner, clock)
        self.done: dict[Scope, float] = {}

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Note when."""
        self.done |= {one.token.scope: self.clock.monotonic() for one in batch}
        return await self.inner.seal(batch)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Clean up first."""
        limit = self.clock.monotonic() - 3600.0
        await self.inner.forget([scope for scope, at in self.done.items() if at < limit])
        return await self.inner.claim(batch)


class RenewDoesNothing(HonestLedger):
    """Says that the claim goes on, and lets it end."""

    caught_by = ("Ledger",)

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Only say so."""
        return [True for _ in tokens]


class IgnoresTheGeneration(HonestLedger):
    """Takes a redriven message for the one that died."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """All one."""
        first = [msgspec.structs.replace(one, scope=msgspec.structs.replace(one.scope, generation=0)) for one in batch]
        return await self.inner.claim(first)


class IgnoresThePayload(HonestLedger):
    """Answers with the result of other work under the same key."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Any payload will do."""
        return await self.inner.claim([msgspec.structs.replace(one, digest="any") for one in batch])


class ForgetsHandOffs(HonestLedger):
    """Keeps the result, and not what was to be handed on."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Without them."""
        answers = await self.inner.claim(batch)
        return [Done(one.result) if isinstance(one, Done) else one for one in answers]


class ForgetsNothing(HonestLedger):
    """Keeps a key taken that was to be freed."""

    caught_by = ("Ledger",)

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """No."""


class KeepsCheckpointsOfAnyone(HonestRecords):
    """Lets a stale holder write over the checkpoint."""

    caught_by = ("Records",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Nothing was kept yet."""
        super().__init__(inner, clock)
        self.kept: dict[str, bytes] = {}

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        """By id alone."""
        self.kept[lease.id] = data
        return True

    async def load_checkpoint(self, id: str) -> bytes | None:
        """Whoever wrote it."""
        return self.kept.get(id)


class TakesProgressFromAnyone(HonestRecords):
    """Lets a stale holder say how far it is."""

    caught_by = ("Records",)

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        """Thank you."""
        await self.inner.progress(batch)
        return [True for _ in batch]


class ForgetsCheckpointsOnFailure(HonestRecords):
    """Starts a message from the beginning after each failure."""

    caught_by = ("Records",)

    async def load_checkpoint(self, id: str) -> bytes | None:
        """Not if it failed."""
        record = await self.inner.get(id)
        return None if record is None or record.counters.attempts else await self.inner.load_checkpoint(id)


class ForgetsTheHistoryOnRedrive(HonestRecords):
    """Begins the history anew with each redrive."""

    caught_by = ("DeadLetters",)

    async def get(self, id: str) -> Record | None:
        """From the last redrive."""
        record = await self.inner.get(id)
        if record is None:
            return None
        last = max((place for place, ending in enumerate(record.history) if ending.how == "redriven"), default=0)
        return msgspec.structs.replace(record, history=record.history[last:])


class CallsTheSilentDead(HonestRoster):
    """Takes an owner for dead that was not heard of for five seconds."""

    caught_by = ("Roster",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Nobody was heard yet."""
        super().__init__(inner, clock)
        self.heard: dict[str, float] = {}

    async def join(self, owner: Owner) -> None:
        """Heard."""
        self.heard[owner.id] = self.clock.monotonic()
        await self.inner.join(owner)

    async def beat(self, owner: Owner) -> None:
        """Heard."""
        self.heard[owner.id] = self.clock.monotonic()
        await self.inner.beat(owner)

    async def dead(self) -> list[DeadOwner]:
        """And the silent."""
        now = self.clock.monotonic()
        silent = [one for one in await self.inner.alive() if now - self.heard[one.id] > 5.0]
        return await self.inner.dead() + [DeadOwner(one, "not heard of for 5 s") for one in silent]


class SeesNoDead(HonestRoster):
    """Never proves anything."""

    caught_by = ("Roster",)

    async def dead(self) -> list[DeadOwner]:
        """Everybody may be asleep."""
        return []


class LeaversAreDead(HonestRoster):
    """Does not remember who said goodbye."""

    caught_by = ("Roster",)

    async def dead(self) -> list[DeadOwner]:
        """All alike."""
        return [msgspec.structs.replace(one, left=False) for one in await self.inner.dead()]


class Reorders(HonestJournal):
    """Writes a batch from its end."""

    caught_by = ("Journal",)

    async def append(self, events: Sequence[Event]) -> None:
        """Backwards."""
        await self.inner.append(list(reversed(events)))


class LosesEvents(HonestJournal):
    """Keeps one event of a kind and moment."""

    caught_by = ("Journal",)

    async def append(self, events: Sequence[Event]) -> None:
        """The last one will do."""
        await self.inner.append(list({(one.kind, one.at): one for one in events}.values()))


class ReplaysTooMuch(HonestJournal):
    """Repeats the event from which it was to go on."""

    caught_by = ("Journal",)

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """From there, not after it."""
        return await self.inner.read(max(0, after - 1), limit)


class PrunesEverything(HonestJournal):
    """Forgets all events when it is to forget the old ones."""

    caught_by = ("Journal",)

    async def prune(self, older_than_seconds: float) -> int:
        """All of them."""
        del older_than_seconds
        return await self.inner.prune(-1.0)
