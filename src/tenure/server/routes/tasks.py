"""Tasks: the handlers that there are, with their policies and rates."""

from starlette.responses import Response

from tenure.client.operations.overview.operations import TaskList
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import FLOW
from tenure.server.routes.page import cut, reply_list
from tenure.server.routes.parameters import PageQuery


class TaskPage(TaskList, frozen=True, kw_only=True):
    """One page of the tasks, by name and queue."""

    #: Where to go on. Null: at the end.
    after: str | None = None


async def list_tasks(ask: Ask[PageQuery, None]) -> Reply | Response:
    """List the tasks."""
    limit = ask.query.limit

    async def read(after: str) -> tuple[TaskPage, str | None]:
        found = await ask.operate.tasks()
        page, following = cut(found.tasks, lambda row: f"{row.task} {row.queue}", after=after, limit=limit)
        return TaskPage(tasks=page, window_seconds=found.window_seconds, after=following), following

    return await reply_list(ask, "tasks", read, after=ask.query.after)


ROUTES = (
    Route(
        method="GET", path="/tasks", scope=AccessScope.READ, handler=list_tasks, query=PageQuery, answer=TaskPage,
        summary="List the tasks",
        description="Those of the app's code, where the server knows it, and those that ran lately.",
        example={
            "tasks": [{
                "task": "resize", "queue": "acme-tasks", "in_app": True,
                "policy": {
                    "max_attempts": 3, "lease_seconds": 30.0, "heartbeat": True, "max_hold_seconds": None,
                    "concurrency": None, "runs_in": "loop", "parameters": ["image", "width"],
                },
                "running": 8, "waiting": 40, "flow": FLOW,
            }],
            "window_seconds": 60.0, "after": None,
        },
        rows="tasks", is_tagged=True,
    ),
)  # fmt: skip
