"""What people give as arguments: durations, whole numbers, names of queues; and what they meant by a word that is none.

Pure. Used wherever options are read: `outgoing.py` for those of a submit, `task.py` for those of a task.
"""

import difflib
import re
from collections.abc import Iterable
from datetime import timedelta

from tenure.errors import BadArgument

#: Ten years: longer durations are mistakes, and some stores cannot hold them.
LONGEST_SECONDS = 3653 * 86_400.0
MOST_ATTEMPTS = 2**31

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
    """What somebody who wrote `word` may have meant, as half a sentence."""
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


def is_queue_pattern(name: object) -> bool:
    """Whether that can name a queue, or queues by a pattern in which `*` stands for any characters."""
    return isinstance(name, str) and _QUEUES.fullmatch(name) is not None
