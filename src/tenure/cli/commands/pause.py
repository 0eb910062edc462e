"""`tenure pause` and `tenure resume`: stop workers from leasing from a queue, and let them again."""

from collections.abc import Sequence

import click

from tenure.app import Tenure
from tenure.broker import Depth
from tenure.cli.acting import operator
from tenure.cli.asking import announce, ask, yes_option
from tenure.cli.completing import complete_words
from tenure.cli.target import find, json_option, run, split
from tenure.cli.terminal.output import plural, say_json, say_line
from tenure.cli.terminal.queue_words import since
from tenure.client.operations.naming import check_known, full_name, paused
from tenure.errors import UnknownQueue
from tenure.notice import Pause


@click.command(short_help="Stop workers from leasing from a queue.")
@click.argument("words", nargs=-1, metavar="[TARGET] QUEUE...", shell_complete=complete_words(tasks=False))
@click.option("--yes", "-y", is_flag=True, help="Also a queue that does not exist yet.")
@json_option
def pause(words: tuple[str, ...], *, yes: bool, as_json: bool) -> None:
    """Let workers lease nothing from a queue, until it is resumed.

    Workers look once a second. What they run goes on to its end; sending works as ever, and what is sent waits.
    An unknown queue is most likely mistyped, and is paused only with --yes.
    """
    target, queues = _words(words)
    app = find(target)
    names = [full_name(app.operate.access, queue) for queue in queues]
    if not yes:
        run(
            app,
            lambda app: check_known(
                app.operate.access, names, consequence="Nothing was paused; add --yes to pause it anyway"
            ),
        )
    changed, depths, before = run(app, lambda app: _pause(app, names))
    if as_json:
        say_json({"queues": [{"queue": name, "changed": changed[name]} for name in names]})
        return
    for name in names:
        say_line(_paused(depths[name], before.get(name), app.clock.wall()))


@click.command(short_help="Let workers lease from a paused queue again.")
@click.argument("words", nargs=-1, metavar="[TARGET] [QUEUE]...", shell_complete=complete_words(tasks=False))
@click.option("--all", "everything", is_flag=True, help="Every queue that is paused.")
@yes_option
@json_option
def resume(words: tuple[str, ...], *, everything: bool, yes: bool, as_json: bool) -> None:
    """Let workers lease from a paused queue again; they notice within a second or so.

    Asks before it resumes more than one queue by --all.
    """
    target, queues = split(words)
    if bool(queues) == everything:
        raise click.UsageError("name queues, or give --all" if not queues else "name queues, or give --all, not both")
    app = find(target)
    before = {pause.queue: pause for pause in run(app, lambda app: paused(app.operate.access))}
    names = sorted(before) if everything else [full_name(app.operate.access, queue) for queue in dict.fromkeys(queues)]
    if everything and len(names) > 1 and not yes:
        announce(f"Will resume {plural(len(names), 'queue')}: {', '.join(names)}", as_json=as_json)
        ask(f"Resume {len(names)}?", would=f"{plural(len(names), 'queue')} would be resumed")
    missing = [name for name in names if name not in before]
    if missing:
        run(app, lambda app: _check_resumable(app, missing, sorted(before)))
    changed = run(app, lambda app: _resume(app, names))
    if as_json:
        say_json({"queues": [{"queue": name, "changed": changed[name]} for name in names]})
        return
    for name in names:
        say_line(_resumed(name, before.get(name), app.clock.wall()))
    if not names:
        say_line("No queue is paused.")


def _words(words: tuple[str, ...]) -> tuple[str | None, list[str]]:
    target, queues = split(words)
    if not queues:
        raise click.UsageError("name the queues; without TENURE_URL, after TARGET")
    return target, list(dict.fromkeys(queues))


async def _pause(app: Tenure, names: Sequence[str]) -> tuple[dict[str, bool], dict[str, Depth], dict[str, Pause]]:
    before = {one.queue: one for one in await paused(app.operate.access)}
    operate = operator(app)
    changed = {name: await operate.pause(name) for name in names}
    depths = {depth.queue: depth for depth in await app.broker.depth(names)}
    return changed, depths, before


async def _resume(app: Tenure, names: Sequence[str]) -> dict[str, bool]:
    operate = operator(app)
    return {name: await operate.resume(name) for name in names}


async def _check_resumable(app: Tenure, names: Sequence[str], are_paused: Sequence[str]) -> None:
    """A known queue that is not paused is not a mistake; an unknown one is."""
    try:
        await check_known(app.operate.access, names, consequence="Nothing was resumed")
    except UnknownQueue as error:
        if are_paused:
            error.add_note(f"paused: {', '.join(are_paused)}")
        raise


def _paused(depth: Depth, before: Pause | None, wall: float) -> str:
    if before is not None:
        return f"{depth.queue}: it was paused before, {since(before, wall)}"
    waiting = sum(number or 0 for number in (depth.ready, depth.delayed))
    goes_on = (
        f"; {plural(depth.leased, 'message')} of it {'runs' if depth.leased == 1 else 'run'} on" if depth.leased else ""
    )
    return f"{depth.queue}: paused; {plural(waiting, 'message')} will wait{goes_on}"


def _resumed(name: str, before: Pause | None, wall: float) -> str:
    return f"{name}: it was not paused" if before is None else f"{name}: resumed; it was paused {since(before, wall)}"
