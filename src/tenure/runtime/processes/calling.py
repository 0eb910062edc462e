"""Calls a plain handler whose outcome a future carries: in a thread, or in a child process."""

from collections.abc import Callable
from typing import Any


def without_stop(function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call it. A StopIteration cannot be carried by a future: the run would never end."""
    try:
        return function(*positional, **keywords)
    except StopIteration as error:
        msg = "the handler raised StopIteration"
        raise RuntimeError(msg) from error
