"""Operating: messages are taken out or sent back on purpose. Delete, cancel, redrive.

An id does not tell its queue. One that is named is asked first; then all are asked which of them know what is left.
Each acts on what it has, in one step for all its messages.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from tenure import envelope
from tenure.adapters.redis.finding import find_near, locate
from tenure.adapters.redis.naming import scope_text
from tenure.adapters.redis.script import CANCEL, REDRIVE
from tenure.adapters.redis.store import Store
from tenure.claim import Scope, digest
from tenure.errors import BodyUndecodable
from tenure.message import Message, MessageState


async def delete(store: Store, ids: Sequence[str], queue: str | None = None) -> list[str]:
    """Remove what is ready, delayed or dead. The ids that were removed, each once."""
    met = await _take_out(store, "delete", ids, queue)
    return [id for id in dict.fromkeys(ids) if id in met]


async def cancel(store: Store, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
    """Take out what is ready, delayed or leased. In which state each was; an id said again is gone already."""
    met = await _take_out(store, "cancel", ids, queue)
    return [met.pop(id, None) for id in ids]


async def _take_out(store: Store, verb: str, ids: Sequence[str], queue: str | None) -> dict[str, MessageState]:
    once = list(dict.fromkeys(ids))
    if not once:
        return {}
    if queue is not None:
        met = await _take_out_of(store, verb, once, [queue])
        once = [id for id in once if id not in met]
        return met | await _take_out(store, verb, once, None)
    return await _take_out_of(store, verb, once, await locate(store, once))


async def _take_out_of(store: Store, verb: str, once: list[str], queues: list[str]) -> dict[str, MessageState]:
    answers = await store.run_all([store.call(CANCEL, [queue], [verb, *once]) for queue in queues])
    return {
        id: MessageState(state.decode())
        for reply in answers
        for id, state in zip(once, reply, strict=True)
        if state
    }  # fmt: skip


async def redrive(store: Store, ids: Sequence[str], queue: str | None = None) -> list[str]:
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


def _arguments(id: str, raw: bytes) -> tuple[str | bytes, ...]:
    sha = hashlib.sha1(raw).hexdigest()  # noqa: S324 - only tells whether it is still the same
    message = _next_generation(raw)
    if message is None:
        return (id, sha, raw, "", "")
    keyed = message.key is not None
    scope, payload = (scope_text(Scope.of(message)), digest(message)) if keyed else ("", "")
    return (id, sha, envelope.encode(message), scope, payload)


def _next_generation(raw: bytes) -> Message | None:
    """The message as it goes out again. None: it cannot be read, and is moved as it is; a newer worker may know it."""
    try:
        message = envelope.decode(raw)
    except BodyUndecodable:
        return None
    return msgspec.structs.replace(message, generation=message.generation + 1)
