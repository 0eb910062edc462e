"""Amazon ECS: task scale-in protection, by the endpoint of the agent that every task finds in `ECS_AGENT_URI`.

A protected task is stopped neither by the service's autoscaling nor by a deployment. The protection ends by itself, so
that a task that hangs is not kept for ever: after half an hour, and it is renewed every ten minutes.

The task's role needs `ecs:UpdateTaskProtection`.
"""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from tenure.errors import ConfigurationError
from tenure.platforms.calls import Unanswered, call

_EXPIRES_MINUTES = 30
_OK = 200


class EcsTask:
    """The task that we run on, as its agent sees it."""

    name = "ECS"
    renew_seconds = _EXPIRES_MINUTES * 60 / 3

    def __init__(self, agent: str) -> None:
        """`agent` is the address of the agent."""
        self._url = f"{agent.rstrip('/')}/task-protection/v1/state"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "EcsTask":
        """The task that we run in. Raises `ConfigurationError` outside of one."""
        agent = environment.get("ECS_AGENT_URI", "")
        if not agent:
            msg = (
                "--platform ecs: ECS_AGENT_URI is not set, so this is no task of ECS, or its agent is too old for "
                "scale-in protection (1.65). Nothing was started"
            )
            raise ConfigurationError(msg)
        return cls(agent)

    async def tell(self, held: int) -> None:
        """Protect the task, or end its protection."""
        state: dict[str, Any] = {"ProtectionEnabled": held > 0}
        if held:
            state["ExpiresInMinutes"] = _EXPIRES_MINUTES
        answer = await call(
            "PUT", self._url, headers={"Content-Type": "application/json"}, body=msgspec.json.encode(state)
        )
        if answer.status != _OK:
            raise Unanswered(f"the agent answered {answer.status}: {answer.body[:300]!r}")
        try:
            said = msgspec.json.decode(answer.body, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise Unanswered(f"the agent's answer cannot be read: {error}") from error
        # The agent answers 200 also for a task that may not be protected, such as one of a blocked deployment.
        if "failure" in said or "protection" not in said:
            raise Unanswered(f"the agent refused: {said.get('failure') or said}")
