"""The ledger: claims and done-records.

The claim on a message without a key is in the message's entry, where the lease put it; that of a key has a row of its
own. Everything after `claim` is compared with the token. What was just leased here needs no second asking: the lease
is the claim, and `ProcessMemory` knows it.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from tenure.claim import ClaimAnswer, ClaimRequest, Conflict, Done, Fresh, Running, Scope, Seal, Token
from tenure.message import MessageState, Outgoing
from tenure.owner import retired
from tenure.rowstore import announcing, large_values
from tenure.rowstore.entry import DONE, GONE, RUNNING, SENT, Claim, Entry, LargeValue
from tenure.rowstore.process_memory import ProcessMemory
from tenure.rowstore.receipts import receipt_of
from tenure.rowstore.roster import RowStoreRoster
from tenure.rowstore.row_changes import CLAIM, ENTRY, NEVER, OWN, Change, RowChanges, claim_place, entry_place, is_own
from tenure.rules.send_id import send_id
from tenure.table import RowKey

T = TypeVar("T")


class _Large(msgspec.Struct):
    """What a seal leaves behind."""

    result: bytes
    handoffs: tuple[Outgoing, ...]


class _Elsewhere(msgspec.Struct):
    """Done, and what it left behind must still be read."""

    bulk: LargeValue


_Decided = ClaimAnswer | _Elsewhere
_large = msgspec.json.Decoder(_Large)


async def left_behind(changes: RowChanges, part: str, claim: LargeValue) -> Done:
    """What a large seal left behind."""
    raw = await large_values.load(changes, part, claim)
    if raw is None:  # forgotten by now, as the claim will be
        return Done(b"null", ())
    large = _large.decode(raw)
    return Done(large.result, large.handoffs)


def left_by(result: bytes, handoffs: tuple[Outgoing, ...]) -> bytes | None:
    """What a seal leaves behind, to be kept beside its claim. None: it is small, and stays in the claim."""
    if not handoffs and len(result) <= large_values.INLINE:
        return None
    data = msgspec.json.encode(_Large(result, handoffs))
    return None if len(data) <= large_values.INLINE else data


class RowStoreLedger:
    """Who may run what, and what is done."""

    def __init__(self, changes: RowChanges, roster: RowStoreRoster, memory: ProcessMemory) -> None:
        """Stand on the same table as the roster."""
        self._rows = changes
        self._roster = roster
        self._memory = memory

    # -- claim ---------------------------------------------------------------------------------------

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        await announcing.learn(self._rows, {one.id: one.announce for one in batch if one.announce is not None})
        answers: dict[int, ClaimAnswer] = {}
        for number, request in enumerate(batch):
            fence = self._memory.take_claim(request) if is_own(request.scope) else None
            if fence is not None:
                answers[number] = Fresh(_token(request, fence))
        asked = [number for number in range(len(batch)) if number not in answers]
        if asked:
            said = await self._ask([batch[number] for number in asked])
            answers |= dict(zip(asked, said, strict=True))
        return [answers[number] for number in range(len(batch))]

    async def _ask(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        fresh = await self._insert(batch)
        rest = [number for number in range(len(batch)) if number not in fresh]
        said = dict(zip(rest, await self._ask_again([batch[number] for number in rest]), strict=True)) if rest else {}
        return [(fresh | said)[number] for number in range(len(batch))]

    async def _insert(self, batch: Sequence[ClaimRequest]) -> dict[int, ClaimAnswer]:
        """Claim keys that nobody claimed before, without looking: where each look at a row is a request of its own."""
        asked = [number for number, one in enumerate(batch) if not is_own(one.scope)]
        if not asked or not self._rows.table_has_etags:
            return {}
        _refuse(await self._roster.banned({batch[number].owner for number in asked}), batch)

        def decide(at: int, claim: Claim | None) -> Change[_Decided | None]:
            if claim is not None:
                return Change(None)
            made = self._claim_key(batch[asked[at]], None, frozenset())
            return Change(made.answer, made.to, forget_at=made.forget_at)

        said = await self._rows.change(
            CLAIM, [claim_place(batch[number].scope) for number in asked], decide, are_new=True
        )
        return {number: answer for number, answer in zip(asked, said, strict=True) if isinstance(answer, Fresh)}

    async def _ask_again(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        claims = await self._known(batch)
        owners = {request.owner for request in batch} | {claim.owner for claim in claims if claim is not None}
        banned = await self._roster.banned(owners - {""})
        _refuse(banned, batch)
        answers: dict[int, _Decided] = {}
        own = [number for number, request in enumerate(batch) if is_own(request.scope)]
        others = [number for number, request in enumerate(batch) if not is_own(request.scope)]
        if own:
            places = [entry_place(batch[number].scope.key.removeprefix(OWN)) for number in own]
            said = await self._rows.change(
                ENTRY, places, lambda at, entry: self._claim_entry(batch[own[at]], entry, banned)
            )
            answers |= dict(zip(own, said, strict=True))
        if others:
            places = [claim_place(batch[number].scope) for number in others]
            said = await self._rows.change(
                CLAIM, places, lambda at, claim: self._claim_key(batch[others[at]], claim, banned)
            )
            answers |= dict(zip(others, said, strict=True))
        return [await self._read(batch[number].scope, answers[number]) for number in range(len(batch))]

    async def _read(self, scope: Scope, answer: _Decided) -> ClaimAnswer:
        return await left_behind(self._rows, part_of(scope), answer.bulk) if isinstance(answer, _Elsewhere) else answer

    async def _known(self, batch: Sequence[ClaimRequest]) -> list[Claim | None]:
        own = [entry_place(one.scope.key.removeprefix(OWN)) for one in batch if is_own(one.scope)]
        keys = [claim_place(one.scope) for one in batch if not is_own(one.scope)]
        entries = await self._rows.get(ENTRY, own)
        return [None if entry is None else entry.claim for entry in entries] + await self._rows.get(CLAIM, keys)

    def _claim_entry(self, request: ClaimRequest, entry: Entry | None, banned: frozenset[str]) -> Change[_Decided]:
        scope = request.scope
        if entry is None:
            entry = Entry(queue=scope.queue, task=scope.task, generation=scope.generation)
        if entry.state == MessageState.CANCELLED:
            # Cancelled since it was lent: told as if it had claimed a moment before, and its claim had ended.
            return Change(Fresh(_token(request, self._rows.next_fence(entry.highest))))
        if scope.generation < entry.generation:
            return Change(Running(entry.owner or "", 0.0))
        if scope.generation > entry.generation:
            entry.generation, entry.claim = scope.generation, None
        claim = entry.claim or Claim(request.id, request.digest)
        claim.id, claim.top = claim.id or request.id, entry.highest
        answer = self._decide(request, claim, banned)
        if not isinstance(answer, Fresh):
            return Change(answer)
        entry.claim, entry.top = claim, claim.top
        claim.top = 0
        return Change(answer, entry)

    def _claim_key(self, request: ClaimRequest, claim: Claim | None, banned: frozenset[str]) -> Change[_Decided]:
        # A row that was there will be forgotten as of its first claim; what is done under this one counts from now.
        forget_at = None if claim is None else self._rows.kept_after_the_queue()
        if claim is None or claim.state == GONE:
            top, announced = (0, {}) if claim is None else (claim.top, claim.announced)
            claim = Claim(request.id, request.digest, request.sent_at, top=top, announced=announced)
        if not claim.digest:  # its message was cancelled: the next to claim is the first of a new life of the key
            claim.id, claim.sent_at = request.id, request.sent_at
        answer = self._decide(request, claim, banned)
        if not isinstance(answer, Fresh):
            return Change(answer)
        return Change(answer, claim, forget_at=forget_at)

    def _decide(self, request: ClaimRequest, claim: Claim, banned: frozenset[str]) -> _Decided:
        if claim.digest and claim.digest != request.digest:
            return Conflict(claim.id)
        if claim.state == DONE:
            return Done(claim.result, claim.handoffs) if claim.bulk is None else _Elsewhere(claim.bulk)
        if claim.state == RUNNING and claim.until >= self._rows.earliest() and claim.owner not in banned:
            return Running(claim.owner, claim.until - self._rows.now())
        claim.top = self._rows.next_fence(claim.top)
        claim.state, claim.owner, claim.runner = RUNNING, request.owner, request.id
        claim.fence, claim.digest = claim.top, request.digest
        claim.until = self._rows.latest() + request.seconds
        return Fresh(_token(request, claim.fence, send_id(claim.id, claim.sent_at)))

    # -- what the holder says ------------------------------------------------------------------------

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        banned = await self._banned(tokens)

        def decide(number: int, claim: Claim | None, entry: Entry | None) -> Change[bool]:
            token = tokens[number]
            if claim is None or token.owner in banned or not claim.is_run_under(token.owner, token.fence):
                return Change(answer=False)
            claim.until = self._rows.latest() + token.seconds
            if entry is not None and (entry.owner, entry.state) == (token.owner, MessageState.LEASED):
                # Lease and claim are one: whoever looks at either must see the same end.
                until = claim.until if not entry.hold_until else min(claim.until, entry.hold_until)
                entry.deadline, entry.graced = max(entry.deadline, until), 0
                entry.beat(self._rows.now(), with_claim=True)
                entry.size, entry.predicted = self._memory.told(token.id, token.owner) or (entry.size, entry.predicted)
            return Change(answer=True, to=entry or claim)

        return await self._each([token.scope for token in tokens], decide)

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        banned = await self._banned(tokens)

        def decide(number: int, claim: Claim | None, entry: Entry | None) -> Change[bool]:
            token = tokens[number]
            if token.owner in banned or (entry is not None and entry.state == MessageState.CANCELLED):
                return Change(answer=False)
            if claim is None or not claim.is_run_under(token.owner, token.fence):
                # Repeated after a lost reply: still free, and nobody claimed in between.
                is_free = claim is None or (claim.state == SENT and claim.fence in (0, token.fence))
                return Change(is_free)
            claim.release()
            return Change(answer=True, to=entry or claim)

        answers = await self._each([token.scope for token in tokens], decide)
        self._lose([token for token, ok in zip(tokens, answers, strict=True) if not ok])
        return answers

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        banned = await self._banned([seal.token for seal in batch])
        large = {number: await self._keep(seal) for number, seal in enumerate(batch) if _is_large(seal)}
        intents = await announcing.SealIntents.write(self._rows, batch)
        is_new: set[int] = set()

        def decide(number: int, claim: Claim | None, entry: Entry | None) -> Change[bool]:
            seal = batch[number]
            intents.unmark(number)
            is_new.discard(number)
            token = seal.token
            if claim is None or token.owner in banned:
                return Change(answer=False)
            if not claim.is_run_under(token.owner, token.fence):
                return Change(claim.state == DONE and claim.fence == token.fence)
            claim.state, claim.bulk = DONE, large.get(number)
            claim.result, claim.handoffs = (b"", ()) if claim.bulk else (seal.result, seal.handoffs)
            claim.finished_at, claim.owner, claim.runner, claim.until = self._rows.clock.wall(), "", "", 0.0
            if entry is not None:
                if entry.receipt:  # where another process has hidden the copy, only the row knows it
                    receipt = receipt_of(entry.level, entry.receipt)
                    self._memory.learn(token.id, token.owner, entry.fence, receipt)
                entry.progress, entry.task = None, entry.task or token.scope.task
            is_new.add(number)
            intents.mark(number, claim, entry)
            # Kept until it was announced; an entry knows by itself whether its message asked.
            forget_at = NEVER if seal.announce is not None and entry is None else None
            return Change(answer=True, to=entry or claim, forget_at=forget_at)

        answers = await self._each([seal.token.scope for seal in batch], decide)
        await intents.clean_up()
        for number, kept in large.items():
            if batch[number].announce is not None and number not in is_new:
                await large_values.drop(self._rows, part_of(batch[number].token.scope), kept)
        for seal, ok in zip(batch, answers, strict=True):
            if ok and is_own(seal.token.scope):
                self._memory.seal(seal.token.id, seal.token.owner)
        self._lose([seal.token for seal, ok in zip(batch, answers, strict=True) if not ok])
        return answers

    def _lose(self, tokens: Sequence[Token]) -> None:
        """Who is told that a run is not theirs any more settles nothing."""
        for token in tokens:
            self._memory.lose_run(token.id, token.owner)

    async def _keep(self, seal: Seal) -> LargeValue:
        data = msgspec.json.encode(_Large(seal.result, seal.handoffs))
        forget_at = None if seal.announce is None else NEVER
        return await large_values.keep(self._rows, part_of(seal.token.scope), data, forget_at=forget_at)

    async def forget(self, scopes: Sequence[Scope]) -> None:
        def decide(_number: int, claim: Claim | None, entry: Entry | None) -> Change[None]:
            if claim is None:
                return Change(None)
            if entry is not None:
                entry.claim = None
                return Change(None, entry)
            # A stone in its place: the fence must go on rising.
            return Change(None, Claim("", state=GONE, top=claim.top, announced=claim.announced))

        await self._each(scopes, decide)

    # -- both kinds of rows --------------------------------------------------------------------------

    async def _banned(self, tokens: Sequence[Token]) -> frozenset[str]:
        """Whose words are not heard. A lease that was returned needs no such asking: its entry tells."""
        owners = {one.owner for one in tokens if not (is_own(one.scope) and self._memory.knows(one.id, one.owner))}
        return await self._roster.banned(owners)

    async def _each(
        self, scopes: Sequence[Scope], decide: Callable[[int, Claim | None, Entry | None], Change[T]]
    ) -> list[T]:
        """Decide about the claim of each scope; `decide` gets the entry too where the claim is in one."""
        own = [number for number, scope in enumerate(scopes) if is_own(scope)]
        others = [number for number, scope in enumerate(scopes) if not is_own(scope)]
        answers: dict[int, T] = {}

        def of_entry(at: int, entry: Entry | None) -> Change[T]:
            number = own[at]
            if entry is None or entry.generation != scopes[number].generation:
                return decide(number, None, None)
            return decide(number, entry.claim, entry)

        def of_key(at: int, claim: Claim | None) -> Change[T]:
            return decide(others[at], None if claim is not None and claim.state == GONE else claim, None)

        if own:
            places: list[RowKey] = [entry_place(scopes[number].key.removeprefix(OWN)) for number in own]
            answers |= dict(zip(own, await self._rows.change(ENTRY, places, of_entry), strict=True))
        if others:
            places = [claim_place(scopes[number]) for number in others]
            answers |= dict(zip(others, await self._rows.change(CLAIM, places, of_key), strict=True))
        return [answers[number] for number in range(len(scopes))]


def _refuse(banned: frozenset[str], batch: Sequence[ClaimRequest]) -> None:
    """Raise for an owner that was declared dead: others run its messages."""
    for request in batch:
        if request.owner in banned:
            raise retired(request.owner)


def part_of(scope: Scope) -> str:
    """Where the row is that has its claim."""
    return (entry_place(scope.key.removeprefix(OWN)) if is_own(scope) else claim_place(scope)).part


def _is_large(seal: Seal) -> bool:
    return left_by(seal.result, seal.handoffs) is not None


def _token(request: ClaimRequest, fence: int, first: str = "") -> Token:
    return Token(request.scope, request.id, request.owner, fence, request.seconds, first)
