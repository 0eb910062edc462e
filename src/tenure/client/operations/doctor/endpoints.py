"""Webhook endpoints: whether they are encrypted, enabled and answering, and whether every name leads to one."""

from collections.abc import Iterator, Sequence

from tenure.client.operations.doctor.facts import Facts
from tenure.client.operations.webhook_endpoints import EndpointStatus, WebhookEndpointOperations
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.rules.open_connection import plain_host
from tenure.text.plural import plural
from tenure.webhooks.breaker import BreakerState

_EVERYTHING = frozenset({"0.0.0.0/0", "::/0", "*"})


async def examine(facts: Facts) -> Sequence[Examination]:
    """Judge the endpoints as they are registered; none is called."""
    if not facts.access.sees_every_queue:
        return []
    found = (await WebhookEndpointOperations(facts.access).endpoints()).endpoints
    findings = [finding for one in found for finding in _findings(one)]
    findings += _unknown(facts, {one.name for one in found})
    findings += _allowed(facts)
    return [
        Examination(
            id="endpoints", area=Area.WEBHOOKS, title="endpoints", findings=tuple(findings),
            seen=plural(len(found), "endpoint") if found else "none is registered",
        )
    ]  # fmt: skip


def _findings(one: EndpointStatus) -> Iterator[Finding]:
    subject = f"endpoint {one.name}"
    if plain_host(one.url) is not None:
        evidence = f"{one.url} is not encrypted: results can be read on the way, though not forged"
        remedy = f"Give it an https URL: tenure webhooks endpoints change {one.name} --url https://…"
        yield Finding("webhook_not_encrypted", Severity.WARNING, subject, evidence, remedy)
    if one.disabled is not None:
        evidence = f"it is disabled ({one.disabled.reason}): its endings wait and are not told"
        remedy = f"Repair the receiver, then: tenure webhooks endpoints enable {one.name}; or remove the endpoint"
        yield Finding("webhook_disabled", Severity.WARNING, subject, evidence, remedy)
    elif one.health.state is BreakerState.OPEN:
        evidence = f"{plural(one.health.failures, 'failure')} in a row, so it rests: {one.health.error or 'no answer'}"
        remedy = f"Look at the receiver, then: tenure webhooks endpoints test {one.name}"
        yield Finding("webhook_failing", Severity.WARNING, subject, evidence, remedy)


def _unknown(facts: Facts, known: set[str]) -> Iterator[Finding]:
    """Names in settings and tasks that lead to no endpoint: those endings become dead deliveries."""
    settings = facts.access.settings
    named = {"TENURE_WEBHOOK": settings.webhook, "TENURE_ALERT_WEBHOOK": settings.alert_webhook}
    named |= {
        f"task {name}": task.webhook for name, task in facts.access.tasks.items() if facts.access.sees(task.queue)
    }
    for where, name in named.items():
        if name is not None and "://" not in name and name not in known:
            evidence = f"it names the endpoint {name!r}, which is not registered: no webhook goes out"
            remedy = f"Register it: tenure webhooks endpoints add {name} https://…; or correct the name"
            yield Finding("webhook_unknown", Severity.WARNING, where, evidence, remedy)


def _allowed(facts: Facts) -> Iterator[Finding]:
    wide = [one for one in facts.access.settings.webhook_allow if one in _EVERYTHING]
    if wide:
        evidence = f"webhooks may call every address ({', '.join(wide)}), also this network's own machines"
        remedy = "Name the hosts that may be called, such as hooks.internal:8080"
        yield Finding("webhook_allow_everything", Severity.CRITICAL, "TENURE_WEBHOOK_ALLOW", evidence, remedy)
