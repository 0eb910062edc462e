"""The messages of a group, made and checked before anything is sent. Pure.

Members have ids derived from the group's, so that a submission which is repeated sends nothing twice, and ask to be
announced to it. An id, `key` or `unique` of their own is refused: the message might be another one, which was sent
without this group, and would never end for it.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tenure import envelope
from tenure.errors import BadArgument
from tenure.group import GROUP_HEADER, GROUP_TARGET, MOST_MEMBERS
from tenure.groups.header import Header, Then
from tenure.groups.reading import GroupReference
from tenure.key_value import MOST_BYTES
from tenure.message import Message, Outgoing
from tenure.rules.group_id import member_id, then_id
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Call

#: What a member may not have.
_REFUSED = ("id", "key", "unique", "unique_window")
#: Nor may the message at the end: when it is sent is decided by the group.
_REFUSED_THEN = (*_REFUSED, "at", "expires")
#: Its envelope lies in the header of the group.
_MOST_THEN = MOST_BYTES - 8 * 1024
_LONGEST_ID = 100


class Submission(msgspec.Struct, frozen=True):
    """A group that is to be sent."""

    header: Header
    members: list[Outgoing]
    #: The message at the end, as it is now. The header has it too.
    then: Outgoing | None = None


def check_name(name: object) -> None:
    """Refuse an id that cannot be that of a group."""
    if not isinstance(name, str) or not name or not name.isprintable() or name != name.strip():
        msg = f"id={name!r} is not a printable text; nothing was sent"
        raise BadArgument(msg)
    if len(name) > _LONGEST_ID:
        msg = f"id has {len(name)} characters, and that of a group may have {_LONGEST_ID}; nothing was sent"
        raise BadArgument(msg)


def make(
    group: str, calls: Sequence[Call[Any]], then: Call[Any] | None, *, client: str, sent_at: float,
    expires_seconds: float,
) -> Submission:  # fmt: skip
    """The messages and the header of a group. Raises `BadArgument`, `PayloadInvalid`."""
    if len(calls) > MOST_MEMBERS:
        msg = f"a group may have {MOST_MEMBERS:,} members, and these are {len(calls):,}; nothing was sent"
        raise BadArgument(msg)
    members = [
        _member(group, place, call, client=client, sent_at=sent_at) for place, call in enumerate(calls)
    ]  # fmt: skip
    last = None if then is None else _last(group, then, client=client, sent_at=sent_at)
    header = Header(
        id=group,
        total=len(members),
        created_at=sent_at,
        expires_at=sent_at + expires_seconds,
        digest=_digest([*(out.message for out in members), *([] if last is None else [last.message])]),
        queues=tuple(dict.fromkeys(out.message.queue for out in members)),
        client=client,
    )
    return Submission(header, members, last)


def with_then(header: Header, last: Outgoing | None) -> Header:
    """The header with the message at the end, as it is to be sent. Raises `BadArgument` if it is too large."""
    if last is None:
        return header
    raw = envelope.encode(last.message)
    if len(raw) > _MOST_THEN:
        msg = f"the message of then has {len(raw):,} bytes, and may have {_MOST_THEN:,}; nothing was sent"
        raise BadArgument(msg)
    then = Then(last.message.id, last.message.task, msgspec.Raw(raw), last.delay_seconds)
    return msgspec.structs.replace(header, then=then)


def _member(group: str, place: int, call: Call[Any], *, client: str, sent_at: float) -> Outgoing:
    _refuse(call, _REFUSED, f"member {place}")
    out = outgoing(call, {}, id=member_id(group, place), client=client, sent_at=sent_at)
    message = out.message
    return msgspec.structs.replace(
        out,
        message=msgspec.structs.replace(
            message,
            announce=(*message.announce, f"{GROUP_TARGET}{group}"),
            correlation_id=message.correlation_id or group,
        ),
    )


def _last(group: str, call: Call[Any], *, client: str, sent_at: float) -> Outgoing:
    """The message at the end. It has a key, so that it runs once however late it is sent again."""
    _refuse(call, _REFUSED_THEN, "then")
    out = outgoing(call, {}, id=then_id(group), client=client, sent_at=sent_at)
    message, parameter = out.message, group_parameter(call)
    changes: dict[str, Any] = {"key": then_id(group), "correlation_id": message.correlation_id or group}
    if parameter is not None:
        payload = msgspec.json.decode(message.body, type=dict[str, msgspec.Raw])
        payload[parameter] = msgspec.Raw(msgspec.json.encode(GroupReference(group)))
        changes["body"] = msgspec.Raw(msgspec.json.encode(payload))
        changes["headers"] = {**message.headers, GROUP_HEADER: parameter}
    return msgspec.structs.replace(out, message=msgspec.structs.replace(message, **changes))


def group_parameter(call: Call[Any]) -> str | None:
    """The parameter of the handler that gets the results. None: it has none, or is not known here."""
    signature = getattr(call.task, "signature", None)
    return None if signature is None else signature.group_parameter


def _refuse(call: Call[Any], words: Sequence[str], who: str) -> None:
    given = [word for word in words if call.options.get(word) is not None]
    if given:
        msg = (
            f"{who} of the group has {', '.join(given)}, which no message of a group may have: "
            "its id and its time are the group's. Nothing was sent"
        )
        raise BadArgument(msg)


def _digest(messages: Sequence[Message]) -> str:
    """Tells what is submitted, not when."""
    digest = hashlib.sha256()
    for part in _parts(messages):
        digest.update(len(part).to_bytes(4, "big") + part)
    return digest.hexdigest()


def _parts(messages: Sequence[Message]) -> Iterator[bytes]:
    for message in messages:
        yield f"{message.id}\x1f{message.queue}\x1f{message.task}".encode("utf-8", "surrogatepass")
        yield bytes(message.body)
