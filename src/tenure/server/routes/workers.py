"""Workers: who is alive, what each holds, how each does; drain or stop one."""

from starlette.responses import Response

from tenure.client.operations.workers import WorkerChange, WorkerList
from tenure.errors import AmbiguousId, WorkerGone, WorkerShared
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, NOW
from tenure.server.routes.page import cut, reply_list
from tenure.server.routes.parameters import PageQuery


class WorkerPage(WorkerList, frozen=True, kw_only=True):
    """One page of the workers, by name. Those that are gone, and consumers over HTTP, are on the first page."""

    #: Where to go on. Null: at the end.
    after: str | None = None


async def list_workers(ask: Ask[PageQuery, None]) -> Reply | Response:
    """List the workers."""
    limit = ask.query.limit

    async def read(after: str) -> tuple[WorkerPage, str | None]:
        found = await ask.operate.workers()
        page, following = cut(found.workers, lambda row: f"{row.name} {row.id}", after=after, limit=limit)
        first = not after
        return WorkerPage(
            workers=page,
            gone=found.gone if first else (),
            consumers=found.consumers if first else (),
            after=following,
        ), following

    return await reply_list(ask, "workers", read, after=ask.query.after)


async def drain_worker(ask: Ask[None, None]) -> Reply:
    """Drain a worker: it finishes what runs."""
    return Reply(value=await ask.operate.drain_worker(ask.path["id"]))


async def stop_worker(ask: Ask[None, None]) -> Reply:
    """Stop a worker, as SIGTERM does."""
    return Reply(value=await ask.operate.stop_worker(ask.path["id"]))


_ERRORS = (WorkerGone, WorkerShared, AmbiguousId)

ROUTES = (
    Route(
        method="GET", path="/workers", scope=AccessScope.READ, handler=list_workers, query=PageQuery,
        answer=WorkerPage, summary="List the workers",
        description=(
            "Those that are alive, with what each holds and what it said of itself last, and those that are proven "
            "gone. With them the consumers that lease over HTTP."
        ),
        example={
            "workers": [{
                "id": "web-1:4242/9f31c2ab", "name": "web-1:4242", "host": "web-1", "pid": 4242,
                "started_at": NOW - 3600, "queues": ["acme-tasks"], "concurrency": 10,
                "holds": [{"id": ID, "queue": "acme-tasks", "task": "resize"}], "silent_seconds": 0.4, "slot": "",
                "version": "0.2.0", "cpu_percent": 12.5, "memory_bytes": 81264640, "draining": True,
                "draining_since": NOW - 20, "leaving": "drained by alice (dashboard)", "rate_per_minute": 312.0,
                "errors_per_minute": 2.0,
            }],
            "gone": [{"id": "web-2:17/1c0d77e0", "proof": "its process has ended"}],
            "consumers": [{
                "id": "http:0123456789ab/shop-1", "name": "shop-1", "token": "0123456789ab", "queues": ["acme-tasks"],
                "holds": [{"id": ID, "queue": "acme-tasks", "task": "resize"}], "silent_seconds": 4.2,
                "rate_per_minute": 61.0, "errors_per_minute": 1.0,
            }],
            "after": None,
        },
        rows="workers", is_tagged=True,
    ),
    Route(
        method="POST", path="/workers/{id}/drain", scope=AccessScope.OPERATE, handler=drain_worker,
        answer=WorkerChange, summary="Drain a worker",
        description=(
            "It leases nothing more, finishes what runs, however long that takes, and stops with exit code 0. It hears "
            "it within a second or two. A supervisor starts no other in its place. `id` is percent-encoded: it has a "
            "slash."
        ),
        example={"id": "web-1:4242/9f31c2ab", "act": "drain", "changed": True, "version": "0.2.0"}, errors=_ERRORS,
    ),
    Route(
        method="POST", path="/workers/{id}/stop", scope=AccessScope.OPERATE, handler=stop_worker,
        answer=WorkerChange, summary="Stop a worker",
        description=(
            "As on SIGTERM: what runs gets the worker's grace, the rest goes back to its queue. A supervisor starts no "
            "other in its place."
        ),
        example={"id": "web-1:4242/9f31c2ab", "act": "stop", "changed": True, "version": "0.2.0"}, errors=_ERRORS,
    ),
)  # fmt: skip
