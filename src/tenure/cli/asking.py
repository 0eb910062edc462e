"""Asking: an act on more than one message, and every purge, needs a confirmation.

Without a terminal and without `--yes` nothing is changed, and the command says so.
"""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from tenure.cli.failing import NotConfirmed
from tenure.cli.terminal.output import say_line
from tenure.cli.terminal.plain import one_line

F = TypeVar("F", bound=Callable[..., Any])


def yes_option(command: F) -> F:
    """`--yes`, on every command that may ask."""
    return click.option("--yes", "-y", is_flag=True, help="Do not ask.")(command)


def dry_run_option(command: F) -> F:
    """`--dry-run`, on every command that chooses what it touches."""
    return click.option("--dry-run", is_flag=True, help="Only show what would be changed.")(command)


def ask(question: str, *, would: str, warning: str = "") -> None:
    """Return if the user confirms. Raises `NotConfirmed`, with what `would` have been done, without a terminal."""
    if not is_watched():
        raise NotConfirmed(f"{would}, and there is no terminal to ask on: add --yes; nothing was changed")
    if warning:
        say_line(warning, err=True)
    try:
        said_yes = click.confirm(one_line(question), err=True)
    except click.Abort:  # Ctrl-C leaves the cursor behind the question
        say_line("", err=True)
        say_line("Nothing was changed.", err=True)
        raise
    if not said_yes:
        raise NotConfirmed("not confirmed; nothing was changed")


def announce(text: str, *, as_json: bool) -> None:
    """Say what an act will touch. With `as_json` only if the user is asked, on standard error."""
    if not as_json:
        say_line(text)
    elif is_watched():
        say_line(text, err=True)


def is_watched() -> bool:
    """Whether there is a terminal to ask on."""
    return sys.stdin.isatty()
