"""The endpoints of one app, kept in its store: add, list, rotate, disable, enable, remove.

Every change is a compare-and-set, so two operators at once both take effect. `EndpointReader` is for workers, senders
and the announcer: it reads the store at most every `FRESH_SECONDS`, so a change is followed within 5 s.
"""

import logging
from collections.abc import Callable, Sequence

import msgspec

from tenure.clock import Clock
from tenure.errors import BadArgument, EndpointExists, UnknownEndpoint
from tenure.finding import Finding, Severity
from tenure.key_value import KeyValue
from tenure.message import MessageState
from tenure.rules.arguments import meant
from tenure.state import KeyValues, State
from tenure.webhooks.address import AddressRules
from tenure.webhooks.endpoint import ENDINGS, Disabled, Endpoint, check, check_name
from tenure.webhooks.health import KIND as HEALTH_KIND
from tenure.webhooks.secret import SecretBox, new_secret

logger = logging.getLogger("tenure.webhooks")

KIND = "webhook-endpoint"
#: For so long what the store said is believed. A little less than the 5 s that are promised.
FRESH_SECONDS = 4.0
#: After a rotation the secret before goes on signing for so long, unless it is said otherwise.
ROTATION_SECONDS = 24 * 3_600.0
_MOST_ROTATION = 30 * 86_400.0
#: Two who change one endpoint at the same moment; more are a fault.
_MOST_TRIES = 20

OPERATOR, GONE, FAILING = "operator", "gone", "failing"


class NewSecret(msgspec.Struct, frozen=True):
    """An endpoint whose secret was just made or changed."""

    endpoint: Endpoint
    #: Shown once, kept nowhere readable. None: it is a reference, or was given.
    secret: str | None


class Endpoints:
    """The endpoints of one app, as the store has them now."""

    def __init__(
        self, state: State, box: SecretBox, rules: AddressRules | None = None, *, namespace: str | None = None
    ) -> None:
        """`rules` decide which URLs are accepted. Apps of different namespaces share no endpoints."""
        self._state = state
        self._box = box
        self._rules = rules or AddressRules()
        self._prefix = "" if namespace is None else f"{namespace}/"

    async def add(
        self, name: str, url: str, *, secret: str | None = None, clients: Sequence[str] = (),
        events: Sequence[MessageState] = ENDINGS, hosts: Sequence[str] = (), by: str = "",
    ) -> NewSecret:  # fmt: skip
        """Register a receiver. `secret`: `whsec_…`, `env:NAME` or `file:/path`; default: a new one.

        Raises `EndpointExists`, `BadArgument` for what cannot work, and `SecretUnreadable` without `TENURE_SECRET_KEY`.
        """
        check_name(name)
        made = secret or new_secret()
        endpoint = Endpoint(
            name=name, url=url, clients=tuple(dict.fromkeys(clients)), events=_events(events),
            hosts=tuple(dict.fromkeys(host.lower().rstrip(".") for host in hosts)), created_at=self._state.wall(),
            created_by=by, secret=self._box.seal(made, name),
        )  # fmt: skip
        check(endpoint, self._rules)
        if await self._values.put(KIND, self._prefix + name, msgspec.json.encode(endpoint), expect=None) is None:
            msg = f"endpoint {name} exists already; it was not changed. Rotate its secret, or choose another name"
            raise EndpointExists(msg)
        return NewSecret(endpoint, None if secret else made)

    async def list(self) -> list[Endpoint]:
        """Every endpoint, by name."""
        found = [self._read(value) for value in await self._values.list(KIND) if self._is_ours(value)]
        return sorted((one for one in found if one is not None), key=lambda one: one.name)

    async def find(self, name: str) -> Endpoint | None:
        """One endpoint. None: there is none of that name."""
        value = await self._values.get(KIND, self._prefix + name)
        return None if value is None else self._read(value)

    async def get(self, name: str) -> Endpoint:
        """One endpoint. Raises `UnknownEndpoint`."""
        found = await self.find(name)
        return found if found is not None else await self._unknown(name)

    async def change(
        self, name: str, *, url: str | None = None, clients: Sequence[str] | None = None,
        events: Sequence[MessageState] | None = None, hosts: Sequence[str] | None = None,
    ) -> Endpoint:  # fmt: skip
        """Change what is given, and leave the rest. Raises `UnknownEndpoint`, `BadArgument`."""

        def decide(endpoint: Endpoint) -> Endpoint:
            changed = msgspec.structs.replace(
                endpoint,
                url=endpoint.url if url is None else url,
                clients=endpoint.clients if clients is None else tuple(dict.fromkeys(clients)),
                events=endpoint.events if events is None else _events(events),
                hosts=endpoint.hosts if hosts is None else tuple(dict.fromkeys(host.lower() for host in hosts)),
            )
            check(changed, self._rules)
            return changed

        changed = await self._change(name, decide)
        if url is not None:
            await self._forget_health(name)
        return changed

    async def rotate(
        self, name: str, *, secret: str | None = None, overlap_seconds: float = ROTATION_SECONDS
    ) -> NewSecret:
        """Give an endpoint a new secret. Both sign for `overlap_seconds`, so that the receiver can follow in its time.

        0: the old one is void at once, as after a leak.
        """
        if not 0 <= overlap_seconds <= _MOST_ROTATION:
            msg = f"overlap={overlap_seconds:g} is not a duration from 0 seconds to 30 days; nothing was changed"
            raise BadArgument(msg)
        made = secret or new_secret()
        sealed = self._box.seal(made, name)

        def decide(endpoint: Endpoint) -> Endpoint:
            if sealed == endpoint.secret:  # the same reference: what is behind it changed
                return endpoint
            until = self._state.wall() + overlap_seconds
            previous = endpoint.secret if overlap_seconds else None
            return msgspec.structs.replace(endpoint, secret=sealed, previous=previous, previous_until=until)

        return NewSecret(await self._change(name, decide), None if secret else made)

    async def disable(self, name: str, reason: str, *, code: str = OPERATOR, by: str = "") -> bool:
        """Send it nothing more; its endings wait. False: it was disabled already, and the first reason stays."""
        disabled, was_enabled = Disabled(code, reason, self._state.wall(), by), False

        def decide(endpoint: Endpoint) -> Endpoint:
            nonlocal was_enabled
            was_enabled = endpoint.disabled is None
            return msgspec.structs.replace(endpoint, disabled=disabled) if was_enabled else endpoint

        await self._change(name, decide)
        return was_enabled

    async def enable(self, name: str) -> bool:
        """Let its endings go out again, those that waited first. False: it was enabled."""
        was = False

        def decide(endpoint: Endpoint) -> Endpoint:
            nonlocal was
            was = endpoint.disabled is not None
            return msgspec.structs.replace(endpoint, disabled=None)

        await self._change(name, decide)
        if was:
            await self._forget_health(name)
        return was

    async def remove(self, name: str) -> None:
        """Forget an endpoint. Endings that wait for it become dead letters, to be replayed once it is there again."""
        if not await self._values.remove(KIND, self._prefix + name):
            await self._unknown(name)
        await self._forget_health(name)

    async def _forget_health(self, name: str) -> None:
        """Begin anew: failures of before must not make it rest, or disable it again."""
        await self._values.remove(HEALTH_KIND, self._prefix + name)

    async def _change(self, name: str, decide: Callable[[Endpoint], Endpoint]) -> Endpoint:
        for _ in range(_MOST_TRIES):
            value = await self._values.get(KIND, self._prefix + name)
            endpoint = None if value is None else self._read(value)
            if value is None or endpoint is None:
                return await self._unknown(name)
            changed = decide(endpoint)
            if changed == endpoint:
                return endpoint
            if await self._values.put(KIND, value.name, msgspec.json.encode(changed), expect=value.version):
                return changed
        msg = f"endpoint {name} is being changed by others all the time; it was not changed. Try again"
        raise BadArgument(msg)

    async def _unknown(self, name: str) -> Endpoint:
        names = [endpoint.name for endpoint in await self.list()]
        hint = meant(name, names) if names else "there is none; add one with tenure webhooks endpoints add"
        msg = f"there is no webhook endpoint {name!r} here; {hint}"
        raise UnknownEndpoint(msg)

    @property
    def _values(self) -> KeyValues:
        return self._state.key_values

    def _is_ours(self, value: KeyValue) -> bool:
        return value.name.rpartition("/")[0] == self._prefix.rstrip("/")

    def _read(self, value: KeyValue) -> Endpoint | None:
        try:
            return msgspec.json.decode(value.data, type=Endpoint)
        except msgspec.MsgspecError as error:
            logger.warning("webhook endpoint %s cannot be read, and is left alone: %s", value.name, error)
            return None


class EndpointReader:
    """The endpoints as they were a moment ago, for those who ask for every message."""

    def __init__(self, endpoints: Endpoints, clock: Clock) -> None:
        """Read nothing before it is asked for."""
        self._endpoints = endpoints
        self._clock = clock
        self._known: dict[str, Endpoint] = {}
        #: Names that the store did not know since then.
        self._missing: set[str] = set()
        self._read_at: float | None = None

    async def all(self) -> dict[str, Endpoint]:
        """Every endpoint, by name; at most `FRESH_SECONDS` old."""
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at >= FRESH_SECONDS:
            self._known = {endpoint.name: endpoint for endpoint in await self._endpoints.list()}
            self._missing.clear()
            self._read_at = now
        return self._known

    async def find(self, name: str) -> Endpoint | None:
        """One endpoint. None: there is none of that name. One that is new is looked up in the store."""
        found = (await self.all()).get(name)
        if found is None and name and name not in self._missing:
            found = await self._endpoints.find(name)
            if found is None:
                self._missing.add(name)
        return found

    def forget(self) -> None:
        """Ask the store the next time: something was changed here."""
        self._read_at = None


def findings(endpoints: Sequence[Endpoint]) -> list[Finding]:
    """What is wrong with these endpoints: those that were disabled by themselves."""
    return [
        Finding(
            "webhook_disabled", Severity.WARNING, endpoint.name, endpoint.disabled.reason,
            f"Repair the receiver, then run: tenure webhooks endpoints enable {endpoint.name}",
        )
        for endpoint in endpoints
        if endpoint.disabled is not None and endpoint.disabled.code != OPERATOR
    ]  # fmt: skip


def _events(events: Sequence[MessageState]) -> tuple[MessageState, ...]:
    try:
        given = {MessageState(one) for one in events}
    except ValueError as error:
        msg = f"events={list(events)!r}: each is one of {', '.join(ENDINGS)}; nothing was stored"
        raise BadArgument(msg) from error
    return tuple(sorted(given))
