"""The lease of a receive: its timeout, the number of messages it is for, and the service.

Shared by the rules of leases and by the baseline, so that both use the same figures.
"""

import ast
from functools import lru_cache
from pathlib import PurePath

from tenure.audit.module import Module
from tenure.audit.queue_calls import CallKind, QueueCall, queue_calls
from tenure.audit.tree import last_name
from tenure.timing.margin import lease_seconds_for
from tenure.timing.profile import PROFILES

#: What a receive gets if it printed nothing: Azure always, SQS unless the queue was made otherwise.
DEFAULT_SECONDS = 30.0
#: With a heartbeat the lease is how soon the message of a dead worker is leased again: more than this is a long wait.
CRASH_WINDOW_SECONDS = 60.0
_BATCH_WORDS = ("MaxNumberOfMessages", "max_messages", "messages_per_page", "count")


@lru_cache(maxsize=8)  # asked by every rule of leases, and by the baseline
def has_heartbeat(module: Module) -> bool:
    """Whether something here renews leases while the work goes on, by its name or by doing so again and again."""
    # In the loop that receives, an extend is one for each message, and no beat.
    receiving = {module.function_of(call.node) for call in queue_calls(module) if call.kind is CallKind.RECEIVE}
    return module.speaks_of_beats or any(
        call.kind is CallKind.EXTEND and any(isinstance(one, ast.While) for one in module.around(call.node))
        for call in queue_calls(module)
        if module.seconds(call.timeout) != 0 and module.function_of(call.node) not in receiving
    )


def batch_size(module: Module, call: QueueCall) -> int:
    """Return how many messages a receive asks for; 1 if unknown."""
    size = module.seconds(call.word(*_BATCH_WORDS))
    return max(1, int(size)) if size is not None else 1


def is_sized_for_one(node: ast.expr | None) -> bool:
    """Whether a timeout is what `calculate_visibility_timeout` says, as it is."""
    return isinstance(node, ast.Call) and last_name(node) in ("calculate_visibility_timeout", "get_recommended_timeout")


def calculated(module: Module, call: QueueCall) -> ast.expr | None:
    """The expression behind the timeout, a name followed to what it is bound to."""
    node = call.timeout
    if isinstance(node, ast.Name | ast.Attribute):
        bound = module.bound(node)
        return bound[0] if len(bound) == 1 and bound[0] is not None else node
    return node


@lru_cache(maxsize=8)
def service_of(module: Module) -> str | None:
    """A service that has a profile, by what the code calls itself, else by its path."""
    for call in module.calls:
        words = [module.constant(one) for one in [*call.args, *(word.value for word in call.keywords)]]
        named = [word for word in words if isinstance(word, str) and word in PROFILES]
        if named and ("CONTAINER_NAME" in words or "timeout" in last_name(call) or _names_it(call)):
            return named[0]
    for one in ast.walk(module.tree):
        if isinstance(one, ast.Assign) and any(_is_its_name(target) for target in one.targets):
            value = module.constant(one.value)
            if isinstance(value, str) and value in PROFILES:
                return value
    parts = [part.removesuffix(".py").replace("_", "-").lower() for part in PurePath(module.path).parts]
    return next((part for part in reversed(parts) if part in PROFILES), None)


def _names_it(call: ast.Call) -> bool:
    return any(one.arg in ("container_name", "service_name", "service") for one in call.keywords)


def _is_its_name(target: ast.expr) -> bool:
    name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    return name.lower() in ("container_name", "service_name", "service")


def advised_seconds(service: str, messages: int = 1) -> int:
    """A lease for this many runs of a service, one after the other."""
    return int(lease_seconds_for(PROFILES[service].typical * messages))


def written(node: ast.AST, longest: int = 40) -> str:
    """An expression as text, cut if it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
