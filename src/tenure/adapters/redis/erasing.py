"""Erasing: removes what is kept of messages of one queue that have ended, and blanks the events of a queue.

All keys of a queue begin with its prefix, so they are found by `SCAN`, a piece of the server's keys in each step, and
what may go is decided by a script (`lua/erase.lua`).

Entries of a stream cannot be changed, so the journal is written again under the same numbers, and the copy takes its
place in the step that copies the last pages. Until then readers have the old one. An interrupted copy is begun anew.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tenure.adapters.redis import foreign_keys
from tenure.adapters.redis.script import ERASE, REPLACE_JOURNAL
from tenure.adapters.redis.store import RedisStore
from tenure.broker import Erased
from tenure.event import Event
from tenure.rules.erasing import erased, must_be_erased

#: What a pattern of Redis means something else by.
_ESCAPED = re.compile(r"[\\*?\[\]]")
#: Keys that the server looks at in one step; and pages that are copied in one.
_KEYS, _PAGES = 1_000, 100
#: A page of the journal: c, count, n, newest, o, oldest, j, events (`lua/journal.lua`).
_FIELDS = 8

_encode = msgspec.json.Encoder().encode
_page = msgspec.json.Decoder(list[Event])


async def erase(store: RedisStore, queue: str, after: str) -> Erased:
    """Do one step from `after` on, a cursor of the server."""
    prefix = store.names.queue(queue)
    pattern = _ESCAPED.sub(r"\\\g<0>", prefix) + "*"
    scan = ("SCAN", after or "0", "MATCH", pattern, "COUNT", _KEYS)
    ((told, keys),) = await store.commands_at(prefix, [scan])
    count = int(await store.run(ERASE, [queue], *keys)) if keys else 0
    cursor = bytes(told).decode() if isinstance(told, bytes) else str(told)
    return Erased(count, None if cursor == "0" else cursor)


async def erase_events(store: RedisStore, queue: str, after: str) -> Erased:
    """Copy pages behind the place `after` without what they say of the queue; the last step puts the copy in place."""
    journal = f"{store.names.common}journal"
    copy = f"{journal}:copy"
    place = after
    if not after:
        await store.command("DEL", copy)
        place = "0"
    pages: Sequence[Any] = await store.command("XRANGE", journal, f"({place}-0", "+", "COUNT", _PAGES)
    blanked = 0
    commands: list[tuple[Any, ...]] = []
    for id, fields in pages:
        values = list(fields)
        if len(values) == _FIELDS and values[0] == b"c" and values[6] == b"j":
            values[7], count = _blanked(values[7], queue)
            blanked += count
        commands.append(("XADD", copy, id, *values))
        place = bytes(id).partition(b"-")[0].decode()
    if commands:
        await store.commands_at(journal, commands)
    if len(pages) == _PAGES:
        return Erased(blanked, place)
    # Pages that were appended since are copied as they are, in one step with the change; the next call finds them.
    await store.run(REPLACE_JOURNAL, (), place)
    return Erased(blanked, None)


def _blanked(raw: bytes, queue: str) -> tuple[bytes, int]:
    """A page without what it says of a queue, and of how many events that was."""
    if _encode(queue)[1:-1] not in bytes(raw):
        return raw, 0
    events = foreign_keys.read(_page, raw, "journal")
    if events is None:
        return raw, 0
    count = sum(must_be_erased(event, queue) for event in events)
    return _encode([erased(event) if must_be_erased(event, queue) else event for event in events]), count
