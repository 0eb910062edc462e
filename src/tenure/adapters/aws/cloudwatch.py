"""CloudWatch: figures by PutMetricData.

    cloudwatch://eu-west-1                          namespace Tenure
    cloudwatch://eu-west-1/Shop?profile=ops         another namespace, credentials of a profile

The SDK's own retries are off, as everywhere here: the next figures are sent a minute later anyway. Needs the right
`cloudwatch:PutMetricData`. Made by `assembly.py`, used by `tenure scaling --publish`.
"""

import contextlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote

import msgspec
from aiobotocore.config import AioConfig  # type: ignore[import-untyped]

from tenure.adapters.aws import faults
from tenure.adapters.aws.session import new_session
from tenure.errors import BadURL
from tenure.monitoring.cloudwatch.dimension import dimension_value
from tenure.monitoring.cloudwatch.signal import NAMESPACE
from tenure.monitoring.figure import Figure
from tenure.url_options import above_zero, read_query, web_address

_TAKEN = {
    "endpoint": "the URL of a server, http://host:port or https://…",
    "profile": "the name of a profile in the shared configuration",
    "timeout_seconds": "a number of seconds above 0",
}
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_NAMESPACE = re.compile(r"[A-Za-z0-9._/#-]{1,255}")
#: Figures of one request, at most.
_MOST = 1000


class CloudWatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a URL says."""

    region: str
    namespace: str = NAMESPACE
    endpoint: str | None = None
    profile: str | None = None
    timeout_seconds: float = 10.0


def read_cloudwatch(url: str, parts: SplitResult) -> CloudWatchOptions:
    """What `url` says. Raises `BadURL`."""
    namespace = unquote(parts.path).strip("/") or NAMESPACE
    if not _REGION.fullmatch(parts.netloc) or not _NAMESPACE.fullmatch(namespace) or namespace.startswith("AWS/"):
        msg = f"{url!r} names no region, or no namespace; write cloudwatch://eu-west-1/Tenure. Nothing was sent"
        raise BadURL(msg)
    said = read_query(url, parse_qsl(parts.query, keep_blank_values=True), _TAKEN, _read)
    return CloudWatchOptions(region=parts.netloc, namespace=namespace, **said)


def _read(name: str, value: str) -> object:
    """None: it is not a value that is taken."""
    match name:
        case "timeout_seconds":
            return above_zero(value)
        case "endpoint":
            return web_address(value)
    return value or None


class CloudWatchPublisher:
    """One namespace of one region, on one event loop."""

    def __init__(self, options: CloudWatchOptions) -> None:
        """Nothing is opened yet."""
        self.options = options
        where = options.region if options.endpoint is None else options.endpoint
        self.place = f"CloudWatch namespace {options.namespace} in {where}"
        self._client: Any = None
        self._stack = contextlib.AsyncExitStack()

    async def open(self) -> None:
        """Make the client; the first call connects."""
        options = self.options
        config = AioConfig(
            retries={"total_max_attempts": 1},
            connect_timeout=options.timeout_seconds,
            read_timeout=options.timeout_seconds,
            parameter_validation=False,
        )
        self._client = await self._stack.enter_async_context(
            new_session(options.profile).create_client(
                "cloudwatch", region_name=options.region, endpoint_url=options.endpoint, config=config
            )
        )

    async def publish(self, figures: Sequence[Figure], at: float) -> None:
        """Send them, a thousand a call."""
        moment = datetime.fromtimestamp(at, UTC)
        data = [
            {
                "MetricName": one.name,
                "Dimensions": [{"Name": name, "Value": dimension_value(value)} for name, value in one.labels.items()],
                "Timestamp": moment,
                "Value": one.value,
                "Unit": one.unit,
            }
            for one in figures
        ]
        try:
            for start in range(0, len(data), _MOST):
                await self._client.put_metric_data(
                    Namespace=self.options.namespace, MetricData=data[start : start + _MOST]
                )
        except Exception as error:
            raise faults.translate(error, "put_metric_data", self.place) from error

    async def close(self) -> None:
        """Close the client."""
        await self._stack.aclose()
