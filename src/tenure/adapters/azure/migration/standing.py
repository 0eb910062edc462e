"""What must end before anything is carried: messages that wait or run, endings that are to be announced, workers."""

from tenure.adapters.azure.migration import layout
from tenure.adapters.azure.migration.earlier import EarlierTables
from tenure.message import MessageState
from tenure.migration import Unfinished
from tenure.text.plural import plural

#: A worker that was heard of within this may still run.
_ALIVE_SECONDS = 60.0
#: So many messages are looked at by who only wants to start.
BRIEF = 2_000
_NAMED = 10


async def unfinished(tables: EarlierTables, now: float, *, most: int | None = None) -> Unfinished:
    """What stands in the way; `most`: messages that are looked at. `now` is on the account's time line."""
    counts = dict.fromkeys((MessageState.READY, MessageState.DELAYED, MessageState.LEASED), 0)
    looked, is_partial = 0, False
    async for message in tables.messages():
        if looked == most:
            is_partial = True
            break
        looked += 1
        if message.is_unfinished:
            counts[message.state] += 1
    return Unfinished(
        waiting=counts[MessageState.READY],
        delayed=counts[MessageState.DELAYED],
        leased=counts[MessageState.LEASED],
        announcements=len([row async for row in tables.between(layout.ANNOUNCE, "a:", "b")]),
        workers=await _workers(tables, now),
        is_partial=is_partial,
    )


async def _workers(tables: EarlierTables, now: float) -> tuple[str, ...]:
    names = [
        str(row.fields["Id"])
        async for row in tables.between(layout.COMMON, "o:", "o;")
        if not row.fields.get("Left") and now - float(row.fields["Heard"]) < _ALIVE_SECONDS
    ]
    return tuple(sorted(names)[:_NAMED])


def told(found: Unfinished) -> str:
    """What stands in the way, in words."""
    more = "at least " if found.is_partial else ""
    messages = found.waiting + found.delayed + found.leased
    clauses = [
        f"{more}{plural(messages, 'message')} ({found.waiting} waiting, {found.delayed} delayed, {found.leased} leased)"
        if messages
        else "",
        plural(found.announcements, "ending") + " to announce" if found.announcements else "",
        "the running workers " + ", ".join(found.workers) if found.workers else "",
    ]
    return "; ".join(clause for clause in clauses if clause)
