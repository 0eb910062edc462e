"""The target kind `webhook`: makes a delivery of an ending, for an endpoint that is there, well and has room.

    endpoint gone, or not for this URL     the delivery is put aside as a dead letter, to be replayed
    disabled, resting, or enough under way its endings wait as announcements
    half-open                              one delivery goes out, as the probe
    the ending is none that it gets        nothing is made

Given to `announcer.py`. After it: `deliver.py`.
"""

from collections.abc import Sequence

import msgspec

from tenure.announcement import Announcement
from tenure.broker import Broker, Refused
from tenure.errors import WebhookRefused
from tenure.message import Outgoing
from tenure.state import State
from tenure.verdict import Reason
from tenure.webhooks.address import AddressRules
from tenure.webhooks.breaker import BreakerState, state_of
from tenure.webhooks.delivery import delivery_of
from tenure.webhooks.endpoints import EndpointReader
from tenure.webhooks.health import HealthBook
from tenure.webhooks.lane import endpoint_of, lane_of
from tenure.webhooks.target_kind import NOTHING, Made
from tenure.webhooks.targets import PREFIX, WebhookTarget, endpoint_for, target_of
from tenure.webhooks.window import Window

#: Codes of deliveries that are put aside.
MISSING, REFUSED, UNREADABLE = "webhook_endpoint_missing", "webhook_refused", "webhook_unreadable"


class WebhookKind:
    """Webhooks, as a kind of target."""

    #: What its targets begin with.
    name = PREFIX.rstrip(":")

    def __init__(
        self, broker: Broker, state: State, reader: EndpointReader, health: HealthBook, window: Window,
        rules: AddressRules, *, namespace: str | None = None, public_url: str | None = None,
    ) -> None:  # fmt: skip
        """`public_url`: where a result that is too large can be read."""
        self._broker = broker
        self._state = state
        self._reader = reader
        self._health = health
        self._window = window
        self._rules = rules
        self._namespace = namespace
        self._public_url = public_url

    async def begin(self, endings: Sequence[tuple[Announcement, str]]) -> None:
        """Nothing is done for many at once."""

    async def lane(self, ending: Announcement, target: str) -> str | None:
        """The lane of its endpoint and host. None: nothing will be sent, so that it waits for nothing."""
        try:
            resolved = await self._resolve(ending, target)
        except (ValueError, WebhookRefused):
            return None
        endpoint = await self._reader.find(resolved.endpoint or "")
        if endpoint is None or ending.ending not in endpoint.events or not endpoint.serves(ending.client):
            return None
        return lane_of(endpoint.name, resolved.url)

    async def room(self, lane: str) -> int:
        """None while it rests or is disabled, one while it is tried, else up to the window."""
        endpoint = await self._reader.find(endpoint_of(lane))
        if endpoint is None or endpoint.disabled is not None:
            return 0
        state = state_of(await self._health.of(lane), self._state.wall())
        if state is BreakerState.OPEN:
            return 0
        if state is BreakerState.HALF_OPEN:
            return max(0, 1 - await self._window.count(lane))
        return await self._window.room(lane)

    async def make(self, ending: Announcement, target: str) -> Made:
        """The delivery, or why there is none."""
        try:
            resolved = await self._resolve(ending, target)
        except (ValueError, WebhookRefused) as error:
            unknown = _as_it_stands(target)
            code = REFUSED if isinstance(error, WebhookRefused) else UNREADABLE
            return self._aside(ending, unknown, Reason(code, f"{error}. Replay this delivery once it is allowed"))
        endpoint = await self._reader.find(resolved.endpoint or "")
        if endpoint is None:
            text = f"there is no webhook endpoint {resolved.endpoint!r}; add it, and replay this delivery"
            return self._aside(ending, resolved, Reason(MISSING, text))
        if ending.ending not in endpoint.events:
            return NOTHING
        if not endpoint.serves(ending.client):
            who = f"client {ending.client}" if ending.client else "a message without a client"
            text = f"{who} may not use endpoint {endpoint.name}; allow it, and replay this delivery"
            return self._aside(ending, resolved, Reason(REFUSED, text))
        return self._deliver(ending, resolved)

    async def reserve(self, lane: str, ids: Sequence[str]) -> None:
        """Enter them into the lane's window."""
        await self._window.add(lane, list(ids))

    async def is_reserved(self, lane: str, id: str) -> bool:
        """Whether it is in the lane's window."""
        return await self._window.has(lane, id)

    def _deliver(self, ending: Announcement, target: WebhookTarget) -> Made:
        """With its result if the broker takes so much, else with a link to it, else as a dead letter."""
        outgoing = self._delivery(ending, target)
        refusal = self._broker.refusal(outgoing)
        if refusal is not None and ending.result is not None:
            outgoing = self._delivery(ending, target, inline=False)
            refusal = self._broker.refusal(outgoing)
        if refusal is not None:
            return Made(aside=Refused(outgoing.message, refusal))
        return Made(outgoing)

    def _aside(self, ending: Announcement, target: WebhookTarget, reason: Reason) -> Made:
        made = self._delivery(ending, target)
        if self._broker.refusal(made) is not None:
            made = self._delivery(ending, target, inline=False)
        return Made(aside=Refused(made.message, reason))

    def _delivery(self, ending: Announcement, target: WebhookTarget, *, inline: bool = True) -> Outgoing:
        return delivery_of(
            ending, target, namespace=self._namespace, sent_at=self._state.wall(), public_url=self._public_url,
            inline=inline,
        )  # fmt: skip

    async def _resolve(self, ending: Announcement, target: str) -> WebhookTarget:
        """The target with its endpoint, also of a URL alone. Raises `ValueError`, `WebhookRefused`."""
        found = target_of(target)
        if found.endpoint is not None:
            return found
        url = found.url or ""
        endpoint = endpoint_for(url, await self._reader.all(), ending.client, self._rules)
        return msgspec.structs.replace(found, endpoint=endpoint.name, url=None if url == endpoint.url else url)


def _as_it_stands(target: str) -> WebhookTarget:
    try:
        return target_of(target)
    except ValueError:
        return WebhookTarget(None, target.removeprefix(PREFIX))
