"""The webhooks that a message asks for, checked when it is sent: each names an endpoint that its client may use.

What may not be called is refused before anything is stored, as everything else that `send` refuses. A message that asks
for none costs nothing. Used by `client.py`; what is asked for is followed by `webhooks/announcer.py` when it ends.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tenure.announcement import WEBHOOK_TARGET
from tenure.broker import Broker, Sent
from tenure.clock import Clock
from tenure.config import Settings
from tenure.errors import WebhookRefused
from tenure.message import Outgoing
from tenure.state import State
from tenure.verdict import Reason

if TYPE_CHECKING:
    from tenure.webhooks.assembly import Webhooks


class WebhookTargets:
    """Checks what messages ask for, on one broker and state."""

    def __init__(
        self, broker: Broker, state: State, clock: Clock, settings: Settings, *, namespace: str | None = None
    ) -> None:
        """Nothing is read before a message asks for a webhook."""
        self._given = (broker, state, clock, settings)
        self._namespace = namespace
        self._webhooks: Webhooks | None = None

    @property
    def webhooks(self) -> "Webhooks":
        """The endpoints, and what is known of them."""
        if self._webhooks is None:
            from tenure.webhooks.assembly import Webhooks  # noqa: PLC0415 - most programs call none

            self._webhooks = Webhooks(*self._given, namespace=self._namespace)
        return self._webhooks

    async def resolve(self, outgoing: Outgoing) -> Outgoing:
        """The message with the endpoint of each of its webhooks. Raises `WebhookRefused`."""
        message = outgoing.message
        if not message.announce:
            return outgoing
        targets = tuple([await self._resolve(target, message.client) for target in message.announce])
        if targets == message.announce:
            return outgoing
        return msgspec.structs.replace(outgoing, message=msgspec.structs.replace(message, announce=targets))

    async def resolve_all(self, batch: Sequence[Outgoing]) -> tuple[list[Outgoing], dict[int, Sent]]:
        """As `resolve`, for raw messages: those that may be sent, and by place the answers for the others."""
        ready: list[Outgoing] = []
        refused: dict[int, Sent] = {}
        for place, outgoing in enumerate(batch):
            try:
                ready.append(await self.resolve(outgoing))
            except WebhookRefused as error:
                refused[place] = Sent(outgoing.message.id, refusal=Reason(error.code, str(error)))
        return ready, refused

    async def _resolve(self, target: str, client: str | None) -> str:
        webhook = target.removeprefix(WEBHOOK_TARGET)
        # Another kind of target; or one that has its endpoint already, as of a message that is sent again.
        if webhook == target or " " in webhook:
            return target
        return await self.webhooks.target(webhook, client)
