"""Tell calls that work on a message from those that only read, log or count it.

Work takes time or has an effect: what a lease must cover, and what must not be lost. A name decides, as there is
nothing else to ask; where it printed nothing, a call that is given a message counts as work. Used by `trace.py`.
"""

import ast
import re
from enum import StrEnum

from tenure.audit.module import Module
from tenure.audit.tree import dotted, last_name


class Effort(StrEnum):
    """How a call uses a message that it is given."""

    #: It is over at once.
    NONE = "none"
    WORK = "work"
    #: It goes on beside: a task, a thread, another queue.
    STARTED = "started"


_LIGHT = frozenset(
    """
    abs add all any append as_completed astimezone b64decode b64encode bind bool bytes capture_exception
    check_duplicate copy count critical cursor debug decode deepcopy dict discard dumps encode endswith enumerate
    error exception extend filter float format format_exc fromisoformat fromtimestamp get get_json getattr getLogger
    hasattr hash hexdigest id inc incr increment index info insert int isinstance isoformat items iter join keys
    labels len list load loads log lower lstrip max md5 min monotonic next now observe open parse perf_counter pop
    partition popleft print range record removeprefix removesuffix replace repr
    reversed round rpartition rsplit rstrip set set_attribute
    set_tag setdefault sha1 sha256 sorted split start_as_current_span startswith str strftime strip strptime sum
    time timedelta timestamp total_seconds tuple type unquote unquote_plus update upper urlparse utcnow uuid4 values
    warn warning write zip
    """.split()  # noqa: SIM905 - read as words
)
_LIGHT_PARTS = re.compile(
    r"^(_*)(is|has|can|should|get|to|from|as)_|parse|decode|deserial|valid|verif|duplicat|heart_?beat|^_*log_|seen|"
    r"^_*count|metric|stat(s|istics)$|^_*emit|^_*extract_(body|payload|id)|receipt|^report_progress$"
)
_STARTS = frozenset(
    """
    create_task ensure_future gather submit start_soon put put_nowait spawn spawn_n apply_async map imap
    imap_unordered starmap run_coroutine_threadsafe call_soon_threadsafe call_soon TaskGroup Thread Process send_task
    delay enqueue
    """.split()  # noqa: SIM905 - likewise
)


def effort_of(module: Module, call: ast.Call) -> Effort:
    """Return how a call uses a message that it is given."""
    name = last_name(call)
    if name in _STARTS or _is_pool(call):
        return Effort.STARTED
    if not name:  # a call of what a call returned, or of an item: `handlers[kind](body)`
        return Effort.WORK
    is_known = name in _LIGHT and module.local_function(call) is None
    if is_known or _LIGHT_PARTS.search(name.lower()) or _is_logger(module, call):
        return Effort.NONE
    # `Job(**body)` makes a value of it.
    return Effort.NONE if name[0].isupper() and not name.isupper() else Effort.WORK


def may_take_over(call: ast.Call) -> bool:
    """Whether it makes an object that could do the rest with a message that it is given: `MessageLease(message)`."""
    name = last_name(call)
    return bool(name) and name[0].isupper()


def _is_pool(call: ast.Call) -> bool:
    before = (dotted(call.func) or "").lower()
    return "executor." in before or "pool." in before


def _is_logger(module: Module, call: ast.Call) -> bool:
    before = (module.full(call.func) or "").lower().rpartition(".")[0]
    last = before.rpartition(".")[2]
    return last in ("log", "logger", "logging", "_log", "_logger", "metrics", "statsd", "console", "json", "sentry_sdk")
