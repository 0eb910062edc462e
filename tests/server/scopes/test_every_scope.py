"""Every route × every scope × own and foreign queue × token, cookie, hook: what the table says, and nothing leaks."""

import asyncio
import re

import msgspec
import pytest
from tests.server.streaming import streamed

from tenure.server.principal import AccessScope
from tenure.server.route_table import RouteTable
from tenure.server.routes import ROUTES
from tenure.testing.virtual import VirtualClock

from .table import ENTRIES, Entry
from .two_clients import CREDENTIALS, FOREIGN, NOBODYS, OWN, SECRET, Asking, asking

_TABLE = RouteTable(ROUTES)
_ROUTES = {(route.method, route.path): route for route in ROUTES}
#: What differs from one request to the next.
_CHANGING = re.compile(rb'"request_id":"[0-9a-f]{16}"|"(?:id|now|server_now|made_at|at)":"?[0-9a-f.]+"?|retry: \d+')


class Answer(msgspec.Struct, frozen=True):
    status: int
    #: Headers and body: everything that is told.
    text: bytes

    @property
    def code(self) -> str:
        return str(msgspec.json.decode(self.text.partition(b"\r\n\r\n")[2])["code"])


async def ask(asking: Asking, entry: Entry, client: str, *scopes: AccessScope, **more: str) -> Answer:
    """Ask about this client, with these scopes on one's own queues."""
    body = msgspec.json.encode(entry.body or {}).decode().replace("{client}", client)
    for mark, token in asking.leases.items():
        body = body.replace(mark, token)
    headers = {**await asking.headers(*scopes), **more}
    path = f"/api/v1{entry.path.replace('{client}', client)}"
    if entry.method != "GET":
        headers["Content-Type"] = "application/json"
    if entry.route == "/events/stream":
        return await _follow(asking, path, headers)
    response = await asking.client.request(entry.method, path, headers=headers, content=body)
    told = b"\r\n".join(name + b": " + value for name, value in response.headers.raw if name != b"x-request-id")
    return Answer(response.status_code, told + b"\r\n\r\n" + response.content)


async def _follow(asking: Asking, path: str, headers: dict[str, str]) -> Answer:
    """What a stream says at first; then the client leaves."""
    async with streamed(asking.application, path, headers) as one:
        await asyncio.sleep(3)
    return Answer(one.status, b"\r\n\r\n" + one.body)


def told_of(answer: Answer, client: str) -> bytes:
    """What an answer says, whoever it is about."""
    return re.sub(rb"(?i)content-length: \d+", b"", _CHANGING.sub(b"", answer.text.replace(client.encode(), b"CLIENT")))


def _needed(entry: Entry) -> AccessScope | None:
    """The scope that the route needs for this path."""
    path = entry.path.partition("?")[0].replace("{client}", OWN)
    route, parameters = _TABLE.find(entry.method, path.strip("/").split("/"))
    return route.scope_for(parameters)


def test_a_limit_of_a_client_needs_what_its_quota_needs() -> None:
    for method in ("PUT", "DELETE"):
        limit, quota = _ROUTES[method, "/queues/{queue}/limit"], _ROUTES[method, "/clients/{name}/quota"]
        assert limit.scope_for({"queue": "images"}) is AccessScope.OPERATE
        assert limit.scope_for({"queue": "acme-tasks"}) is limit.scope_for({"queue": "ns/acme-tasks"}) is quota.scope
        assert quota.scope is AccessScope.ADMIN


def test_every_route_has_its_entries() -> None:
    assert {(entry.method, entry.route) for entry in ENTRIES} == set(_ROUTES)
    for entry in ENTRIES:
        path = entry.path.partition("?")[0].replace("{client}", OWN)
        route, _ = _TABLE.find(entry.method, path.strip("/").split("/"))
        assert route.path == entry.route
    by_names = {entry.route for entry in ENTRIES if entry.foreign is not None}
    unnamed = {route.path for route in ROUTES if "{" in route.path} - by_names - {"/tokens/{id}"}
    assert not unnamed


#: What only looks is asked of one store; each act has a store of its own.
_LOOKS = [entry for entry in ENTRIES if entry.method == "GET"]
_ACTS = [entry for entry in ENTRIES if entry.method != "GET"]


@pytest.mark.parametrize("how", CREDENTIALS)
@pytest.mark.parametrize(
    "entries",
    [_LOOKS, *([act] for act in _ACTS)],
    ids=["looks", *(f"{act.method} {act.path}" for act in _ACTS)],
)
async def test_a_route_opens_to_its_scope_and_its_queues_only(
    virtual_clock: VirtualClock, entries: list[Entry], how: str
) -> None:
    async with asking(virtual_clock, how) as server:
        for entry in entries:
            needed = _needed(entry)
            if needed is not None:
                await _check_other_scopes(server, entry, needed)
            await _check_queues(server, entry, AccessScope.SEND if needed is None else needed)


async def _check_queues(server: Asking, entry: Entry, scope: AccessScope) -> None:
    """Another's queue is no other than one that is not there, and one's own answer says nothing of it."""
    if entry.foreign is not None:
        foreign = await ask(server, entry, FOREIGN, scope)
        assert foreign.status == entry.foreign, (entry, foreign.text)
        ghost = await ask(server, entry, NOBODYS, scope)
        assert told_of(foreign, FOREIGN) == told_of(ghost, NOBODYS), entry
    own = await ask(server, entry, OWN, scope)
    assert own.status == entry.own, (entry, own.text)
    assert entry.foreign is None or entry.method != "GET" or OWN.encode() in own.text, entry
    assert FOREIGN.encode() not in own.text, entry
    if scope is not AccessScope.PAYLOAD:
        assert SECRET.encode() not in own.text, entry


async def _check_other_scopes(server: Asking, entry: Entry, needed: AccessScope) -> None:
    """All scopes but the one that is needed open nothing, and say the same of everybody."""
    others = [scope for scope in AccessScope if scope is not needed]
    for scopes in ([one] for one in others):
        told = set()
        for client in (OWN, FOREIGN):
            answer = await ask(server, entry, client, *scopes)
            assert (answer.status, answer.code) == (403, "forbidden_scope"), (scopes, client, answer.text)
            told.add(told_of(answer, client))
        assert len(told) == 1
    assert (await ask(server, entry, OWN, *others)).status == 403
