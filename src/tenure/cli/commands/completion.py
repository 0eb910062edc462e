"""`tenure completion`: the script that lets a shell complete commands and options."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from tenure.cli.target import json_option
from tenure.cli.terminal.output import say_json

#: How each shell takes the script: one line that works as it stands.
_INSTALL = {
    "bash": "echo 'eval \"$(tenure completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(tenure completion zsh)\"' >> ~/.zshrc",
    "fish": "tenure completion fish > ~/.config/fish/completions/tenure.fish",
}


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", required=False, type=click.Choice(list(_INSTALL)))
@json_option
def completion(shell: str | None, *, as_json: bool) -> None:
    """Print the completion script for a shell; its first line says how to install it.

    Without SHELL, it is the one that you use.
    """
    shell = shell or _own_shell()
    script = _script(shell)
    if as_json:
        say_json({"shell": shell, "install": _INSTALL[shell], "script": script})
        return
    click.echo(f"# To install it, run once: {_INSTALL[shell]}")  # noqa: TID251 - our own words
    click.echo(script)  # noqa: TID251 - our own words


def _own_shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in _INSTALL:
        raise click.UsageError(f"name the shell: {', '.join(_INSTALL)}")
    return name


def _script(shell: str) -> str:
    from tenure.cli.root import root

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"this version of click has no completion for {shell}")
    return kind(root, {}, "tenure", "_TENURE_COMPLETE").source().strip()
