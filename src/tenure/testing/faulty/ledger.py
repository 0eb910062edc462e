"""Ledgers that grant, keep or forget claims in the wrong way."""

from collections.abc import Sequence

import msgspec

from tenure.claim import ClaimAnswer, ClaimRequest, Done, Fresh, Running, Scope, Seal, Token
from tenure.rules.send_id import send_id
from tenure.state import State
from tenure.testing.faulty.honest_state import HonestLedger
from tenure.testing.virtual import VirtualClock


class ForgetsSeals(HonestLedger):
    """Says that it is done, and lets it run again."""

    caught_by = ("Ledger",)

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Release the claims instead of sealing them."""
        return await self.inner.release([one.token for one in batch])


class LetsTwoRun(HonestLedger):
    """Grants a claim that another owner has."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Grant the claim to the last owner that asks."""
        return [await self._claim(one) for one in batch]

    async def _claim(self, request: ClaimRequest) -> ClaimAnswer:
        (answer,) = await self.inner.claim([request])
        if isinstance(answer, Running):
            await self.inner.forget([request.scope])
            (answer,) = await self.inner.claim([request])
        return answer


class NamesTheSendOfTheRunner(HonestLedger):
    """Takes every message under a key for a send of its own, so that each would have its effect."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Answer with the asker's own id instead of the first one's."""
        answers = await self.inner.claim(batch)
        return [_renamed(one, request) for one, request in zip(answers, batch, strict=True)]


def _renamed(answer: ClaimAnswer, request: ClaimRequest) -> ClaimAnswer:
    if not isinstance(answer, Fresh):
        return answer
    own = send_id(request.id, request.sent_at)
    return Fresh(msgspec.structs.replace(answer.token, send_id=own))


class _RememberingLedger(HonestLedger):
    """Base of faults: knows the latest token of each scope."""

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Begin without known tokens."""
        super().__init__(inner, clock)
        self.latest: dict[Scope, Token] = {}

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Claim, and remember the tokens that were granted."""
        answers = await self.inner.claim(batch)
        self.latest |= {one.token.scope: one.token for one in answers if isinstance(one, Fresh)}
        return answers

    def now_valid(self, token: Token) -> Token:
        """Return the token that the ledger would take."""
        return self.latest.get(token.scope, token)


class SealsForAStaleToken(_RememberingLedger):
    """Takes a result from any owner."""

    caught_by = ("Ledger",)

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Seal by scope, whatever the token."""
        return await self.inner.seal([msgspec.structs.replace(one, token=self.now_valid(one.token)) for one in batch])


class RenewsForAnyone(_RememberingLedger):
    """Prolongs another owner's claim."""

    caught_by = ("Ledger",)

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Renew by scope, whatever the token."""
        return await self.inner.renew([self.now_valid(one) for one in tokens])


class ReleasesForAnyone(_RememberingLedger):
    """Ends another owner's claim."""

    caught_by = ("Ledger",)

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Release by scope, whatever the token."""
        return await self.inner.release([self.now_valid(one) for one in tokens])


class NeverTakesOver(_RememberingLedger):
    """Keeps a claim for a holder that never comes back."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Renew all claims first."""
        await self.inner.renew(list(self.latest.values()))
        return await super().claim(batch)


class KeepsTheClaimsOfTheDead(_RememberingLedger):
    """Waits for the end of a claim although its owner is retired."""

    caught_by = ("Ledger", "Retiring")

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Begin without known ends of claims."""
        super().__init__(inner, clock)
        self.until: dict[Scope, float] = {}

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Refuse a claim while another one has not lapsed."""
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
        """Renew, and remember the new end."""
        renewed = await self.inner.renew(tokens)
        now = self.clock.monotonic()
        self.until |= {one.scope: now + one.seconds for one, done in zip(tokens, renewed, strict=True) if done}
        return renewed

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Release, and forget the end."""
        released = await self.inner.release(tokens)
        self._end([one.scope for one, done in zip(tokens, released, strict=True) if done])
        return released

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Seal, and forget the end."""
        sealed = await self.inner.seal(batch)
        self._end([one.token.scope for one, done in zip(batch, sealed, strict=True) if done])
        return sealed

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Forget the scopes and their ends."""
        await self.inner.forget(scopes)
        self._end(scopes)

    def _end(self, scopes: Sequence[Scope]) -> None:
        for scope in scopes:
            self.until.pop(scope, None)


class ClaimFenceStandsStill(HonestLedger):
    """Gives each claim of a scope the same fence."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Grant every claim with fence 1."""
        answers = await self.inner.claim(batch)
        return [
            Fresh(msgspec.structs.replace(one.token, fence=1)) if isinstance(one, Fresh) else one for one in answers
        ]


class DoneForAnHour(HonestLedger):
    """Forgets what is done after an hour."""

    caught_by = ("Ledger",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Begin without times of seals."""
        super().__init__(inner, clock)
        self.done: dict[Scope, float] = {}

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Seal, and remember when."""
        self.done |= {one.token.scope: self.clock.monotonic() for one in batch}
        return await self.inner.seal(batch)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Forget old seals first."""
        limit = self.clock.monotonic() - 3600.0
        await self.inner.forget([scope for scope, at in self.done.items() if at < limit])
        return await self.inner.claim(batch)


class RenewDoesNothing(HonestLedger):
    """Says that the claim goes on, and lets it end."""

    caught_by = ("Ledger",)

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Answer that the claims go on, and renew nothing."""
        return [True for _ in tokens]


class IgnoresTheGeneration(HonestLedger):
    """Takes a redriven message for the one that died."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Claim every generation as the first."""
        first = [msgspec.structs.replace(one, scope=msgspec.structs.replace(one.scope, generation=0)) for one in batch]
        return await self.inner.claim(first)


class IgnoresThePayload(HonestLedger):
    """Answers with the result of other work under the same key."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Claim with one digest for every payload."""
        return await self.inner.claim([msgspec.structs.replace(one, digest="any") for one in batch])


class ForgetsHandOffs(HonestLedger):
    """Keeps the result, and not what was to be handed on."""

    caught_by = ("Ledger",)

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Answer without the hand-offs."""
        answers = await self.inner.claim(batch)
        return [Done(one.result) if isinstance(one, Done) else one for one in answers]


class ForgetsNothing(HonestLedger):
    """Keeps a key taken that was to be freed."""

    caught_by = ("Ledger",)

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Forget nothing."""
