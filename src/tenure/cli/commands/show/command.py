"""`tenure show`, and `tenure dead show`, which is the same."""

import click

from tenure.cli.output import console, say_json
from tenure.cli.show.telling import tell
from tenure.cli.target import find, json_option, run, split_ids


@click.command(short_help="Show the whole life of one message.")
@click.argument("words", nargs=-1, metavar="[TARGET] ID")
@click.option("--full", is_flag=True, help="Shorten neither payload, result nor tracebacks.")
@json_option
def show(words: tuple[str, ...], *, full: bool, as_json: bool) -> None:
    """Show the whole life of one message, in whatever state it is.

    What happened to it in the order of time: when it was sent, how each run ended and why, who redrove or cancelled
    it; where it is now; its payload until it is completed or cancelled, after that only if its
    task keeps payloads (keep_payload); and its result. The journal keeps how long
    runs took for a week.
    """
    target, rest = split_ids(words)
    if not rest:
        raise click.UsageError(
            f"which message? Add its id: tenure show {f'{target} ' if target else ''}ID (tenure messages shows the ids)"
        )
    if len(rest) > 1:
        raise click.UsageError(f"one message at a time, not {len(rest)}: {' '.join(rest)}")
    app = find(target)
    found = run(app, lambda app: app.operate.message(rest[0]))
    if as_json:
        say_json(found)
    else:
        tell(console(), found, app.clock.wall(), full=full)
