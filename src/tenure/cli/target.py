"""The target: the words on the command line that name an app, and the app they lead to.

jobs:app              attribute `app` of module `jobs`, looked for from the current folder; or a function that makes it
sqlite:///jobs.db     a place; the app made for it has no tasks, which is enough to look and to send
(nothing)             TENURE_URL, which may be either; else what else names a store (`config.py`)
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tenure.app import Tenure
from tenure.assembly import creating
from tenure.cli.failing import BadTarget
from tenure.config import url_from
from tenure.errors import BadArgument

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_NAME_ONE = "name an app (jobs:app) or a URL (sqlite:///jobs.db)"


def target_argument(command: F) -> F:
    """TARGET, the only word a command takes."""
    return click.argument("target", required=False)(command)


def json_option(command: F) -> F:
    """`--json`, on every command."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(command)


def split(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Separate TARGET from the arguments after it: the first one is TARGET if it has a colon."""
    if words and ":" in words[0] and not words[0].lstrip().startswith(("{", "[", '"')):
        return words[0], list(words[1:])
    if words and not or_default(None):
        raise BadTarget(f"no target: {_NAME_ONE}, before {words[0]!r}{meant(words[0])}; or set TENURE_URL")
    return None, list(words)


def split_ids(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """As `split`, for words that are ids; each once. An empty one is what a script's unset variable leaves."""
    target, ids = split(words)
    if not all(id.strip() for id in ids):
        raise BadArgument("an id is empty; nothing was changed")
    return target, list(dict.fromkeys(ids))


def split_one(words: Sequence[str], command: str, where: str) -> tuple[str | None, str]:
    """As `split_ids`, for a command that takes one message; `where` says where its id can be found."""
    target, ids = split_ids(words)
    if not ids:
        raise click.UsageError(
            f"which message? Add its id: tenure {command} {f'{target} ' if target else ''}ID ({where})"
        )
    if len(ids) > 1:
        raise click.UsageError(f"one message at a time, not {len(ids)}: {' '.join(ids)}")
    return target, ids[0]


def is_place(target: str | None) -> bool:
    """Whether it is a URL, so that there are no tasks to check against."""
    return "://" in or_default(target)


def or_default(target: str | None) -> str:
    """The target, or else the one of the environment. Empty: there is neither."""
    return target or os.environ.get("TENURE_URL", "").strip() or url_from() or ""


def meant(word: str) -> str:
    """Suggest what an argument that is no target may have meant, as the end of a clause: a file, or a module here."""
    from tenure.url_options import DATABASES

    if word.endswith(DATABASES):
        return f" (did you mean sqlite:///{word}?)"
    path = Path(*word.split("."))
    is_module = word.replace(".", "").isidentifier() and (path.with_suffix(".py").is_file() or path.is_dir())
    return f" (did you mean {word}:app?)" if is_module else ""


def find(target: str | None, *, must_exist: bool = True) -> Tenure:
    """The app that `target` names; raises `ConfigurationError` in one of its kinds.

    A URL without a store is a mistake for commands that read; only a send may create the store.
    """
    target = or_default(target)
    if not target:
        raise BadTarget(f"no target: {_NAME_ONE}, or set TENURE_URL")
    if is_place(target):
        return Tenure(target if must_exist else creating(target), must_exist=must_exist)
    from tenure.cli.loading import load

    # What a module prints while it is imported must not end up in our JSON.
    with contextlib.redirect_stdout(sys.stderr):
        return load(target)


def run(app: Tenure, work: Callable[[Tenure], Awaitable[T]]) -> T:
    """Do `work` with the app open, in an event loop of its own."""
    return asyncio.run(opened(app, work))


async def opened(app: Tenure, work: Callable[[Tenure], Awaitable[T]]) -> T:
    """Do `work` with the app open. A broker that is away is an error at once."""
    await app.open(wait_for_broker=0)
    try:
        return await work(app)
    finally:
        await app.close()
