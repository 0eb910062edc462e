"""Webhook endpoints: the receivers that messages may name; add, change, rotate, disable, enable, remove, test.

Who sees only some queues sees no endpoints: they belong to no queue, and their URLs may say more than one. Every change
is an act in the audit log.
"""

from collections.abc import Sequence
from typing import cast

import msgspec

from tenure.act import (
    ENDPOINT_ADDED,
    ENDPOINT_CHANGED,
    ENDPOINT_DISABLED,
    ENDPOINT_ENABLED,
    ENDPOINT_REMOVED,
    ENDPOINT_ROTATED,
    ENDPOINT_TESTED,
)
from tenure.client.operations.access import Access
from tenure.client.operations.operations import Operations
from tenure.errors import UnknownEndpoint
from tenure.message import MessageState
from tenure.rules.reserved_queue import reserved_queue
from tenure.webhooks.breaker import BreakerState, state_of
from tenure.webhooks.endpoint import ENDINGS, Endpoint
from tenure.webhooks.endpoints import ROTATION_SECONDS
from tenure.webhooks.lane import lane_of

_STORED = "stored"


class EndpointDisabled(msgspec.Struct, frozen=True, kw_only=True):
    """Why an endpoint gets nothing. Its endings wait until it is enabled."""

    #: operator, gone (it answered 410) or failing (for too long).
    code: str
    reason: str
    at: float
    by: str


class EndpointHealth(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an endpoint's answers."""

    #: closed: deliveries go out. open: it rests. half_open: one delivery goes out to try.
    state: BreakerState
    #: Failures since its last success.
    failures: int
    #: When the first of them was. None: there was none.
    failing_since: float | None
    #: Until then nothing goes out. None: it does not rest.
    rests_until: float | None
    #: The newest failure. Empty: there was none.
    error: str


class EndpointStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One endpoint, without its secret."""

    name: str
    url: str
    #: Who may name it: clients and patterns of clients. Empty: all.
    clients: tuple[str, ...]
    #: Which endings it gets.
    events: tuple[MessageState, ...]
    #: A message may name any URL of these hosts.
    hosts: tuple[str, ...]
    created_at: float
    created_by: str
    #: Where its secret is: `stored`, encrypted, or a reference such as `env:HOOK_SECRET`.
    secret: str
    #: Until when the secret before signs too. None: there is one secret.
    rotating_until: float | None
    disabled: EndpointDisabled | None
    health: EndpointHealth


class EndpointList(msgspec.Struct, frozen=True, kw_only=True):
    """Every endpoint, by name."""

    endpoints: tuple[EndpointStatus, ...]


class EndpointSecret(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint whose secret was made or changed."""

    endpoint: EndpointStatus
    #: Shown this once. None: it was given, or is a reference.
    secret: str | None


class EndpointChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an endpoint."""

    name: str
    #: False: it was so before.
    changed: bool


class EndpointTest(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a test request."""

    name: str
    ok: bool
    #: The HTTP status. None: there was no answer.
    status: int | None
    seconds: float
    #: Why there was no answer, or how the answer begins.
    text: str


class WebhookEndpointOperations(Operations):
    """Operations on webhook endpoints. Those that name one raise `UnknownEndpoint`."""

    async def endpoints(self) -> EndpointList:
        """Return every endpoint with what is known of its answers."""
        access = await self._opened()
        if not _may_see(access):
            return EndpointList(endpoints=())
        found = await access.client.webhooks.endpoints.list()
        return EndpointList(endpoints=tuple([await _status(access, one) for one in found]))

    async def add_endpoint(
        self,
        name: str,
        url: str,
        *,
        secret: str | None = None,
        clients: Sequence[str] = (),
        events: Sequence[MessageState | str] = ENDINGS,
        hosts: Sequence[str] = (),
    ) -> EndpointSecret:
        """Register a receiver of webhooks. Raises `EndpointExists`, `BadArgument` for what cannot work.

        - `secret`: `whsec_…`, or where it is: `env:NAME`, `file:/path`. Default: a new one, which is returned once.
        - `clients`: Only messages of these clients may name it: names, or patterns such as `acme-*`.
        - `events`: Which endings it gets: `completed`, `dead`, `cancelled`.
        - `hosts`: A message may name any URL of these hosts, signed with this endpoint's secret.
        """
        access = await self._writable(name)
        made = await access.client.webhooks.endpoints.add(
            name, url, secret=secret, clients=clients, events=_given(events), hosts=hosts, by=access.identity.by
        )
        await self._note(access, ENDPOINT_ADDED, name, url=url)
        return EndpointSecret(endpoint=await _status(access, made.endpoint), secret=made.secret)

    async def change_endpoint(
        self,
        name: str,
        *,
        url: str | None = None,
        clients: Sequence[str] | None = None,
        events: Sequence[MessageState | str] | None = None,
        hosts: Sequence[str] | None = None,
    ) -> EndpointStatus:
        """Change what is given of an endpoint, and leave the rest."""
        access = await self._writable(name)
        changed = await access.client.webhooks.endpoints.change(
            name, url=url, clients=clients, events=None if events is None else _given(events), hosts=hosts
        )
        await self._note(access, ENDPOINT_CHANGED, name, url=changed.url)
        return await _status(access, changed)

    async def rotate_endpoint(
        self, name: str, *, secret: str | None = None, overlap_seconds: float = ROTATION_SECONDS
    ) -> EndpointSecret:
        """Give an endpoint a new secret; for a day, or `overlap_seconds`, the old one signs too.

        - `secret`: As for `add_endpoint`.
        - `overlap_seconds`: 0: the old secret is void at once, as after a leak.
        """
        access = await self._writable(name)
        made = await access.client.webhooks.endpoints.rotate(name, secret=secret, overlap_seconds=overlap_seconds)
        await self._note(access, ENDPOINT_ROTATED, name)
        return EndpointSecret(endpoint=await _status(access, made.endpoint), secret=made.secret)

    async def disable_endpoint(self, name: str, reason: str = "disabled by an operator") -> EndpointChange:
        """Send an endpoint nothing more. Endings that ask for it wait, for as long as it takes."""
        access = await self._writable(name)
        changed = await access.client.webhooks.endpoints.disable(name, reason, by=access.identity.by)
        if changed:
            await self._note(access, ENDPOINT_DISABLED, name, reason=reason)
        return EndpointChange(name=name, changed=changed)

    async def enable_endpoint(self, name: str) -> EndpointChange:
        """Let the endings go out again, those that waited first."""
        access = await self._writable(name)
        changed = await access.client.webhooks.endpoints.enable(name)
        if changed:
            await self._note(access, ENDPOINT_ENABLED, name)
        return EndpointChange(name=name, changed=changed)

    async def remove_endpoint(self, name: str) -> EndpointChange:
        """Remove an endpoint. Endings that ask for it become dead letters, to be replayed once it is there again."""
        access = await self._writable(name)
        await access.client.webhooks.endpoints.remove(name)
        await self._note(access, ENDPOINT_REMOVED, name)
        return EndpointChange(name=name, changed=True)

    async def test_endpoint(self, name: str) -> EndpointTest:
        """Post a signed test request to an endpoint from this process, and return how it answered.

        Its status is `test`; receivers answer it with 2xx and do nothing.
        """
        access = await self._writable(name)
        answer = await access.client.webhooks.test(name)
        await self._note(access, ENDPOINT_TESTED, name, status=answer.status)
        return EndpointTest(
            name=name, ok=answer.is_ok, status=answer.status, seconds=round(answer.seconds, 3), text=answer.error
        )

    async def _writable(self, name: str) -> Access:
        access = await self._opened()
        if not _may_see(access):
            msg = f"there is no webhook endpoint {name!r} here"
            raise UnknownEndpoint(msg)
        return access

    async def _note(self, access: Access, kind: str, name: str, **more: object) -> None:
        access.client.webhooks.reader.forget()
        await access.operator().note_endpoint(kind, name, **more)


def _may_see(access: Access) -> bool:
    return access.sees_every_queue or access.sees(reserved_queue(access.namespace))


def _given(events: Sequence[MessageState | str]) -> Sequence[MessageState]:
    return cast("Sequence[MessageState]", events)  # a word that is none is refused where they are stored


async def _status(access: Access, one: Endpoint) -> EndpointStatus:
    wall = access.state.wall()
    health = await access.client.webhooks.health.of(lane_of(one.name, None), fresh=True)
    state = state_of(health, wall)
    return EndpointStatus(
        name=one.name,
        url=one.url,
        clients=one.clients,
        events=one.events,
        hosts=one.hosts,
        created_at=one.created_at,
        created_by=one.created_by,
        secret=one.secret if one.secret.startswith(("env:", "file:")) else _STORED,
        rotating_until=one.previous_until if one.previous is not None and wall < one.previous_until else None,
        disabled=None
        if one.disabled is None
        else EndpointDisabled(
            code=one.disabled.code, reason=one.disabled.reason, at=one.disabled.at, by=one.disabled.by
        ),
        health=EndpointHealth(
            state=state,
            failures=health.failures,
            failing_since=health.since,
            rests_until=health.rests_until if state is BreakerState.OPEN else None,
            error=health.error,
        ),
    )
