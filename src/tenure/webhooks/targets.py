"""Targets: what a message asks for when it ends, as the text that it carries (`Message.announce`). Pure but for reads.

    webhook:orders                              the URL of endpoint `orders`
    webhook:orders https://a.example.com/hook   another URL, of a host that `orders` is for; signed with its secret
    webhook:https://a.example.com/hook          a URL of a message that Tenure did not send: resolved when it has ended
    … task_id=17                                the receiver knows the work by this id
    … trace=00-…-01                             the call belongs to this trace

`submit(webhook=…)` resolves before anything is sent, so a URL that may not be called is refused there.
"""

from urllib.parse import quote, unquote

import msgspec

from tenure.announcement import WEBHOOK_TARGET
from tenure.errors import WebhookRefused
from tenure.message import Outgoing
from tenure.monitoring.telemetry import sampled_context
from tenure.rules.arguments import meant
from tenure.webhooks.address import AddressRules, read
from tenure.webhooks.endpoint import Endpoint
from tenure.webhooks.endpoints import EndpointReader

#: What a webhook's target begins with.
PREFIX = WEBHOOK_TARGET
_TASK_ID = "task_id="
_CONTEXT = "trace="


class WebhookTarget(msgspec.Struct, frozen=True):
    """A target, read."""

    #: None: not known yet; `url` says where to.
    endpoint: str | None
    #: None: the endpoint's own.
    url: str | None = None
    #: By which id the receiver knows the work. None: the message's own.
    task_id: str | None = None
    #: The context of the trace that the work belongs to, if it is recorded.
    trace: str | None = None

    @property
    def text(self) -> str:
        """The text that a message carries."""
        words = [one for one in (self.endpoint, self.url) if one is not None]
        if self.task_id is not None:
            words.append(f"{_TASK_ID}{quote(self.task_id, safe='')}")
        if self.trace is not None:
            words.append(f"{_CONTEXT}{self.trace}")
        return PREFIX + " ".join(words)


def target_of(text: str) -> WebhookTarget:
    """Read a target of this kind. Raises `ValueError`."""
    words = text.removeprefix(PREFIX).split(" ")
    trace = words.pop().removeprefix(_CONTEXT) if words[-1].startswith(_CONTEXT) else None
    task_id = unquote(words.pop().removeprefix(_TASK_ID)) if words[-1].startswith(_TASK_ID) else None
    if not text.startswith(PREFIX) or not all(words) or not 1 <= len(words) <= 2:  # noqa: PLR2004 - as above
        msg = f"{text!r} is not a webhook as messages name it"
        raise ValueError(msg)
    if len(words) == 1 and "://" in words[0]:
        return WebhookTarget(None, words[0], task_id, trace)
    return WebhookTarget(words[0], words[1] if words[1:] else None, task_id, trace)


def with_context(out: Outgoing) -> Outgoing:
    """A message whose webhooks belong to its trace, if it is recorded: its envelope is gone when they are called."""
    message = out.message
    context = sampled_context(message) if message.announce else None
    if context is None:
        return out
    announce = tuple(
        f"{one} {_CONTEXT}{context}" if one.startswith(PREFIX) and _CONTEXT not in one else one
        for one in message.announce
    )
    return msgspec.structs.replace(out, message=msgspec.structs.replace(message, announce=announce))


async def resolve(
    webhook: str, endpoints: EndpointReader, client: str | None, rules: AddressRules, *, task_id: str | None = None
) -> str:
    """The target for `submit(webhook=…)`: an endpoint's name, or a URL. Raises `WebhookRefused`.

    A URL is accepted if it is that of an endpoint which `client` may use, or if its host is one of such an endpoint's.
    A disabled endpoint is accepted: what ends meanwhile waits for it.
    """
    if "://" in webhook:
        endpoint = endpoint_for(webhook, await endpoints.all(), client, rules)
        is_own = webhook == endpoint.url
        return WebhookTarget(endpoint.name, None if is_own else webhook, task_id).text
    found = await endpoints.find(webhook)
    if found is None or not found.serves(client):
        # One that belongs to others is not there: names are not for guessing.
        known = [one.name for one in (await endpoints.all()).values() if one.serves(client)]
        hint = meant(webhook, known) if known else "add it with tenure webhooks endpoints add"
        msg = f"webhook={webhook!r} is no endpoint that client {client or '-'} may use; {hint}. Nothing was sent"
        raise WebhookRefused(msg)
    return WebhookTarget(found.name, None, task_id).text


def endpoint_for(url: str, endpoints: dict[str, Endpoint], client: str | None, rules: AddressRules) -> Endpoint:
    """The endpoint whose secret signs calls of this URL. Raises `WebhookRefused`."""
    own = [endpoint for endpoint in endpoints.values() if endpoint.serves(client)]
    same = [endpoint for endpoint in own if endpoint.url == url]
    if same:
        return same[0]
    problem = rules.refusal(url)
    if not problem:
        for endpoint in own:
            if endpoint.may_call(url):
                return endpoint
        host = read(url).host
        problem = (
            f"{host} is not registered for client {client or '-'}; an operator can allow it for an endpoint: "
            f"tenure webhooks endpoints add NAME URL --host {host}"
        )
    msg = f"webhook={url!r} may not be called: {problem}. Nothing was sent"
    raise WebhookRefused(msg)
