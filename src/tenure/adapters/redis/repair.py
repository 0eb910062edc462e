"""Healing: what people, or another program, did to our keys by hand is put right, a part of each queue with each sweep.

A message that is neither waiting nor leased nor finished would stay there for ever; it waits again. One that cannot
be read goes to the dead letters with its raw bytes, and entries without a message are dropped. Each is one line in
the log. Used by `returning.py`.
"""

import logging
from collections.abc import Sequence

from tenure.adapters.redis.foreign_keys import sound, text_of
from tenure.adapters.redis.script import HEAL
from tenure.adapters.redis.store import RedisStore
from tenure.envelope import log_fields

logger = logging.getLogger("tenure.redis")

#: Messages that are looked at in one step. All of a large queue take a while, and no step holds the server up.
_PIECE = 100
_WHAT = {
    1: "message %s of queue %s was neither waiting nor leased; it waits again",
    2: "%s in queue %s cannot be read; it was moved to the dead letters",
    3: "%s in queue %s belongs to no message, and was dropped",
    4: "message %s of queue %s was to wait for more than ten years, and is due now",
}


async def heal(store: RedisStore, queues: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The ids of those that wait again, and of those that are dead now; each with its queue."""
    moved: dict[int, dict[str, str]] = {kind: {} for kind in _WHAT}
    answers = await store.run_each([store.call(HEAL, [queue], (_PIECE,)) for queue in queues])
    for queue, answer in zip(queues, answers, strict=True):
        if not sound(queue, answer):
            continue
        for kind, raw in zip(answer[::2], answer[1::2], strict=True):
            id = text_of(raw)
            logger.warning(_WHAT[kind], id, queue, extra=log_fields(id))
            moved[kind][id] = queue
    return moved[1], moved[2]
