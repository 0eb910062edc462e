"""Find an expression's client: SQS, Azure Storage Queues, Redis or another service, sync or async.

Known from how it was made (`boto3.client("sqs")`, `QueueClient.from_connection_string`), by the type beside its name,
or by what a function of the same file returns. None: not known, and nothing is assumed. `queue_calls.py` asks.
"""

import ast
from enum import StrEnum
from typing import NamedTuple

from tenure.audit.module import Module
from tenure.audit.tree import Function, last_name, walk_body

_DEEPEST = 6
_AWS_ASYNC = ("aiobotocore", "aioboto3")
_MADE = {"client", "create_client", "resource"}
_ENTERED = {"enter_context", "enter_async_context"}
_AZURE = "azure.storage.queue"
_REDIS = ("redis", "valkey")
_REDIS_MADE = {"Redis", "StrictRedis", "Valkey", "from_url", "RedisCluster"}
_SESSIONS = {"requests.Session", "requests.session", "httpx.Client"}
#: Packages with types of clients: the type's name is enough.
_TYPED = {"SQSClient": ("sqs", "client"), "SQSServiceResource": ("sqs", "resource")}


class Shape(StrEnum):
    """The kinds of objects that a client library makes."""

    CLIENT = "client"
    #: `boto3.resource("sqs")`, `QueueServiceClient`: it makes others.
    SERVICE = "service"
    #: `boto3.resource("sqs").Queue(...)`.
    QUEUE = "queue"


class SdkClient(NamedTuple):
    """A client. `vendor` is sqs, azure or redis for queues; aws and http for others that take time."""

    vendor: str
    shape: Shape
    #: None: not known.
    is_async: bool | None


def client_of(module: Module, node: ast.expr | None, depth: int = 0) -> SdkClient | None:  # noqa: PLR0911 - one a kind
    """The client that an expression is."""
    if node is None or depth > _DEEPEST:
        return None
    match node:
        case ast.Await():
            return client_of(module, node.value, depth)
        case ast.BoolOp():  # `self._client or make()`
            return _agreed([client_of(module, one, depth + 1) for one in node.values])
        case ast.IfExp():
            return _agreed([client_of(module, one, depth + 1) for one in (node.body, node.orelse)])
        case ast.Call():
            return _made(module, node, depth)
        case ast.Name() | ast.Attribute():
            beside = _typed(module, module.annotation(node))
            return beside or _agreed([client_of(module, one, depth + 1) for one in module.bound(node)])
    return None


def _agreed(found: list[SdkClient | None]) -> SdkClient | None:
    """The one client of several expressions. Those that say nothing (None at first, a parameter) do not count."""
    known = {client for client in found if client is not None}
    return known.pop() if len(known) == 1 else None


def _made(module: Module, call: ast.Call, depth: int) -> SdkClient | None:  # noqa: PLR0911 - one a vendor
    name = last_name(call)
    full = module.full(call.func) or ""
    before = call.func.value if isinstance(call.func, ast.Attribute) else None
    if name in _MADE and before is not None:
        return _aws(module, call, name)
    if full.startswith(f"{_AZURE}."):
        shape = Shape.SERVICE if "QueueServiceClient" in full else Shape.CLIENT
        return SdkClient("azure", shape, ".aio" in full) if "QueueClient" in full or shape is Shape.SERVICE else None
    if full.split(".")[0] in _REDIS and name in _REDIS_MADE:
        return SdkClient("redis", Shape.CLIENT, ".asyncio" in full)
    if full in _SESSIONS:
        return SdkClient("http", Shape.CLIENT, is_async=False)
    if name in _ENTERED and call.args:
        return client_of(module, call.args[0], depth + 1)
    if before is not None and name in ("get_queue_client", "Queue", "get_queue_by_name", "create_queue"):
        return _queue_of(client_of(module, before, depth + 1), name)
    local = module.local_function(call)
    return None if local is None else _returned(module, local, depth + 1)


def _aws(module: Module, call: ast.Call, name: str) -> SdkClient | None:
    named = [one.value for one in call.keywords if one.arg == "service_name"]
    service = next((module.constant(one) for one in [*call.args, *named]), None)
    is_known = module.imports_any("boto3", "botocore", *_AWS_ASYNC)
    if not isinstance(service, str) or not (is_known or service == "sqs"):
        return None
    # A session that was handed in: `create_client` is awaited with aiobotocore, and is botocore's own name too.
    is_plain = (module.full(call.func) or "").startswith("boto3.")
    is_bare = name == "create_client" and not module.imports_any("botocore")
    is_async = is_bare or (module.imports_any(*_AWS_ASYNC) and not is_plain)
    shape = Shape.SERVICE if name == "resource" else Shape.CLIENT
    return SdkClient("sqs" if service == "sqs" else "aws", shape, is_async)


def _queue_of(maker: SdkClient | None, name: str) -> SdkClient | None:
    if maker is None or maker.shape is not Shape.SERVICE:
        return None
    if maker.vendor == "azure":
        return maker._replace(shape=Shape.CLIENT) if name in ("get_queue_client", "create_queue") else None
    return maker._replace(shape=Shape.QUEUE) if maker.vendor == "sqs" and name != "get_queue_client" else None


def _returned(module: Module, function: Function, depth: int) -> SdkClient | None:
    beside = _typed(module, function.returns)
    if beside is not None or depth > _DEEPEST:
        return beside
    given = [one.value for one in walk_body(function) if isinstance(one, ast.Return | ast.Yield)]
    return _agreed([client_of(module, one, depth + 1) for one in given])


def _typed(module: Module, annotation: ast.expr | None) -> SdkClient | None:
    """Find the client by a type: `QueueClient`, `"QueueClient | None"`, `SQSClient`."""
    if annotation is None:
        return None
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except (SyntaxError, ValueError):
            return None
    for one in ast.walk(annotation):
        full = module.full(one) or ""
        last = full.rpartition(".")[2]
        if full.startswith(f"{_AZURE}.") and last in ("QueueClient", "QueueServiceClient"):
            return SdkClient("azure", Shape.SERVICE if "Service" in last else Shape.CLIENT, ".aio" in full)
        if last in _TYPED and "sqs" in full:
            vendor, shape = _TYPED[last]
            is_async = full.startswith("types_aio")
            return SdkClient(vendor, Shape.SERVICE if shape == "resource" else Shape.CLIENT, is_async)
        if full.split(".")[0] in _REDIS and last in _REDIS_MADE:
            return SdkClient("redis", Shape.CLIENT, ".asyncio" in full)
    return None
