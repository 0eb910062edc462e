"""The ledger: who may run a keyed message, and what is done.

Each scope is one hash: `sent` (not running), `running` until a moment, or `done`. Owner and fence of the last claim
stay on it, so that a call whose answer was lost can be repeated. It is in the slot of its queue, so an ack finishes
the message and its key at once (`lua/move.lua`). A claim whose owner is banned counts as free.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from tenure.adapters.redis.asking import request_text
from tenure.adapters.redis.naming import scope_text
from tenure.adapters.redis.script import LEDGER
from tenure.adapters.redis.store import RedisStore, micros
from tenure.claim import ClaimAnswer, ClaimRequest, Conflict, Done, Fresh, Running, Scope, Seal, Token
from tenure.message import Outgoing
from tenure.owner import retired

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
_handoffs = msgspec.json.Decoder(tuple[Outgoing, ...])


class RedisLedger:
    """Claims and done-records in the store."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store."""
        self._store = store

    async def claim(self, batch: Sequence[ClaimRequest]) -> list[ClaimAnswer]:
        """Claim scopes for their owners."""

        def asked(one: ClaimRequest) -> tuple[Any, ...]:
            asked = request_text(one.announce, one.scope.generation)
            return (scope_text(one.scope), one.id, one.owner, micros(one.seconds), one.digest, asked)

        await self._store.make_announcing_in(one.scope.queue for one in batch if one.announce)

        answers = await self._each("claim", batch, lambda one: one.scope, asked)
        return [_read(request, answer) for request, answer in zip(batch, answers, strict=True)]

    async def renew(self, tokens: Sequence[Token]) -> list[bool]:
        """Move the end of each claim to now + its seconds."""
        answers = await self._each(
            "renew", tokens, lambda token: token.scope, lambda token: (*_matched(token), micros(token.seconds))
        )
        return [bool(answer) for answer in answers]

    async def release(self, tokens: Sequence[Token]) -> list[bool]:
        """Release claims, so that others can claim."""
        answers = await self._each("release", tokens, lambda token: token.scope, _matched)
        return [bool(answer) for answer in answers]

    async def seal(self, batch: Sequence[Seal]) -> list[bool]:
        """Done, with everything that must be remembered with it."""

        def said(seal: Seal) -> tuple[Any, ...]:
            asked = request_text(seal.announce, seal.token.scope.generation)
            return (*_matched(seal.token), seal.result, _encode(seal.handoffs) if seal.handoffs else "", asked)

        await self._store.make_announcing_in(seal.token.scope.queue for seal in batch if seal.announce)
        answers = await self._each("seal", batch, lambda seal: seal.token.scope, said)
        return [bool(answer) for answer in answers]

    async def forget(self, scopes: Sequence[Scope]) -> None:
        """Remove the rows of scopes, so that their keys are free."""
        by_queue: dict[str, list[str]] = {}
        for scope in scopes:
            by_queue.setdefault(scope.queue, []).append(scope_text(scope))
        store = self._store
        await store.run_all([store.call(LEDGER, [queue], ["forget", *own]) for queue, own in by_queue.items()])

    async def _each(
        self, word: str, batch: Sequence[T], scope: Callable[[T], Scope], values: Callable[[T], tuple[Any, ...]]
    ) -> list[Any]:
        by_queue: dict[str, list[int]] = {}
        for place, one in enumerate(batch):
            by_queue.setdefault(scope(one).queue, []).append(place)
        store = self._store
        if word == "claim" and by_queue:
            await store.make_known(by_queue)
            for owner in {_owner(one) for one in batch} if store.link.is_cluster else ():
                await store.refuse_banned(owner)
        calls = []
        for queue, places in by_queue.items():
            arguments = [value for place in places for value in values(batch[place])]
            calls.append(store.call(LEDGER, [queue], [word, *arguments]))
        answers: list[Any] = [None] * len(batch)
        for places, told in zip(by_queue.values(), await store.run_all(calls, keeps=word == "seal"), strict=True):
            if told == -1:
                raise retired(_owner(batch[places[0]]))
            for place, answer in zip(places, told, strict=True):
                answers[place] = answer
        return answers


def _owner(one: Any) -> str:
    owner: str = one.owner
    return owner


def _matched(token: Token) -> tuple[Any, ...]:
    return (scope_text(token.scope), token.owner, token.fence, token.id)


def _read(request: ClaimRequest, answer: list[bytes]) -> ClaimAnswer:
    match answer:
        case [b"f", fence]:
            return Fresh(Token(request.scope, request.id, request.owner, int(fence), request.seconds))
        case [b"r", owner, left]:
            return Running(owner.decode(), int(left) / 1e6)
        case [b"d", result, handoffs]:
            return Done(result, _handoffs.decode(handoffs) if handoffs else ())
        case _:
            return Conflict(answer[1].decode())
