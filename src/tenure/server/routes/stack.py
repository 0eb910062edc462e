"""The stack of a handler: where it is now, asked of the worker that holds its message."""

from typing import Annotated

import msgspec

from tenure.client.operations.stack import MOST_WAIT_SECONDS, WAIT_SECONDS
from tenure.errors import AmbiguousId, MessageNotFound, NotRunning, StackUnanswered
from tenure.handler_stack import HandlerStack
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, NOW


class StackRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long to wait for the worker."""

    #: Seconds; it answers within two, as a rule.
    wait: Annotated[float, msgspec.Meta(gt=0, le=MOST_WAIT_SECONDS)] = WAIT_SECONDS


async def read_stack(ask: Ask[None, StackRequest]) -> Reply:
    """Read the stack of a running handler."""
    return Reply(value=await ask.operate.stack(ask.path["id"], wait=ask.body.wait))


ROUTES = (
    Route(
        method="POST", path="/messages/{id}/stack", scope=AccessScope.OPERATE, handler=read_stack, body=StackRequest,
        answer=HandlerStack, summary="See what a handler is doing now",
        description=(
            "The worker that holds the message says where its handler is: file, line and function of each frame, and "
            "no variables. It is written to the audit log. A worker that does not answer in time is a problem with "
            "status 504."
        ),
        body_example={"wait": 5},
        example={
            "id": ID, "queue": "acme-tasks", "task": "resize", "owner": "web-1:4242:9f31", "taken_at": NOW,
            "phase": "running", "runs_in": "thread", "pid": 4242, "running_seconds": 12.5,
            "stack": {
                "frames": [{"file": "/srv/jobs.py", "line": 12, "function": "resize", "kind": "user"}], "left_out": 0,
                "branches": [],
            },
            "holds": None, "holds_seconds": None, "held_up_by": None, "note": "", "memory_bytes": 81264640,
            "progress": {"fraction": 0.4, "note": "page 4 of 10"}, "progress_age_seconds": 3.1, "redacted": False,
        },
        errors=(MessageNotFound, AmbiguousId, NotRunning, StackUnanswered),
    ),
)  # fmt: skip
