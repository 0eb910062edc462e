"""Message ids as people type them: a whole id, or a beginning of it that only one id has.

Every operation and command that takes an id asks here. A whole id always wins, also if it is the beginning of others.
A beginning has at least `SHORTEST` characters; ids begin with the time, so messages of one hour share the first few.
"""

from collections.abc import Sequence

from tenure.client.operations.access import Access
from tenure.errors import AmbiguousId, MessageNotFound
from tenure.record import Record

SHORTEST = 6
#: This many candidates are listed.
_SHOWN = 8
#: This many are read before it is said that there are more: some of them may be of other namespaces, or forgotten.
_READ = 50


async def find_record(access: Access, word: str, *, consequence: str = "") -> Record:
    """The record of the message that `word` names.

    Raises `MessageNotFound` or `AmbiguousId`, with `consequence` as the end of the sentence.
    """
    record = await access.record(word)
    if record is not None:
        return record
    end = f"; {consequence}" if consequence else ""
    if len(word) < SHORTEST:
        raise MessageNotFound(
            f"no message {word} is known here; the beginning of an id needs at least {SHORTEST} characters{end}"
        )
    ids = await _beginning_with(access, word)
    if ids is None:
        whole = "this store finds messages by their whole id only"
        raise MessageNotFound(f"no message {word} is known here, and {whole}{end}")
    found = [record for id in ids if (record := await _seen(access, id)) is not None]
    if not found:
        why = "no id begins so: it was never sent to this place, or its record has expired"
        raise MessageNotFound(f"no message {word} is known here, and {why}{end}")
    if len(found) > 1 or len(ids) > _READ:
        raise AmbiguousId(f"{_candidates(word, found, more=len(ids) > _READ)}{end}")
    return found[0]


async def find_records(access: Access, words: Sequence[str], *, consequence: str = "") -> list[Record]:
    """The records of several, each once; raises before anything is touched."""
    records = [await find_record(access, word, consequence=consequence) for word in words]
    return list({record.id: record for record in records}.values())


async def _beginning_with(access: Access, word: str) -> list[str] | None:
    """Find ids with this beginning: one more than is read, if there are more. A namespace stands before every id."""
    own = "" if access.namespace is None else f"{access.namespace}/"
    names = [word] if word.startswith(own) else [f"{own}{word}", word]
    answers = [await access.state.records.find_ids(name, _READ + 1) for name in names]
    return None if None in answers else [id for answer in answers for id in answer or ()]


async def _seen(access: Access, id: str) -> Record | None:
    record = await access.state.records.get(id)
    return None if record is None or not access.sees(record.queue) else record


def _candidates(word: str, found: Sequence[Record], *, more: bool) -> str:
    shown = ", ".join(f"{record.id} ({record.task or 'unreadable'}, {record.state})" for record in found[:_SHOWN])
    rest = len(found) - _SHOWN
    many = f"more than {_READ}" if more else f"{len(found)}"
    others = "" if rest <= 0 and not more else " and more" if more else f" and {rest} more"
    return f"{word} is the beginning of {many} ids: {shown}{others}; type more of it"
