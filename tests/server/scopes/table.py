"""The table: each route, asked about what is one's own and about what is another's, and what must be answered.

`{client}` in a path, query or body is `acme` for one's own, `umbrella` for a foreign and `phantom` for one that does
not exist. A new route needs its entries here.
"""

from collections.abc import Sequence
from typing import Any

import msgspec


class Entry(msgspec.Struct, frozen=True):
    """One request."""

    method: str
    #: As in the table of routes.
    route: str
    #: The values of the route's parameters, and its query.
    path: str
    #: The status for one's own, with exactly the scope that the route needs.
    own: int
    #: The status for another's. None: the request names nobody, so all of them are left out of the answer.
    foreign: int | None = None
    body: Any = None


def _entry(method: str, route: str, own: int, foreign: int | None = None, *, query: str = "", **more: Any) -> Entry:
    """With the parameters that the route's path means."""
    path = route
    for name, value in _PARAMETERS.items():
        path = path.replace("{" + name + "}", value)
    return Entry(method, route, f"{more.pop('path', path)}{query}", own, foreign, more.pop("body", None))


_PARAMETERS = {
    "queue": "{client}-tasks", "id": "{client}-dead", "name": "{client}", "task": "{client}_resize",
}  # fmt: skip
#: `two_clients.py` puts the signed token of that client's lease in its place.
_HELD = {"token": "<lease of {client}>"}
_MINE = "?queue={client}-tasks"

ENTRIES: Sequence[Entry] = (
    _entry("GET", "/overview", 200),
    _entry("GET", "/queues", 200),
    _entry("GET", "/queues/{queue}", 200, 404),
    _entry("DELETE", "/queues/{queue}", 409, 404),
    _entry("POST", "/queues/{queue}/pause", 200, 404),
    _entry("POST", "/queues/{queue}/resume", 200, 404),
    _entry("POST", "/queues/{queue}/purge", 200, 404),
    _entry("PUT", "/queues/{queue}/limit", 200, 404, body={"running": 2}),
    _entry("DELETE", "/queues/{queue}/limit", 200, 404),
    # The name of no client: another scope, and here no such queue either.
    _entry("PUT", "/queues/{queue}/limit", 404, 404, path="/queues/{client}-more/limit", body={"running": 2}),
    _entry("DELETE", "/queues/{queue}/limit", 404, 404, path="/queues/{client}-more/limit"),
    _entry("GET", "/clients", 200),
    _entry("GET", "/clients/{name}", 200, 404),
    _entry("POST", "/clients/{name}/pause", 200, 404),
    _entry("POST", "/clients/{name}/resume", 200, 404),
    _entry("POST", "/clients/{name}/purge", 200, 404),
    _entry("PUT", "/clients/{name}/quota", 200, 404, body={"running": 2}),
    _entry("DELETE", "/clients/{name}/quota", 200, 404),
    _entry("PUT", "/clients/{name}/weight", 200, 404, body={"weight": 3}),
    _entry("DELETE", "/clients/{name}/weight", 200, 404),
    _entry("POST", "/clients/{name}/forget", 200, 404, body={"dry_run": True}),
    _entry("GET", "/tasks", 200),
    _entry("GET", "/figures", 200),
    _entry("GET", "/timing", 200),
    _entry("GET", "/timing", 200, 404, query=_MINE),
    _entry("GET", "/timing", 200, 200, query="?queue={client}-*&task={client}_resize"),
    _entry("GET", "/scaling", 200),
    _entry("GET", "/scaling", 200, 404, query=_MINE),
    _entry("GET", "/scaling/{queue}", 200, 404),
    _entry(
        "POST",
        "/messages",
        200,
        200,
        body={"messages": [{"queue": "{client}-tasks", "task": "{client}_resize", "payload": {"image": "new.png"}}]},
    ),
    _entry(  # an id that is taken by another's message
        "POST",
        "/messages",
        200,
        200,
        body={"messages": [{"queue": "{client}-tasks", "task": "x", "id": "{client}-ready", "payload": 1}]},
    ),
    _entry("POST", "/tasks/{task}/submit", 201, 404, body={"payload": {"image": "new.png"}}),
    _entry("POST", "/lease", 200, 404, body={"queues": ["{client}-tasks"]}),
    _entry("POST", "/lease", 200, 404, body={"queues": ["{client}-*"], "want": 5}),
    _entry("POST", "/lease", 200, body={"queues": ["*"]}),
    *(
        _entry("POST", f"/leases/{verb}", 200, 200, body={"leases": [_HELD, {"token": "none"}]})
        for verb in ("ack", "nack", "touch", "give-back", "dead-letter")
    ),
    *(
        _entry("POST", f"/messages/{{id}}/{verb}", 200, 422, path=f"/messages/{{client}}-held/{verb}", body=_HELD)
        for verb in ("ack", "nack", "touch", "give-back", "dead-letter")
    ),
    _entry("GET", "/messages", 200),
    _entry("GET", "/messages", 200, 404, query=_MINE),
    _entry("GET", "/messages", 200, 404, query="?state=completed&queue={client}-tasks"),
    _entry("GET", "/messages", 200, 200, query="?queue={client}-*"),
    _entry("GET", "/messages", 200, 200, query="?task={client}_resize"),
    _entry("GET", "/messages/{id}", 200, 404),
    _entry("GET", "/messages/{id}", 200, 404, path="/messages/{client}-he"),
    _entry("GET", "/messages/{id}/status", 200, 404),
    _entry("GET", "/messages/{id}/events", 200, 404),
    _entry("GET", "/messages/{id}/result", 200, 404, path="/messages/{client}-done/result"),
    _entry("POST", "/messages/{id}/cancel", 200, 404, path="/messages/{client}-held/cancel"),
    _entry("POST", "/messages/{id}/run-now", 200, 404, path="/messages/{client}-ready/run-now"),
    _entry("GET", "/messages/{id}/children", 200, 404),
    _entry("GET", "/groups/{id}", 200, 404, path="/groups/{client}-group"),
    _entry("GET", "/groups/{id}/members", 200, 404, path="/groups/{client}-group/members"),
    _entry("POST", "/groups/{id}/cancel", 200, 404, path="/groups/{client}-group/cancel"),
    _entry("POST", "/messages/{id}/stack", 504, 404, path="/messages/{client}-held/stack"),
    _entry("DELETE", "/messages/{id}", 200, 404),
    _entry("POST", "/messages/{id}/redrive", 200, 404),
    _entry("POST", "/messages/{id}/edit", 200, 404, body={"payload": {"image": "b.png"}}),
    _entry("POST", "/messages/{id}/move", 200, 404, body={"queue": "acme-other"}),
    _entry("POST", "/messages/cancel", 200, 404, body={"ids": ["{client}-ready"]}),
    _entry("POST", "/messages/cancel", 200, 200, body={"queues": ["{client}-tasks"]}),
    _entry("GET", "/dead", 200),
    _entry("GET", "/dead", 200, 404, query=_MINE),
    _entry("GET", "/dead/groups", 200),
    _entry("GET", "/dead/groups", 200, 404, query=_MINE),
    _entry("POST", "/dead/redrive", 200, 404, body={"ids": ["{client}-dead"]}),
    _entry("POST", "/dead/redrive", 200, 404, body={"queues": ["{client}-tasks"]}),
    _entry("POST", "/dead/delete", 200, 404, body={"ids": ["{client}-dead"]}),
    _entry("POST", "/dead/delete", 200, body={"all": True}),
    _entry("POST", "/dead/move", 200, 404, body={"ids": ["{client}-dead"], "to": "acme-other"}),
    _entry("POST", "/dead/move", 200, 404, body={"ids": ["acme-dead"], "to": "{client}-tasks"}),
    _entry("GET", "/leases", 200),
    _entry("GET", "/leases", 200, 200, query=_MINE),
    _entry("POST", "/leases/{id}/touch", 200, 404, path="/leases/{client}-held/touch", body={"seconds": 60}),
    _entry("GET", "/workers", 200),
    _entry("POST", "/workers/{id}/drain", 200, 404, path="/workers/{client}-holder%2F1/drain"),
    _entry("POST", "/workers/{id}/stop", 200, 404, path="/workers/{client}-holder/stop"),
    _entry("GET", "/schedules", 200),
    _entry("POST", "/schedules/{name}/run", 200, 404),
    _entry("POST", "/schedules/{name}/pause", 200, 404),
    _entry("POST", "/schedules/{name}/resume", 200, 404),
    # Endpoints are not of a queue: for who is bound to some queues there are none.
    _entry("GET", "/webhooks/endpoints", 200),
    _entry(
        "POST", "/webhooks/endpoints", 404, body={"name": "x", "url": "https://hooks.example.com/", "secret": "env:X"}
    ),
    _entry("PUT", "/webhooks/endpoints/{name}", 404, 404, body={"url": "https://hooks.example.com/"}),
    _entry("DELETE", "/webhooks/endpoints/{name}", 404, 404),
    _entry("POST", "/webhooks/endpoints/{name}/rotate", 404, 404, body={"secret": "env:X"}),
    _entry("POST", "/webhooks/endpoints/{name}/disable", 404, 404, body={}),
    _entry("POST", "/webhooks/endpoints/{name}/enable", 404, 404),
    _entry("POST", "/webhooks/endpoints/{name}/test", 404, 404),
    _entry("GET", "/webhooks/deliveries", 200),
    _entry("POST", "/webhooks/deliveries/replay", 200, body={"endpoint": "orders"}),
    _entry("GET", "/findings", 200),
    _entry("GET", "/findings/{id}", 200, 404, path="/findings/duplicates@{client}-tasks"),
    _entry("POST", "/findings/{id}/ack", 200, 404, path="/findings/duplicates@{client}-tasks/ack"),
    _entry(
        "POST",
        "/findings/{id}/silence",
        200,
        404,
        path="/findings/duplicates@{client}-tasks/silence",
        body={"seconds": 60},
    ),
    _entry("GET", "/acts", 200),
    _entry("GET", "/acts", 200, 200, query=_MINE),
    _entry("GET", "/doctor", 200),
    _entry("GET", "/settings", 200),
    _entry("GET", "/tokens", 403),
    _entry("POST", "/tokens", 403, body={"name": "x", "scopes": ["admin"], "queues": ["*"]}),
    _entry("DELETE", "/tokens/{id}", 403, path="/tokens/0123456789ab"),
    _entry("GET", "/session", 200),
    _entry("POST", "/session", 401, body={"token": "tnr_0123456789ab_" + "0" * 64}),
    _entry("DELETE", "/session", 204),
    _entry("GET", "/events", 200),
    _entry("GET", "/events", 200, 200, query="?after=0&queue={client}-tasks"),
    _entry("GET", "/events", 200, 200, query="?after=0&message={client}-dead"),
    _entry("GET", "/events/stream", 200, query="?after=0&snapshot=overview&snapshot=leases"),
    _entry("GET", "/events/stream", 200, 200, query="?after=0&client={client}"),
    _entry("GET", "/events/stream", 200, 200, query="?after=0&message={client}-dead"),
    _entry("GET", "/snapshots/overview", 200),
    _entry("GET", "/snapshots/queues", 200),
    _entry("GET", "/snapshots/leases", 200),
    _entry("GET", "/openapi.json", 200),
    _entry("GET", "/docs", 200),
)
