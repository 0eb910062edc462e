"""Arguments from people: durations, whole numbers, names of queues; and suggestions for misspelt names.

Pure. Used wherever options are read: `tasks/build_message.py` for those of a submit, `tasks/task.py` for those of a
task.
"""

import difflib
import re
from collections.abc import Iterable
from datetime import timedelta

from tenure.errors import BadArgument

#: Ten years: longer durations are mistakes, and some stores cannot hold them.
LONGEST_SECONDS = 3653 * 86_400.0
MOST_ATTEMPTS = 2**31
_LONGEST_WEBHOOK = 2_000
#: Behind a webhook's name or URL: by which id the receiver knows the work, percent-encoded.
TASK_ID_MARK = " task_id="

_QUEUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_QUEUES = re.compile(r"[A-Za-z0-9*][A-Za-z0-9._*-]{0,199}")

#: What other libraries call the same thing.
_ELSEWHERE = {
    "countdown": "delay", "delay_seconds": "delay", "eta": "at", "run_at": "at", "task_id": "id", "job_id": "id",
    "retries": "max_attempts", "max_retries": "max_attempts", "max_tries": "max_attempts", "timeout": "max_hold",
    "time_limit": "max_hold", "visibility_timeout": "lease", "ack_timeout": "lease", "queue_name": "queue",
    "idempotency_key": "key", "max_age": "expires", "default_retry_delay": "retry_delay", "min_backoff": "retry_delay",
    "max_backoff": "max_retry_delay", "first_delay": "retry_delay", "max_delay": "max_retry_delay",
}  # fmt: skip


def meant(word: str, known: Iterable[str]) -> str:
    """Suggest the name that `word` was probably meant to be, as half a sentence."""
    words = sorted(known)
    near = _ELSEWHERE.get(word)
    if near not in words:
        near = next(iter(difflib.get_close_matches(word, words, n=1)), None)
    return f"did you mean {near}?" if near else f"there are: {', '.join(words)}"


def is_whole(value: object, least: int, most: float = float("inf")) -> bool:
    """Whether it is a whole number within bounds. True and False are not numbers, whatever Python says."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def seconds(value: float | timedelta, name: str, *, least: float = 0.0) -> float:
    """A duration as the user gave it, in seconds; refuses what makes no sense."""
    number: object = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not least <= number <= LONGEST_SECONDS:
        msg = f"{name}={value!r} is not a duration from {least:g} seconds to ten years; nothing was sent"
        raise BadArgument(msg)
    return float(number)


def is_queue(name: object) -> bool:
    """Whether that can name a queue: ASCII letters, digits, dots, dashes and underscores."""
    return isinstance(name, str) and _QUEUE.fullmatch(name) is not None


def is_webhook(value: object) -> bool:
    """Whether that can name an endpoint or a URL: printable text without spaces. It may still be refused.

    ` task_id=…` may follow: the receiver knows the work by that id.
    """
    if not isinstance(value, str) or len(value) > _LONGEST_WEBHOOK or not value.isprintable():
        return False
    name, mark, id = value.partition(TASK_ID_MARK)
    return bool(name) and bool(id) == bool(mark) and " " not in name + id


def is_queue_pattern(name: object) -> bool:
    """Whether that can name a queue, or queues by a pattern in which `*` matches any characters."""
    return isinstance(name, str) and _QUEUES.fullmatch(name) is not None
