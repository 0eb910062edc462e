"""Settings: what is in force, and where each came from."""

from tenure.client.operations.settings import SettingList
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route


async def list_settings(ask: Ask[None, None]) -> Reply:
    """List the settings."""
    return Reply(value=await ask.operate.settings())


ROUTES = (
    Route(
        method="GET", path="/settings", scope=AccessScope.ADMIN, handler=list_settings, answer=SettingList,
        summary="Show the settings in force",
        description="Of the server's own process, with where each came from. Secrets are masked.",
        example={
            "settings": [{
                "name": "lease_seconds", "value": 30.0, "source": "default", "variable": "TENURE_LEASE",
                "allowed": "seconds from 0.05 to 43200",
            }],
        },
        is_tagged=True,
    ),
)  # fmt: skip
