"""Asking a server in process: an application over ASGI, in the test's own loop and time."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import msgspec

from tenure import Tenure
from tenure.server.application import Application, asgi
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes import ROUTES
from tenure.server.server import Server

HERE = ("127.0.0.1", 50_000)
ELSEWHERE = ("203.0.113.7", 50_000)
ALL = sorted(AccessScope)


class Text(msgspec.Struct):
    text: str = ""
    count: int = 0


class Words(msgspec.Struct):
    limit: int = 10
    queue: tuple[str, ...] = ()
    deep: bool = False


async def echo(ask: Ask[Words, Text]) -> Reply:
    return Reply(value={"text": ask.body.text, "by": ask.principal.name})


async def long_text(ask: Ask[Words, None]) -> Reply:
    return Reply(value={"text": "x" * ask.query.limit, "queues": ask.query.queue}, is_secret=ask.query.deep)


async def fail(ask: Ask[None, None]) -> Reply:
    msg = "a secret of the inside"
    raise RuntimeError(msg)


#: Routes that do little, besides the real ones.
OWN = (
    Route(method="POST", path="/echo", scope=AccessScope.OPERATE, handler=echo, query=Words, body=Text, summary="Echo"),
    Route(method="GET", path="/text", scope=AccessScope.READ, handler=long_text, query=Words, summary="Text"),
    Route(method="GET", path="/fail", scope=AccessScope.READ, handler=fail, summary="Fail"),
    Route(method="GET", path="/things/{name}/parts/{part}", scope=AccessScope.READ, handler=fail, summary="Parts"),
    Route(method="GET", path="/things/all", scope=AccessScope.READ, handler=fail, summary="All"),
)


def application(app: Tenure | str, routes: Sequence[Route] = OWN, **options: Any) -> Application:
    made = asgi(app, **options)
    return Application(Server(made.server.app, made.server.options), (*ROUTES, *routes))


def client_of(
    served: Application, *, client: tuple[str, int] = HERE, url: str = "http://127.0.0.1:8383", **more: Any
) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=served, client=client, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=url, **more)


@contextlib.asynccontextmanager
async def serving(app: Tenure | str, **options: Any) -> AsyncIterator[tuple[Application, httpx.AsyncClient]]:
    """A started application, and a client of this machine without credentials."""
    served = application(app, **options)
    async with served.lifespan(), client_of(served) as client:
        yield served, client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def new_token(
    served: Application, *scopes: AccessScope, name: str = "ci", queues: Sequence[str] = ("*",), **more: Any
) -> str:
    made = await served.server.tokens.create(name, scopes or ALL, queues, **more)
    return made.token
