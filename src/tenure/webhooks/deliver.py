"""The task `webhook.deliver`: posts one delivery, signed, and says what came of it.

It looks up the endpoint, asks its health and its host's gate, signs and posts. A delivery that may not go out now comes
back uncounted; one that the receiver did not take is tried again for three days (`outcome.py`). Given up, it is a dead
letter with code `webhook_failed` and the last answer in its reason.

Made by the worker and the server, each with slots of its own. Before: `announcer.py`.
"""

import contextlib
import logging
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, NoReturn

import msgspec

from tenure.errors import BadArgument, BrokerError, ConfigurationError, WebhookRefused
from tenure.event import Event, EventKind
from tenure.middleware import Middleware
from tenure.monitoring.telemetry import TRACEPARENT, Telemetry
from tenure.retry import RetryPolicy
from tenure.rules.arguments import MOST_ATTEMPTS
from tenure.rules.reserved_queue import reserved_queue
from tenure.rules.sampling import sample_weight
from tenure.state import State
from tenure.tasks.call import Call, Options
from tenure.tasks.context import Context
from tenure.tasks.handle import Handle, Read, SyncHandle
from tenure.tasks.task import AsyncTask, Policy
from tenure.timing.policy import LeasePolicy
from tenure.verdict import Reject, Retry, Snooze
from tenure.webhooks.address import AddressRules
from tenure.webhooks.breaker import WELL, BreakerState, Health, after_failure, has_failed_for, probing, state_of
from tenure.webhooks.delivery import TASK
from tenure.webhooks.endpoint import Endpoint
from tenure.webhooks.endpoints import FAILING, GONE, EndpointReader, Endpoints
from tenure.webhooks.health import HealthBook
from tenure.webhooks.host_gate import Crowded, HostGate
from tenure.webhooks.lane import lane_of
from tenure.webhooks.outcome import PATIENCE_SECONDS, Again, Arrived, GivenUp, Later, asked_for, describe, judge
from tenure.webhooks.secret import SecretBox
from tenure.webhooks.signature import headers_for
from tenure.webhooks.targets import endpoint_for
from tenure.webhooks.transport import Answer, Transport

logger = logging.getLogger("tenure.webhooks")

#: How long a delivery for a disabled endpoint waits before it looks again, and one whose secret cannot be read.
DISABLED_SECONDS, UNSIGNED_SECONDS = 300.0, 60.0
DISABLE_SECONDS = 5 * 86_400.0
#: How long a delivery is leased, whatever lease the app's own tasks have.
LEASE_SECONDS = 30.0
#: Deliveries that wait for the same moment come back within so long after it.
_SPREAD_SECONDS = 5.0


class DeliveryFailed(Reject):
    """The receiver did not take it for three days, or is gone."""

    code: ClassVar[str] = "webhook_failed"


class DeliveryUndirected(Reject):
    """Its endpoint is not there any more, or may not be used for its URL."""

    code: ClassVar[str] = "webhook_endpoint_missing"


class DeliveryStopped(Reject):
    """Its endpoint was disabled, or could not be signed for, for three days."""

    code: ClassVar[str] = "webhook_disabled"


class Delivered(msgspec.Struct, frozen=True):
    """The result of a delivery: what the receiver answered."""

    status: int
    seconds: float
    #: Where it went; `url` where that is not the endpoint's own.
    endpoint: str | None = None
    url: str | None = None
    #: What it told: the end of which message, and the word for it.
    task_id: str | None = None
    told: str | None = None


class _Told(msgspec.Struct, frozen=True):
    """What the result of a delivery repeats of its body."""

    task_id: str | None = None
    status: str | None = None


class _Vain(msgspec.Struct, frozen=True):
    """The checkpoint of a delivery that did not arrive at once: since when, in this generation."""

    generation: int
    since: float


class Deliverer:
    """Posts deliveries. One for each process; it lives in the loop that runs the task."""

    def __init__(  # noqa: PLR0913 - made in one place, by who runs deliveries
        self, state: State, endpoints: Endpoints, reader: EndpointReader, health: HealthBook, box: SecretBox,
        rules: AddressRules, transport: Transport, gate: HostGate, *, disable_seconds: float = DISABLE_SECONDS,
        publish: Callable[[Event], None] = lambda _: None, draw: Callable[[], float] = random.random,
        detail: float = 0.0, telemetry: Telemetry | None = None,
    ) -> None:  # fmt: skip
        """An endpoint that failed for `disable_seconds` is disabled.

        `publish` takes that as an event, each delivery that failed, and the part `detail` of those that did not.
        """
        self._telemetry = telemetry
        self._state = state
        self._endpoints = endpoints
        self._reader = reader
        self._health = health
        self._box = box
        self._rules = rules
        self._transport = transport
        self._gate = gate
        self._disable_seconds = disable_seconds
        self._publish = publish
        self._draw = draw
        self._detail = detail

    async def deliver(
        self, ctx: Context, endpoint: str, webhook_id: str, body: msgspec.Raw, url: str | None = None
    ) -> Delivered:
        """Post one delivery. The handler of `webhook.deliver`."""
        to = await self._find(ctx, endpoint, url)
        if to.disabled is not None:
            await self._wait(ctx, DISABLED_SECONDS, f"endpoint {to.name} is disabled: {to.disabled.reason}")
        keys = await self._keys(ctx, to)
        own = url is None or url == to.url
        lane = lane_of(to.name, None if own else url)
        await self._ask_health(ctx, lane)
        raw, place = bytes(body), to.url if url is None else url
        headers = headers_for(webhook_id, int(self._state.wall()), raw, keys)
        try:
            async with self._gate.enter(lane):
                answer = await self._post(ctx, to.name, place, raw, headers)
        except Crowded as crowded:
            raise Snooze(crowded.after, "the receiver has enough requests of this worker") from None
        delivered = await self._conclude(ctx, to, lane, answer, own=own)
        told = msgspec.json.decode(raw, type=_Told)
        return msgspec.structs.replace(
            delivered, endpoint=to.name, url=None if own else url, task_id=told.task_id, told=told.status
        )

    async def _post(self, ctx: Context, endpoint: str, url: str, body: bytes, headers: dict[str, str]) -> Answer:
        """Post, in the trace that the work belongs to."""
        if self._telemetry is None:
            known = ctx.message.headers.get(TRACEPARENT)
            own = {} if known is None else {TRACEPARENT: known}
            return await self._transport.post(url, body, headers | own)
        with self._telemetry.posting(ctx.message, endpoint) as posting:
            answer = await self._transport.post(url, body, {**headers, **posting.headers})
            posting.answered(answer.status, answer.error)
            return answer

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    # -- before ------------------------------------------------------------------------------------

    async def _find(self, ctx: Context, name: str, url: str | None) -> Endpoint:
        found = await self._reader.find(name) if name else None
        if found is None and url is not None:  # it was not registered when the work ended; perhaps it is now
            try:
                return endpoint_for(url, await self._reader.all(), ctx.message.client, self._rules)
            except WebhookRefused as error:
                raise DeliveryUndirected(str(error)) from error
        if found is None:
            msg = f"there is no webhook endpoint {name!r} any more; add it, and replay this delivery"
            raise DeliveryUndirected(msg)
        # An operator may have changed it since the work ended.
        if not found.serves(ctx.message.client) or not found.may_call(url):
            msg = f"endpoint {name} is not for this client or URL any more; allow it, and replay this delivery"
            raise DeliveryUndirected(msg)
        return found

    async def _keys(self, ctx: Context, to: Endpoint) -> Sequence[bytes]:
        try:
            return [self._box.key(one, to.name) for one in to.secrets_at(self._state.wall())]
        except ConfigurationError as error:
            # Nothing goes out unsigned. Another process may have the key, or this one after its next start.
            logger.error("a webhook was not sent, and is tried again in %.0f s: %s", UNSIGNED_SECONDS, error)  # noqa: TRY400 - its text says it all
            return await self._wait(ctx, UNSIGNED_SECONDS, str(error))

    async def _ask_health(self, ctx: Context, lane: str) -> None:
        """Go on if the lane is closed, or if this delivery is the probe; else come back after its rest."""
        wall = self._state.wall()
        health = await self._health.of(lane)
        if health.is_well:
            return
        if state_of(health, wall) is not BreakerState.CLOSED:
            health = await self._health.of(lane, fresh=True)
        if state_of(health, wall) is BreakerState.HALF_OPEN:
            if await self._health.change(lane, lambda now: probing(now, wall)) is not None:
                return
            await self._wait(ctx, health.probed_until - wall, f"another delivery probes {lane}")
        if state_of(health, wall) is BreakerState.OPEN:
            # Not all at once: the first one to come back is the probe.
            after = health.rests_until - wall + _SPREAD_SECONDS * self._draw()
            await self._wait(ctx, after, f"{lane} rests after {health.failures} failures: {health.error}")

    async def _wait(self, ctx: Context, after: float, why: str) -> NoReturn:
        """Come back later, uncounted; given up when three days have passed."""
        left = PATIENCE_SECONDS - await self._waited(ctx)
        if left <= 0:
            msg = f"it waited for three days: {why}"
            raise DeliveryStopped(msg)
        raise Snooze(max(1.0, min(after, left)), why)

    async def _waited(self, ctx: Context) -> float:
        """Seconds since this delivery first did not arrive, in this generation. A replay begins anew."""
        wall = self._state.wall()
        vain = await ctx.last_checkpoint(_Vain)
        if vain is None or vain.generation != ctx.message.generation:
            await ctx.checkpoint(_Vain(ctx.message.generation, wall))
            return 0.0
        return wall - vain.since

    # -- after -------------------------------------------------------------------------------------

    async def _conclude(self, ctx: Context, to: Endpoint, lane: str, answer: Answer, *, own: bool) -> Delivered:
        if answer.status is not None and answer.is_ok:
            await self._note_success(lane)
            self._tell(ctx, EventKind.WEBHOOK_DELIVERED, to, answer, sample_weight(ctx.message.id, self._detail))
            return Delivered(answer.status, round(answer.seconds, 3))
        text = describe(answer)
        self._tell(ctx, EventKind.WEBHOOK_FAILED, to, answer, reason=text)
        health = await self._note_failure(lane, answer, text)
        waited = await self._waited(ctx)
        outcome = judge(answer, ctx.attempt, waited, self._draw)
        if own:
            await self._perhaps_disable(to, health, text, gone=isinstance(outcome, GivenUp) and outcome.gone)
        match outcome:
            case Again(after):
                raise Retry(min(after, self._rest(health)), text)
            case Later(after):
                raise Snooze(after, text)
            case Arrived() | GivenUp():
                days = f", {waited / 3600:.0f} h after the first attempt" if waited else ""
                raise DeliveryFailed(f"{text} (attempt {ctx.attempt}{days})")

    def _tell(
        self, ctx: Context, kind: EventKind, to: Endpoint, answer: Answer, weight: float | None = None, **more: str
    ) -> None:
        """Publish how one delivery went."""
        if kind is EventKind.WEBHOOK_DELIVERED and weight is None:
            return
        message = ctx.message
        about: dict[str, object] = {"endpoint": to.name, "delivery_seconds": round(answer.seconds, 3), **more}
        about |= {} if answer.status is None else {"status": answer.status}
        about |= {} if message.correlation_id is None else {"correlation_id": message.correlation_id}
        about |= {} if weight is None else {"sample_weight": weight}
        self._publish(
            Event(kind, self._state.wall(), message.queue, message.task, message.id, attempt=ctx.attempt, data=about)
        )

    def _rest(self, health: Health | None) -> float:
        """While the whole lane fails, the fault is not this delivery's: it comes back with the others, to probe."""
        left = 0.0 if health is None else health.rests_until - self._state.wall()
        return left + _SPREAD_SECONDS * self._draw() if left > 0 else float("inf")

    async def _note_success(self, lane: str) -> None:
        # The receiver has it, whatever the store says: an error here would only post it again.
        with contextlib.suppress(BrokerError):
            if not (await self._health.of(lane)).is_well:
                await self._health.change(lane, lambda _: WELL)

    async def _note_failure(self, lane: str, answer: Answer, text: str) -> Health | None:
        wall, after = self._state.wall(), asked_for(answer)
        with contextlib.suppress(BrokerError):
            return await self._health.change(
                lane, lambda health: after_failure(health, wall, answer.status, text, retry_after=after)
            )
        return None

    async def _perhaps_disable(self, to: Endpoint, health: Health | None, text: str, *, gone: bool) -> None:
        """Disable an endpoint that is gone, or has failed for too long, and publish that once."""
        if gone:
            code, reason = GONE, f"it answered that it is gone for good ({text})"
        elif health is not None and has_failed_for(health, self._state.wall(), self._disable_seconds):
            days = (self._state.wall() - (health.since or 0.0)) / 86_400
            code, reason = FAILING, f"it has failed for {days:.1f} days, {health.failures} times in a row ({text})"
        else:
            return
        try:
            changed = await self._endpoints.disable(to.name, reason, code=code)
        except (ConfigurationError, BadArgument) as error:  # removed, or changed by others, at this very moment
            logger.info("endpoint %s was not disabled: %s", to.name, error)
            return
        self._reader.forget()
        if changed:
            logger.error("webhook endpoint %s is disabled: %s", to.name, reason)
            about = {"endpoint": to.name, "code": code, "reason": reason}
            self._publish(Event(EventKind.WEBHOOK_DISABLED, self._state.wall(), data=about))


class _NoApp:
    """What a task asks of its app, for one that belongs to none: users' middleware and lifespan are not for it."""

    middleware: Sequence[Middleware] = ()

    def _enter_lifespan(self) -> AbstractAsyncContextManager[Any]:
        return contextlib.nullcontext()

    def handle(self, id: str, read: Read | None = None) -> Handle[Any]:
        return self._none(id, read)

    async def _submit_call(self, call: Call[Any], options: Options) -> Handle[Any]:
        return self._none(call, options)

    def _submit_call_sync(self, call: Call[Any], options: Options) -> SyncHandle[Any]:
        return self._none(call, options)

    def _none(self, *_given: object) -> NoReturn:
        msg = f"{TASK} is made by the announcer; give submit a webhook= instead"
        raise RuntimeError(msg)


def delivery_task(deliverer: Deliverer, namespace: str | None) -> AsyncTask[..., Delivered]:
    """The task that a worker registers for the reserved queue."""
    policy = Policy(
        # How often and how long is decided by `outcome.py`; these only must not be in its way.
        retry=RetryPolicy(max_attempts=MOST_ATTEMPTS, max_delay_seconds=PATIENCE_SECONDS, max_snoozes=MOST_ATTEMPTS),
        lease=LeasePolicy(seconds=LEASE_SECONDS),
        # Workers die of other handlers while deliveries wait for an answer: a delivery is never the reason.
        isolates=False,
    )
    return AsyncTask(_NoApp(), deliverer.deliver, TASK, reserved_queue(namespace), policy, None)
