"""Where the handler of a message is now, asked of the worker that holds it (`client/operations/stack.py`)."""

from tenure.errors import AmbiguousId, MessageNotFound, NotRunning, StackUnanswered
from tenure.handler_stack import HandlerStack
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, NOW


async def read_stack(ask: Ask[None, None]) -> Reply:
    """Ask its worker."""
    return Reply(value=await ask.operate.stack(ask.path["id"]))


_FRAMES = [{"file": "app/images.py", "line": 42, "function": "resize", "kind": "user"}]

ROUTES = (
    Route(
        method="POST", path="/messages/{id}/stack", scope=AccessScope.OPERATE, handler=read_stack,
        answer=HandlerStack, summary="See where a running handler is",
        description=(
            "Its worker answers within about two seconds with file, line and function of each frame, without "
            "variables. The look is recorded as an act."
        ),
        example={
            "id": ID, "queue": "acme-tasks", "task": "resize", "owner": "web-1:4242:9f31", "taken_at": NOW,
            "phase": "running", "runs_in": "loop", "pid": 4242, "running_seconds": 12.5,
            "stack": {"frames": _FRAMES, "left_out": 0, "branches": []}, "holds": None, "holds_seconds": None,
            "held_up_by": None, "note": "", "memory_bytes": 61_000_000, "progress": None,
            "progress_age_seconds": None, "redacted": False,
        },
        errors=(MessageNotFound, AmbiguousId, NotRunning, StackUnanswered),
    ),
)  # fmt: skip
