"""An endpoint: a receiver of webhooks, as it was registered.

A message names it (`webhook:orders`). Its URL and secrets are looked up when it is called, so that a message holds
neither. Kept by `endpoints.py`.
"""

import re
from urllib.parse import urlsplit

import msgspec

from tenure.errors import BadArgument
from tenure.message import MessageState
from tenure.rules.queue_pattern import matches
from tenure.webhooks.address import AddressRules

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?")
_CLIENT = re.compile(r"[a-z0-9*-]{1,100}")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?")
_MOST_CLIENTS = _MOST_HOSTS = 100
#: Endings in the words of a message's states.
ENDINGS = (MessageState.COMPLETED, MessageState.DEAD, MessageState.CANCELLED)


class Disabled(msgspec.Struct, frozen=True):
    """Why an endpoint gets nothing. Its endings wait as announcements until it is enabled or removed."""

    #: operator, gone (it answered 410) or failing (for too long).
    code: str
    reason: str
    #: Wall time by the store's clock.
    at: float
    by: str = ""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One receiver, without a readable secret."""

    name: str
    url: str
    #: Who may use it: names and patterns of clients. Empty: all.
    clients: tuple[str, ...] = ()
    #: Which endings it gets.
    events: tuple[MessageState, ...] = ENDINGS
    #: A message may name any URL of these hosts; it is posted there, signed with this endpoint's secret.
    hosts: tuple[str, ...] = ()
    #: Wall time by the store's clock.
    created_at: float
    created_by: str = ""
    #: None: it is enabled.
    disabled: Disabled | None = None
    #: As `SecretBox.seal` made it.
    secret: str
    #: The one before, and until when both sign.
    previous: str | None = None
    previous_until: float = 0.0

    def serves(self, client: str | None) -> bool:
        """Whether messages of this client may use it."""
        return not self.clients or (client is not None and matches(client, self.clients))

    def may_call(self, url: str | None) -> bool:
        """Whether a URL may be called and signed for it. None: its own."""
        return url is None or url == self.url or (urlsplit(url).hostname or "").removesuffix(".") in self.hosts

    def secrets_at(self, wall: float) -> tuple[str, ...]:
        """The sealed secrets that sign now, the newest first."""
        if self.previous is not None and wall < self.previous_until:
            return self.secret, self.previous
        return (self.secret,)


def check_name(name: str) -> None:
    """Refuse a name that no endpoint can have."""
    if not _NAME.fullmatch(name):
        msg = (
            f"endpoint={name!r} cannot name an endpoint; use a-z, 0-9 and, within, dots, dashes and _: at most 100. "
            "Nothing was stored"
        )
        raise BadArgument(msg)


def check(endpoint: Endpoint, rules: AddressRules) -> None:
    """Refuse an endpoint that could not work. Raises `BadArgument`."""
    check_name(endpoint.name)
    problem = rules.refusal(endpoint.url)
    if problem:
        msg = f"endpoint {endpoint.name}: {problem}; nothing was stored"
        raise BadArgument(msg)
    if len(endpoint.clients) > _MOST_CLIENTS or not all(map(_CLIENT.fullmatch, endpoint.clients)):
        problem = f"clients are at most {_MOST_CLIENTS} names or patterns of a-z, 0-9, dashes and *"
    elif len(endpoint.hosts) > _MOST_HOSTS or not all(map(_HOST.fullmatch, endpoint.hosts)):
        problem = f"hosts are at most {_MOST_HOSTS} names such as api.example.com, without scheme, port and path"
    elif not endpoint.events or any(one not in ENDINGS for one in endpoint.events):
        problem = f"events are one or more of {', '.join(ENDINGS)}"
    if problem:
        msg = f"endpoint {endpoint.name}: {problem}; nothing was stored"
        raise BadArgument(msg)
