"""Calling a plain handler where its outcome is carried by a future: in a thread, or beside a loop that rests."""

from collections.abc import Callable
from typing import Any


def without_stop(function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call it. A StopIteration cannot be carried by a future: the run would never end."""
    try:
        return function(*positional, **keywords)
    except StopIteration as error:
        msg = "the handler raised StopIteration"
        raise RuntimeError(msg) from error
