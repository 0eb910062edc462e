"""The parts of webhooks, put together from an app's settings: for the client, the worker and the server.

One for each event loop, as brokers and states are. Nothing is read or opened before it is needed.
"""

import socket
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.config import Settings
from tenure.event import Event
from tenure.message import new_id
from tenure.monitoring.telemetry import Telemetry
from tenure.rules.reserved_queue import reserved_queue
from tenure.state import State
from tenure.webhooks.address import AddressRules
from tenure.webhooks.announcer import Announcer, Send
from tenure.webhooks.deliver import Deliverer
from tenure.webhooks.delivery import sample_body
from tenure.webhooks.endpoints import EndpointReader, Endpoints
from tenure.webhooks.half_done import HalfDone
from tenure.webhooks.health import HealthBook
from tenure.webhooks.host_gate import HostGate
from tenure.webhooks.secret import SecretBox
from tenure.webhooks.signature import headers_for
from tenure.webhooks.target_kind import TargetKind
from tenure.webhooks.targets import resolve
from tenure.webhooks.transport import Answer, Transport
from tenure.webhooks.webhook_target import WebhookKind
from tenure.webhooks.window import Window

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Webhooks:
    """What an app needs for its webhooks, on one broker and state."""

    def __init__(
        self, broker: Broker, state: State, clock: Clock, settings: Settings, *, namespace: str | None = None,
        own: Iterable[tuple[str, int]] = (),
    ) -> None:  # fmt: skip
        """`own`: hosts and ports of our own API besides those that the settings name."""
        self._broker = broker
        self._state = state
        self._clock = clock
        self._settings = settings
        self._namespace = namespace
        #: Which URLs may be called.
        self.rules = AddressRules(settings.webhook_allow, {*own, *own_places(settings)})
        self._box = SecretBox(settings.secret_key)
        #: As the store has them now: for operators.
        self.endpoints = Endpoints(state, self._box, self.rules, namespace=namespace)
        #: As they were a moment ago: for everything that is done for each message.
        self.reader = EndpointReader(self.endpoints, clock)
        #: What is known of each lane: an endpoint's name, or `name@host`.
        self.health = HealthBook(state, clock, namespace=namespace)

    async def target(self, webhook: str, client: str | None, *, task_id: str | None = None) -> str:
        """The target for `submit(webhook=…)`. Raises `WebhookRefused`."""
        return await resolve(webhook, self.reader, client, self.rules, task_id=task_id)

    def announcer(self, send: Send, kinds: Mapping[str, TargetKind] | None = None) -> Announcer:
        """An announcer that knows webhooks, and these other kinds of targets."""
        window = Window(self._state, self._clock, reserved_queue(self._namespace), namespace=self._namespace)
        webhook = WebhookKind(
            self._broker, self._state, self.reader, self.health, window, self.rules, namespace=self._namespace,
            public_url=self._settings.public_url,
        )  # fmt: skip
        known: dict[str, TargetKind] = {**(kinds or {}), webhook.name: webhook}
        half_done = HalfDone(self._state, namespace=self._namespace)
        return Announcer(self._broker, known, send, half_done, self._clock)

    async def test(self, name: str) -> Answer:
        """Post a signed test request to an endpoint; how it answered. Raises `UnknownEndpoint`, `SecretUnreadable`."""
        endpoint = await self.endpoints.get(name)
        now = self._state.wall()
        keys = [self._box.key(one, name) for one in endpoint.secrets_at(now)]
        raw = sample_body(now)
        transport = Transport(self.rules, self._clock)
        try:
            return await transport.post(endpoint.url, raw, headers_for(f"test_{new_id(now)}", int(now), raw, keys))
        finally:
            await transport.close()

    def deliverer(
        self, *, publish: Callable[[Event], None] = lambda _: None, transport: Transport | None = None,
        detail: float = 0.0, telemetry: Telemetry | None = None,
    ) -> Deliverer:  # fmt: skip
        """What runs the deliveries, for `delivery_task`. Close it. `detail`: the part of them that is published."""
        return Deliverer(
            self._state, self.endpoints, self.reader, self.health, self._box, self.rules,
            transport or Transport(self.rules, self._clock), HostGate(self._clock),
            disable_seconds=self._settings.webhook_disable_seconds, publish=publish,
            detail=detail, telemetry=telemetry,
        )  # fmt: skip


def own_places(settings: Settings) -> set[tuple[str, int]]:
    """Hosts and ports under which our own API may be found, as far as the settings say."""
    names = {*_LOOPBACK, *settings.server_hosts, socket.gethostname().lower()}
    places = {(name, settings.server_port) for name in names}
    if settings.public_url is not None:
        url = urlsplit(settings.public_url)
        places.add((url.hostname or "", url.port or (443 if url.scheme == "https" else 80)))
    return places
