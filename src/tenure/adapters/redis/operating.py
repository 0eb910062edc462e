"""Operating: messages are taken out, sent back or made ready on purpose. Delete, cancel, redrive, promote.

An id does not name its queue. A named one is asked first; then all are asked which of them know what is left.
Each acts on what it has, in one step for all its messages.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from tenure import envelope
from tenure.adapters.redis.lookup import find_near, locate
from tenure.adapters.redis.naming import scope_text
from tenure.adapters.redis.script import CANCEL, PROMOTE, REDRIVE
from tenure.adapters.redis.store import RedisStore
from tenure.broker import Promoted
from tenure.claim import Scope, digest
from tenure.errors import BodyUndecodable
from tenure.message import Message, MessageState
from tenure.rules.promoted import met_in_turn


async def delete(store: RedisStore, ids: Sequence[str], queue: str | None = None) -> list[str]:
    """Remove what is ready, delayed or dead. The ids that were removed, each once."""
    met = await _take_out(store, "delete", ids, queue)
    return [id for id in dict.fromkeys(ids) if id in met]


async def cancel(store: RedisStore, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
    """Take out what is ready, delayed or leased. In which state each was; an id said again is gone already."""
    met = await _take_out(store, "cancel", ids, queue)
    return [met.pop(id, None) for id in ids]


async def _take_out(store: RedisStore, verb: str, ids: Sequence[str], queue: str | None) -> dict[str, MessageState]:
    once = list(dict.fromkeys(ids))
    if not once:
        return {}
    if queue is not None:
        met = await _take_out_of(store, verb, once, [queue])
        once = [id for id in once if id not in met]
        return met | await _take_out(store, verb, once, None)
    return await _take_out_of(store, verb, once, await locate(store, once))


async def _take_out_of(store: RedisStore, verb: str, once: list[str], queues: list[str]) -> dict[str, MessageState]:
    answers = await store.run_all([store.call(CANCEL, [queue], [verb, *once]) for queue in queues])
    return {
        id: MessageState(state.decode()) for reply in answers for id, state in zip(once, reply, strict=True) if state
    }


async def redrive(store: RedisStore, ids: Sequence[str], queue: str | None = None) -> list[str]:
    """Ready again, in the next generation. The ids that were moved, each once."""
    found = await find_near(store, list(dict.fromkeys(ids)), queue)
    by_queue: dict[str, list[tuple[str, bytes]]] = {}
    for id, one in found.items():
        if one.state is MessageState.DEAD:
            by_queue.setdefault(one.queue, []).append((id, one.envelope or b""))
    calls = []
    for own, dead in by_queue.items():
        arguments = [value for id, raw in dead for value in _arguments(id, raw)]
        calls.append(store.call(REDRIVE, [own], arguments))
    moved = {
        id
        for dead, answers in zip(by_queue.values(), await store.run_all(calls), strict=True)
        for (id, _), answer in zip(dead, answers, strict=True)
        if answer
    }
    await store.hint({found[id].queue for id in moved})
    return [id for id in dict.fromkeys(ids) if id in moved]


def _arguments(id: str, raw: bytes) -> tuple[str | bytes | int, ...]:
    sha = hashlib.sha1(raw).hexdigest()  # noqa: S324 - only shows whether it is still the same
    message = _next_generation(raw)
    if message is None:
        return (id, sha, raw, "", "", "")
    keyed = message.key is not None
    scope, payload = (scope_text(Scope.of(message)), digest(message)) if keyed else ("", "")
    return (id, sha, envelope.encode(message), scope, payload, message.generation)


def _next_generation(raw: bytes) -> Message | None:
    """The message as it goes out again. None: it cannot be read, and is moved as it is; a newer worker may know it."""
    try:
        message = envelope.decode(raw)
    except BodyUndecodable:
        return None
    return msgspec.structs.replace(message, generation=message.generation + 1)


async def promote(store: RedisStore, ids: Sequence[str], queue: str | None = None) -> list[Promoted]:
    """Make these ready if they are delayed. In which state each was; an id said again is ready by then."""
    met = await _promote(store, list(dict.fromkeys(ids)), queue)
    return [*map(Promoted, met_in_turn(ids, met))]


async def _promote(store: RedisStore, once: list[str], queue: str | None) -> dict[str, MessageState]:
    if not once:
        return {}
    if queue is not None:
        met = await _promote_in(store, once, [queue])
        return met | await _promote(store, [id for id in once if id not in met], None)
    return await _promote_in(store, once, await locate(store, once))


async def _promote_in(store: RedisStore, once: list[str], queues: list[str]) -> dict[str, MessageState]:
    answers = await store.run_all([store.call(PROMOTE, [queue], once) for queue in queues])
    met = {
        queue: {id: MessageState(state.decode()) for id, state in zip(once, reply, strict=True) if state}
        for queue, reply in zip(queues, answers, strict=True)
    }
    await store.hint({queue for queue, states in met.items() if MessageState.DELAYED in states.values()})
    return {id: state for states in met.values() for id, state in states.items()}
