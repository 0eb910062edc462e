"""The ids of a group, of its members and of the message that follows it: each can be read from the others. Pure.

    grp_0199…          the group
    grp_0199…-0        its first member
    grp_0199…-then     the message that is sent when all members have ended

So the id of a member tells its group, also when the message itself is long gone.
"""

import re

#: How the id of a group begins, behind its namespace.
PREFIX = "grp_"
_THEN = "then"
_NAMED = re.compile(r"(?P<group>(?:[^/]*/)?grp_.+)-(?P<place>\d{1,6}|then)\Z", re.DOTALL)


def group_id(name: str, namespace: str | None) -> str:
    """The id of a group, from the name that its sender gave or that was made for it."""
    own = name if namespace is None else name.removeprefix(f"{namespace}/")
    own = own if own.startswith(PREFIX) else f"{PREFIX}{own}"
    return own if namespace is None else f"{namespace}/{own}"


def is_group_id(id: str) -> bool:
    """Whether it may be the id of a group."""
    return id.rpartition("/")[2].startswith(PREFIX)


def member_id(group: str, place: int) -> str:
    """The id of member number `place`, from 0."""
    return f"{group}-{place}"


def then_id(group: str) -> str:
    """The id of the message that is sent at the end."""
    return f"{group}-{_THEN}"


def group_of(message_id: str) -> str | None:
    """The group to which a message may belong, as member or as the message at its end. None: to none."""
    found = _NAMED.match(message_id)
    return None if found is None else found["group"]


def place_of(message_id: str, group: str) -> int | None:
    """Which member of the group it is, from 0. None: it is no member of it."""
    found = _NAMED.match(message_id)
    if found is None or found["group"] != group or found["place"] == _THEN:
        return None
    return int(found["place"])
