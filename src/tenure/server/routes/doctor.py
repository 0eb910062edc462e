"""The doctor: whether the set-up is sound, as the server's own process sees it."""

from tenure.client.operations.doctor.diagnosis import Diagnosis
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import NOW


async def diagnose(ask: Ask[None, None]) -> Reply:
    """Compare the configuration with reality."""
    return Reply(value=await ask.operate.doctor())


ROUTES = (
    Route(
        method="GET", path="/doctor", scope=AccessScope.ADMIN, handler=diagnose, answer=Diagnosis,
        summary="Check the whole set-up",
        description=(
            "Store, queues, workers, leases, tokens, webhooks and settings against reality, each finding with what to "
            "do. Settings, clock and credentials are those of the server's own process. Takes two sweep intervals if "
            "no sweep runs, and some requests for each queue in the cloud: for people and pipelines, not for probes."
        ),
        example={
            "healthy": False, "store": "redis://queue.example.com:6379/0", "at": NOW,
            "checks": [{
                "id": "eviction", "area": "store", "title": "eviction", "outcome": "critical", "seen": "allkeys-lru",
                "findings": ["eviction_policy"],
            }],
            "findings": [{
                "id": "eviction_policy", "severity": "critical", "subject": "Redis at queue.example.com:6379",
                "evidence": "when its memory is full it may drop keys, and messages with them (by allkeys-lru)",
                "remedy": "Set maxmemory-policy to noeviction",
            }],
        },
    ),
)  # fmt: skip
