"""KEDA's `metrics-api` trigger and the autoscaler behind it, as its documentation and its answers describe them.

`value_at` reads the path as GJSON does for plain names and numbers. Something that is no number (null, a word) is an
error, after which KEDA uses `fallback`. With `AverageValue` the autoscaler asks for value ÷ target, rounded up, and
KEDA itself goes between 0 and 1 by the activation value.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import msgspec

#: What the trigger takes in its metadata.
_KNOWN = frozenset({
    "url", "valueLocation", "targetValue", "activationTargetValue", "authMode", "format", "unsafeSsl",
    "method", "keyParamName",
})  # fmt: skip
_REQUIRED = ("url", "valueLocation", "targetValue")


class TriggerFailed(Exception):
    """The trigger has no value this time."""


class Trigger(msgspec.Struct, frozen=True):
    """One trigger of a ScaledObject."""

    url: str
    location: str
    target: float
    activation: float
    token: str | None

    @classmethod
    def of(cls, trigger: Mapping[str, Any], parameters: Mapping[str, str]) -> "Trigger":
        """From a manifest, and what its TriggerAuthentication gives."""
        metadata = trigger["metadata"]
        assert trigger["type"] == "metrics-api"
        assert set(metadata) <= _KNOWN, set(metadata) - _KNOWN
        assert all(name in metadata for name in _REQUIRED)
        assert all(isinstance(value, str) for value in metadata.values()), "every value is a text"
        token = None
        if metadata.get("authMode") == "bearer":
            token = parameters["token"]
        return cls(
            metadata["url"], metadata["valueLocation"], float(metadata["targetValue"]),
            float(metadata.get("activationTargetValue", "0")), token,
        )  # fmt: skip

    async def value(self, client: httpx.AsyncClient) -> float:
        """Ask. Raises `TriggerFailed`."""
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        response = await client.get(self.url, headers=headers)
        if response.status_code != 200:
            raise TriggerFailed(f"{response.status_code}: {response.text}")
        return value_at(response.json(), self.location)


def value_at(document: Any, location: str) -> float:
    """The number at a GJSON path. Raises `TriggerFailed`."""
    found = document
    for step in location.split("."):
        try:
            found = found[int(step)] if isinstance(found, Sequence) else found[step]
        except (KeyError, IndexError, ValueError, TypeError):
            raise TriggerFailed(f"{location} is not there") from None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise TriggerFailed(f"{location} must be a number, not {found!r}")
    return float(found)


def replicas(value: float, trigger: Trigger, *, current: int, minimum: int, maximum: int) -> int:
    """What KEDA and the autoscaler make of a value, without their cooldowns."""
    if value <= trigger.activation:
        return minimum if minimum == 0 else max(minimum, math.ceil(value / trigger.target))
    wanted = math.ceil(value / trigger.target)
    assert current >= 0
    return max(1, minimum, min(maximum, wanted))
