"""A store in which two clients have one of everything, and a third one has nothing: `acme`, `umbrella`, `phantom`.

Everything of a client has its name in it, so that a leak is a word in an answer. Whoever asks is bound to the queues of
`acme`. What is answered about `umbrella` must be, word for word, what is answered about `phantom`.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx
from starlette.requests import Request

from tenure import Context, Tenure
from tenure.client.finding_store import FindingStore
from tenure.errors import NoResult
from tenure.lease import LeaseRequest
from tenure.monitoring.alerting.finding import AlertState
from tenure.monitoring.catalogue import AlertSeverity
from tenure.owner import Owner
from tenure.server.application import Application
from tenure.server.consumers.lease_token import LeaseName
from tenure.server.principal import AccessScope, Principal
from tenure.testing.virtual import VirtualClock

from ..asking import bearer, new_token, serving  # noqa: TID252 - the helpers of the folder above

OWN, FOREIGN, NOBODYS = "acme", "umbrella", "phantom"
#: In payloads, headers, results and error texts of every message.
SECRET = "4711-in-the-payload"
QUEUES = (f"{OWN}-*",)
#: How a request says who asks.
CREDENTIALS = ("token", "cookie", "hook")


def make_app(clock: VirtualClock) -> Tenure:
    app = Tenure(f"memory://{os.urandom(8).hex()}", clock=clock)
    for client in (OWN, FOREIGN):

        @app.task(name=f"{client}_resize", queue=f"{client}-tasks", max_attempts=1, reject_on=(ValueError,))
        async def resize(ctx: Context, image: str, note: str = "") -> dict[str, Any]:
            if image == "broken":
                msg = f"no such image: {note}"
                raise ValueError(msg)
            return {"note": note}

        app.schedule(resize.bind(f"{client}.png"), every=3600, name=client)
    return app


async def fill(app: Tenure) -> None:
    """Messages of every state, a worker that holds one, and a paused queue, for each of the two."""
    for client in (OWN, FOREIGN):
        more: dict[str, Any] = {"headers": {"note": f"{client} {SECRET}"}}
        payload = {"image": "a.png", "note": f"{client} {SECRET}"}
        await app.submit(f"{client}_resize", payload, id=f"{client}-held", key=f"{client}-key", **more)
        owner = Owner(f"{client}-holder", "1", queues=(f"{client}-tasks",), boot_id=app.clock.boot_id())
        await app.state.roster.join(owner)
        assert await app.broker.lease(LeaseRequest(owner.id, client, owner.queues, 1, 600.0, has_presence=True))
        for word, image in (("done", "a.png"), ("dead", "broken"), ("dead2", "broken")):
            await app.submit(f"{client}_resize", {**payload, "image": image}, id=f"{client}-{word}", **more)
        resize = app.find(f"{client}_resize")
        call = resize.bind("broken", f"{client} {SECRET}")
        await app.group([call, call.having(delay=7200)], then=call, id=f"{client}-group")
    async with app.worker(name="shared", queues=["*-tasks"]):
        for client in (OWN, FOREIGN):
            for word in ("done", "dead", "dead2"):
                with contextlib.suppress(NoResult):
                    await app.handle(f"{client}-{word}").result(timeout=30)
            group = app.group_handle(f"{client}-group")
            while not (await group.status()).dead:  # noqa: ASYNC110 - the store has no signal for it
                await asyncio.sleep(0.1)
    for client in (OWN, FOREIGN):
        payload = {"image": "a.png", "note": f"{client} {SECRET}"}
        await app.submit(f"{client}_resize", payload, id=f"{client}-ready")
        await app.submit(f"{client}_resize", payload, id=f"{client}-delayed", delay=3600)
        await app.operate.pause(f"{client}-tasks")
        await FindingStore(app.state).put(_finding(f"{client}-tasks", app.state.wall()), None)


def _finding(queue: str, now: float) -> AlertState:
    return AlertState(
        alert="duplicates", subject=queue, queue=queue, severity=AlertSeverity.TICKET, fired_at=now, value=0.01,
        evidence=f"3 of 300 in {queue}", seen_at=now,
    )  # fmt: skip


def by_header(request: Request) -> Principal | None:
    """The hook: it believes what the tests say."""
    words = request.headers.get("x-scopes")
    return None if words is None else Principal("viewer", frozenset(map(AccessScope, words.split())), QUEUES)


class Asking:
    """Asks one server, as somebody with these scopes on the queues of `acme`."""

    def __init__(self, application: Application, client: httpx.AsyncClient, how: str) -> None:
        self.application = application
        self.client = client
        self.how = how
        #: What stands for the signed token of a client's lease, and the token.
        self.leases: dict[str, str] = {}
        self._known: dict[frozenset[AccessScope], dict[str, str]] = {}

    async def headers(self, *scopes: AccessScope) -> dict[str, str]:
        """What says who asks."""
        key = frozenset(scopes)
        if key not in self._known:
            self._known[key] = await self._new(*scopes)
        return self._known[key]

    async def _new(self, *scopes: AccessScope) -> dict[str, str]:
        if self.how == "hook":
            return {"X-Scopes": " ".join(scopes)}
        token = await new_token(self.application, *scopes, name="viewer", queues=QUEUES)
        if self.how == "token":
            return bearer(token)
        answer = await self.client.post("/api/v1/session", json={"token": token})
        cookie = answer.headers["set-cookie"].partition(";")[0]
        self.client.cookies.clear()
        return {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}


@contextlib.asynccontextmanager
async def asking(clock: VirtualClock, how: str) -> AsyncIterator[Asking]:
    """A server of a store of its own, with everything in it."""
    app = make_app(clock)
    options = {"authenticate": by_header} if how == "hook" else {}
    async with serving(app, routes=(), **options) as (application, client):
        await fill(app)
        made = Asking(application, client, how)
        tokens = application.server.consumers.tokens
        for name in (OWN, FOREIGN):
            record = await app.record(f"{name}-held")
            assert record is not None
            assert record.owner is not None
            assert record.fence is not None
            lease = LeaseName(record.id, record.queue, record.owner, record.fence, f"{name}_resize", 0.0, 600.0)
            made.leases[f"<lease of {name}>"] = await tokens.write(lease)
        yield made
