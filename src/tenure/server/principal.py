"""A principal: who asks, what they may do, and which queues exist for them.

Made by `authentication.py` from a token, a session, a hook's answer or a loopback connection; checked by `dispatch.py`,
and bound to every act and every look by `Operate.bound`.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

#: All queues.
ANY_QUEUE = ("*",)


class AccessScope(StrEnum):
    """What a principal may do. None of them includes another one."""

    #: Send messages.
    SEND = "send"
    #: See queues, messages, workers and events; of messages everything but what `PAYLOAD` shows.
    READ = "read"
    #: See payloads, results, headers, and what errors said.
    PAYLOAD = "payload"
    #: Lease messages and settle them.
    CONSUME = "consume"
    #: Pause, resume, cancel, redrive, edit, move, delete, purge; limit queues that are no client's.
    OPERATE = "operate"
    #: Make and revoke tokens, see settings, set quotas and weights of clients and limits of their queues.
    ADMIN = "admin"


ALL_SCOPES = frozenset(AccessScope)


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller. A hook (`authenticate=`) returns one of these."""

    #: Who it is, for the audit log and the request log.
    name: str
    scopes: frozenset[AccessScope] = frozenset()
    #: Names and patterns of queues, such as `acme-*`. Other queues do not exist for this principal. Empty: none does.
    queues: tuple[str, ...] = ()
    #: The id of its access token; names the owner of what it leases. Empty: its name does.
    id: str = ""

    def may(self, scope: AccessScope) -> bool:
        """Whether it has this scope."""
        return scope in self.scopes

    @property
    def sees_every_queue(self) -> bool:
        """Whether no queue is hidden."""
        return "*" in self.queues


#: A request without credentials, on routes that need none.
NOBODY = Principal("")
#: Any program on this machine, where no token was made yet.
LOOPBACK = Principal("loopback", ALL_SCOPES, ANY_QUEUE)


def scopes_from(words: Iterable[str]) -> frozenset[AccessScope]:
    """Scopes from their names; `all` is every one. Raises `ValueError` with the first unknown name."""
    found: set[AccessScope] = set()
    for word in words:
        found |= ALL_SCOPES if word == "all" else {AccessScope(word)}
    return frozenset(found)
