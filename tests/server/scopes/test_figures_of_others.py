"""A client's token is told the same, whatever other clients have: numbers leak too, not only names.

Two stores differ by what one client has in them. The other one asks every route that only looks, and compares.
"""

import asyncio
import os
import re
from typing import Any

import msgspec

from tenure import Tenure
from tenure.server.principal import AccessScope
from tenure.server.route_table import RouteTable
from tenure.server.routes import ROUTES
from tenure.testing.virtual import VirtualClock

from ..asking import bearer, new_token, serving  # noqa: TID252 - the helpers of the folder above
from .table import ENTRIES

OWN, FOREIGN = "acme", "umbrella"
_SCOPES = {(route.method, route.path): route.scope for route in ROUTES}
_TABLE = RouteTable(ROUTES)
#: Streams never end; the others say nothing of messages.
_LEFT_OUT = {"/events/stream", "/session", "/openapi.json", "/docs", "/messages/{id}/events", "/settings"}
_PATHS = sorted(
    {
        entry.path.replace("{client}_resize", "resize").replace("{client}", OWN)
        for entry in ENTRIES
        if entry.method == "GET" and entry.own == 200 and entry.route not in _LEFT_OUT
    }
)
#: Moments, ids of processes, places in the journal and the store's own name differ from one store to the next.
_CHANGING = re.compile(r"(^|_)(at|now|pid|seq|last|after|since|until|nonce|raw|started|owner|id)$|^store$")


async def _told(clock: VirtualClock, *, crowded: bool) -> dict[str, tuple[int, Any]]:
    app = Tenure(f"memory://{os.urandom(8).hex()}", clock=clock)

    @app.task(max_attempts=1, reject_on=(ValueError,))
    async def resize(image: str, takes: float = 0.5) -> str:
        if image == "broken":
            msg = f"no such image: {image}"
            raise ValueError(msg)
        await asyncio.sleep(takes)
        return image

    async with serving(app, routes=()) as (application, client):
        for name in (OWN, *([FOREIGN] if crowded else ())):
            count = 1 if name == OWN else 20
            for number in range(count):
                own = "" if name == OWN and not number else f"-{number}"
                for word, image in (("done", "a.png"), ("dead", "broken")):
                    takes = 0.5 if name == OWN else 7.0
                    payload = {"image": image, "takes": takes}
                    await app.submit("resize", payload, id=f"{name}-{word}{own}", client=name)
        async with app.worker(name="shared", clients="all", concurrency=50):
            await asyncio.sleep(30.0)
        for name in (OWN, *([FOREIGN] if crowded else ())):
            await app.submit("resize", {"image": "a.png"}, id=f"{name}-ready", client=name)
            await app.submit("resize", {"image": "a.png"}, id=f"{name}-delayed", client=name, delay=3600)
            await app.operate.pause(f"{name}-tasks")
        await asyncio.sleep(60.0)
        token = await new_token(application, *AccessScope, queues=[f"{OWN}-tasks"])
        answers = {}
        for path in _PATHS:
            response = await client.get(f"/api/v1{path}", headers=bearer(token))
            told = response.content
            answers[path] = (response.status_code, _steady(msgspec.json.decode(told)) if told else None)
            assert FOREIGN.encode() not in told, path
        return answers


def _steady(value: Any) -> Any:
    """Without what differs between two stores that have the same in them."""
    if isinstance(value, dict):
        return {name: _steady(one) for name, one in value.items() if not _CHANGING.search(name)}
    if isinstance(value, list):
        return [_steady(one) for one in value]
    return value


async def test_what_others_have_changes_no_answer(virtual_clock: VirtualClock) -> None:
    alone = await _told(virtual_clock, crowded=False)
    crowded = await _told(virtual_clock, crowded=True)
    assert len(alone) >= 25
    for path, told in alone.items():
        assert crowded[path] == told, path
