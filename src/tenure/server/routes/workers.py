"""Workers: who is alive, and what each holds."""

from starlette.responses import Response

from tenure.client.operations.workers import WorkerList
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, NOW
from tenure.server.routes.page import cut, reply_list
from tenure.server.routes.parameters import PageQuery


class WorkerPage(WorkerList, frozen=True, kw_only=True):
    """One page of the workers, by name. Those that are gone are on the first page."""

    #: Where to go on. Null: at the end.
    after: str | None = None


async def list_workers(ask: Ask[PageQuery, None]) -> Reply | Response:
    """Who is there."""
    limit = ask.query.limit

    async def read(after: str) -> tuple[WorkerPage, str | None]:
        found = await ask.operate.workers()
        page, following = cut(found.workers, lambda row: f"{row.name} {row.id}", after=after, limit=limit)
        return WorkerPage(workers=page, gone=() if after else found.gone, after=following), following

    return await reply_list(ask, "workers", read, after=ask.query.after)


ROUTES = (
    Route(
        method="GET", path="/workers", scope=AccessScope.READ, handler=list_workers, query=PageQuery,
        answer=WorkerPage, summary="List the workers",
        description="Those that are alive, with what each holds, and those that are proven gone.",
        example={
            "workers": [{
                "id": "web-1:4242:9f31", "name": "web-1:4242", "host": "web-1", "pid": 4242, "started_at": NOW - 3600,
                "queues": ["acme-tasks"], "concurrency": 10,
                "holds": [{"id": ID, "queue": "acme-tasks", "task": "resize"}], "silent_seconds": 0.4, "slot": "",
            }],
            "gone": [{"id": "web-2:17:1c0d", "proof": "its process has ended"}], "after": None,
        },
        rows="workers", is_tagged=True,
    ),
)  # fmt: skip
