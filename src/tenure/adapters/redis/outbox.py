"""The outbox: hand-offs to queues in another slot of a cluster, kept with the ack until they are sent.

An ack writes them beside the message, in the same step; then they are sent, which is idempotent by id, and only then
removed. So a crash anywhere loses nothing, and makes no second copy: the next sweep sends what was left. Used by
`settling.py` and `returning.py`.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from tenure import envelope
from tenure.adapters.redis import foreign_keys, together
from tenure.adapters.redis.script import ASIDE, SEND
from tenure.adapters.redis.sending import entry_of
from tenure.adapters.redis.store import RedisStore
from tenure.message import Outgoing
from tenure.rules.rejections import of_size
from tenure.settlement import Ack

_handoffs = msgspec.json.Decoder(list[Outgoing])


class HandOffOutbox:
    """Requests that are still to be sent."""

    def __init__(self, store: RedisStore, body_limit: int) -> None:
        """Take the store and the limit of a body."""
        self._store = store
        self._body_limit = body_limit

    async def empty(self, acks: Sequence[Ack]) -> None:
        """Send what these acks left, also if they were said before."""
        by_queue: dict[str, list[str]] = {}
        for entry in acks:
            by_queue.setdefault(entry.lease.queue, []).append(entry.lease.id)
        for queue, ids in by_queue.items():
            key = self._key(queue)
            for id, raw in zip(ids, await self._store.command_at(key, "HMGET", key, *ids), strict=True):
                if raw is not None:
                    await self._send(queue, id, raw)

    async def empty_all(self, queue: str) -> None:
        """Send what a crash left."""
        key = self._key(queue)
        left = await self._store.command_at(key, "HGETALL", key)
        for id, raw in zip(left[::2], left[1::2], strict=True):
            await self._send(queue, id, raw)

    async def _send(self, queue: str, id: str | bytes, raw: bytes) -> None:
        store, by_queue = self._store, dict[str, list[Outgoing]]()
        given = foreign_keys.read(_handoffs, raw, f"the outbox of {queue}")
        if given is None:
            name = hashlib.sha1(raw).hexdigest()  # noqa: S324 - only a name
            await store.run(ASIDE, [queue], id, f"malformed-outbox-{name}")
            return
        for handoff in given:
            by_queue.setdefault(handoff.message.queue, []).append(handoff)
        await store.make_known(by_queue)
        await store.make_announcing(handoff.message for handoff in given)
        calls = []
        for target, handoffs in by_queue.items():
            values: list[Any] = []
            for handoff in handoffs:
                body = envelope.encode(handoff.message)
                refusal = of_size(handoff.message, len(body), self._body_limit)
                values += entry_of(handoff, body, store.clock.wall(), refusal)
            calls.append(
                together.call(store, SEND, ("lenient",), [together.CommandPart(target, [len(handoffs), *values])])
            )
        await store.run_all(calls, keeps=True)
        await store.hint(by_queue)
        await store.command_at(self._key(queue), "HDEL", self._key(queue), id)

    def _key(self, queue: str) -> str:
        return f"{self._store.names.queue(queue)}outbox"
