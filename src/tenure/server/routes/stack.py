"""Stack: what the handler of a message does now, asked of the worker that runs it."""

from tenure.errors import AmbiguousId, MessageNotFound, NotRunning, StackUnanswered
from tenure.handler_stack import HandlerStack
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, NOW


async def ask_stack(ask: Ask[None, None]) -> Reply:
    """Where it is."""
    return Reply(value=await ask.operate.stack(ask.path["id"]))


ROUTES = (
    Route(
        method="POST", path="/messages/{id}/stack", scope=AccessScope.OPERATE, handler=ask_stack, answer=HandlerStack,
        summary="See what the handler of a message does now",
        description=(
            "Asks the worker that runs it: file, line and function of each call that is under way, and no variables. "
            "It answers within two seconds, as a rule. Written to the audit log."
        ),
        example={
            "id": ID, "queue": "acme-tasks", "task": "resize", "owner": "web-1/9f31", "taken_at": NOW,
            "phase": "running", "runs_in": "thread", "pid": 4242, "running_seconds": 12.5,
            "stack": {
                "frames": [{"file": "jobs.py", "line": 12, "function": "resize", "kind": "user"}], "left_out": 0,
                "branches": [],
            },
            "holds": None, "holds_seconds": None, "held_up_by": None, "note": "", "memory_bytes": 64_000_000,
            "progress": {"fraction": 0.4, "note": "page 4 of 10"}, "progress_age_seconds": 0.5, "redacted": False,
        },
        errors=(MessageNotFound, AmbiguousId, NotRunning, StackUnanswered),
    ),
)  # fmt: skip
