"""The target: the words on the command line that name an app, and the app they lead to.

jobs:app              attribute `app` of module `jobs`, looked for from the current folder
sqlite:///jobs.db     a place; the app made for it has no tasks, which is enough to look and to send
(nothing)             TENURE_URL
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import click

from tenure.app import Tenure
from tenure.cli.failing import BadTarget
from tenure.errors import BadArgument

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def target_argument(command: F) -> F:
    """TARGET, the only word a command takes."""
    return click.argument("target", required=False)(command)


def json_option(command: F) -> F:
    """`--json`, on every command."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(command)


def split(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Tell TARGET from the words after it: the first word is one if it has a colon."""
    if words and ":" in words[0] and not words[0].lstrip().startswith(("{", "[", '"')):
        return words[0], list(words[1:])
    return None, list(words)


def split_ids(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """As `split`, for words that are ids; each once. An empty one is what a script's unset variable leaves."""
    target, ids = split(words)
    if not all(id.strip() for id in ids):
        raise BadArgument("an id is empty; nothing was changed")
    return target, list(dict.fromkeys(ids))


def is_place(target: str | None) -> bool:
    """Whether it is a URL, so that there are no tasks to check against."""
    return "://" in _or_default(target)


def _or_default(target: str | None) -> str:
    return target or os.environ.get("TENURE_URL", "").strip()


def find(target: str | None, *, must_exist: bool = True) -> Tenure:
    """The app that `target` names; raises `ConfigurationError` in one of its kinds.

    A URL that leads nowhere is a mistake for whoever looks; only who sends may create the place.
    """
    target = _or_default(target)
    if not target:
        msg = "no target: name an app (jobs:app) or a URL (sqlite:///jobs.db), or set TENURE_URL"
        raise BadTarget(msg)
    if is_place(target):
        return Tenure(target, must_exist=must_exist)
    from tenure.cli.loading import load

    # What a module prints while it is imported must not end up in our JSON.
    with contextlib.redirect_stdout(sys.stderr):
        return load(target)


def run(app: Tenure, work: Callable[[Tenure], Awaitable[T]]) -> T:
    """Do `work` with the app open, in an event loop of its own."""

    async def opened() -> T:
        async with app:
            return await work(app)

    return asyncio.run(opened())
