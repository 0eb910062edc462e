"""Amazon EC2: what the instance's metadata say of its end (IMDSv2).

    spot/instance-action                    a spot instance is interrupted, two minutes before
    autoscaling/target-lifecycle-state      its Auto Scaling group takes it away

Asked at `AWS_EC2_METADATA_SERVICE_ENDPOINT` if that is set. Tasks of ECS on Fargate Spot need no notice: they get
SIGTERM two minutes before. On instances that ECS manages, set `ECS_ENABLE_SPOT_INSTANCE_DRAINING=true`, which sends
SIGTERM as well.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from tenure.platforms.calls import Answer, Unanswered, call
from tenure.platforms.notices import Notice

_USUAL = "http://169.254.169.254"
_TOKEN_SECONDS = "21600"  # noqa: S105 - how long one holds
_OK, _UNAUTHORIZED, _NOT_FOUND = 200, 401, 404


class Ec2Instance:
    """The instance that we run on, as its metadata have it."""

    name = "EC2"

    def __init__(self, endpoint: str = _USUAL) -> None:
        """Nothing is asked yet."""
        self._base = f"{endpoint.rstrip('/')}/latest"
        self._token: str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Ec2Instance":
        """The instance that we run on."""
        return cls(environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or _USUAL)

    async def read(self) -> Notice | None:
        """What is announced."""
        action = await self._get("spot/instance-action")
        if action is not None:
            return _interruption(action)
        state = await self._get("autoscaling/target-lifecycle-state")
        if state is not None and state.strip() == b"Terminated":
            return Notice("the Auto Scaling group takes this instance away", None)
        return None

    async def _get(self, path: str) -> bytes | None:
        """None: there is no such entry."""
        answer = await self._ask(path)
        if answer.status == _UNAUTHORIZED:  # a token holds for six hours
            self._token = None
            answer = await self._ask(path)
        if answer.status == _NOT_FOUND:
            return None
        if answer.status != _OK:
            raise Unanswered(f"{path} was answered with {answer.status}")
        return answer.body

    async def _ask(self, path: str) -> Answer:
        if self._token is None:
            self._token = await self._new_token()
        return await call("GET", f"{self._base}/meta-data/{path}", headers={"X-aws-ec2-metadata-token": self._token})

    async def _new_token(self) -> str:
        answer = await call(
            "PUT", f"{self._base}/api/token", headers={"X-aws-ec2-metadata-token-ttl-seconds": _TOKEN_SECONDS}
        )
        if answer.status != _OK:
            raise Unanswered(f"no token was given: {answer.status}")
        return answer.body.decode(errors="replace")


def _interruption(body: bytes) -> Notice:
    """What `instance-action` says, such as `{"action": "terminate", "time": "2030-01-31T09:02:00Z"}`."""
    try:
        said = msgspec.json.decode(body, type=dict[str, Any])
        at = datetime.fromisoformat(str(said["time"]))
    except (msgspec.DecodeError, KeyError, ValueError):
        return Notice("EC2 interrupts this spot instance", None)  # when is not clear, that it does is
    return Notice(f"EC2 interrupts this spot instance ({said.get('action', 'terminate')})", _utc(at).timestamp())


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
