"""`tenure client pause`, `resume` and `purge`."""

import click

from tenure.cli.asking import announce, ask, dry_run_option, yes_option
from tenure.cli.commands.client.words import WORDS, one_client, saying_that_yes_helps
from tenure.cli.commands.purge import purged_states_option
from tenure.cli.target import find, json_option, run
from tenure.cli.terminal.output import count, plural, say_json, say_line
from tenure.client.operations.operate import Operate
from tenure.client.operator import this_user


@click.command(short_help="Stop workers from leasing messages of a client.")
@WORDS
@click.option("--yes", "-y", is_flag=True, help="Also a client that is not known yet.")
@json_option
def pause(words: tuple[str, ...], *, yes: bool, as_json: bool) -> None:
    """Let workers lease nothing of a client, until it is resumed.

    What runs goes on to its end; sending works as ever, and what is sent waits.
    """
    target, name = one_client(words)
    app = find(target)
    with saying_that_yes_helps():
        done = run(app, lambda app: _mine(app.operate).pause_client(name, must_exist=not yes))
    if as_json:
        say_json(done)
    else:
        say_line(f"{name}: {'paused; what it sends will wait' if done.changed else 'it was paused before'}")


@click.command(short_help="Let workers lease messages of a client again.")
@WORDS
@json_option
def resume(words: tuple[str, ...], *, as_json: bool) -> None:
    """Let workers lease messages of a client again; they notice within a second or so."""
    target, name = one_client(words)
    done = run(find(target), lambda app: _mine(app.operate).resume_client(name))
    if as_json:
        say_json(done)
    else:
        say_line(f"{name}: {'resumed' if done.changed else 'it was not paused'}")


@click.command(short_help="Remove everything that waits for a client.")
@WORDS
@purged_states_option
@dry_run_option
@yes_option
@json_option
def purge(words: tuple[str, ...], states: tuple[str, ...], *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove everything that waits for a client; a record of each message stays.

    What runs is not touched. `tenure client forget` removes the records too. Always asks first; without a terminal it
    needs --yes.
    """
    target, name = one_client(words)
    app = find(target)
    looked = run(app, lambda app: _mine(app.operate).purge_client(name, states, dry_run=True))
    total = None if None in looked.would.values() else sum(number or 0 for number in looked.would.values())
    kinds = ", ".join(f"{count(number)} {state}" for state, number in looked.would.items())
    many = "messages" if total is None else plural(total, "message")
    if not as_json or not (yes or dry_run):
        announce(f"{'Would' if dry_run else 'Will'} remove {many} of client {name}: {kinds}", as_json=as_json)
    if dry_run or total == 0:
        if as_json:
            say_json(looked)
        return
    if not yes:
        warning = "Bodies are gone for good; a record of each message stays."
        ask(f"Purge {name}?", would=f"{many} would be purged", warning=warning)
    done = run(app, lambda app: _mine(app.operate).purge_client(name, states, limit=1_000_000_000))
    if as_json:
        say_json(done)
    else:
        say_line(f"Purged: {done.purged:,}")


def _mine(operate: Operate) -> Operate:
    return operate.bound(by=this_user(), triggered_by="cli")
