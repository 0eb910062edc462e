"""Names for shell completion: tasks and queues, of the target on the command line or in TENURE_URL.

An app is imported and its tasks are listed; no broker is asked. Of a URL only a SQLite file is read, because the others
would let a person wait for a server after each Tab. Whatever goes wrong, nothing is completed: an error printed here
would end up in the line that is typed.
"""

import contextlib
import io
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import click

from tenure.app import Tenure
from tenure.cli.target import find, is_place, or_default, run

_LOCAL = "sqlite:"
#: How far back the journal is asked for names of tasks.
_EVENTS_LOOKED_AT = 1_000

F = TypeVar("F", bound=Callable[..., Any])
Names = tuple[set[str], set[str]]
Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def complete_task(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of tasks, for an option."""
    tasks, _ = _names(_target(ctx))
    return _matching(tasks, incomplete)


def complete_queue(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of queues, for an option."""
    _, queues = _names(_target(ctx))
    return _matching(queues, incomplete)


def queues_option(which: str) -> Callable[[F], F]:
    """`--queue`, several times: names and patterns. `which` begins its help, as in "Of this queue only"."""
    return click.option(
        "--queue",
        "-q",
        "queues",
        multiple=True,
        shell_complete=complete_queue,
        help=f"{which}: a name, or a pattern such as '*-tasks'; repeat it for more.",
    )


def complete_words(*, tasks: bool, most: int | None = None) -> Complete:
    """Complete `[TARGET] WORD...` with names of tasks or queues. `most`: this many words come after TARGET at most."""

    def complete(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        target, rest = _split(_words(ctx))
        if most is not None and len(rest) >= most:
            return []
        found = _names(target)[0 if tasks else 1]
        return _matching(found - {*rest}, incomplete)

    return complete


def complete_worker(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Ids of workers that are alive, for `[TARGET] WORKER`; of a SQLite file only, as everywhere here."""
    return _of_store(ctx, incomplete, _workers)


def complete_schedule(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of schedules, for `[TARGET] NAME`: those of the code, or those of a SQLite file."""
    target, rest = _split(_words(ctx))
    if rest:
        return []
    if or_default(target) and not is_place(target):
        with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
            return _matching(set(find(or_default(target)).schedules), incomplete)
        return []
    return _of_store(ctx, incomplete, _schedules)


def _of_store(ctx: click.Context, incomplete: str, ask: Callable[[Tenure], Awaitable[set[str]]]) -> list[str]:
    """Ask a store on this machine; return nothing where it fails, or where a server would have to be asked."""
    target, rest = _split(_words(ctx))
    if rest or not or_default(target):
        return []
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            app = find(or_default(target))
            return _matching(run(app, ask), incomplete) if app.url.startswith(_LOCAL) else []
    except Exception:  # noqa: BLE001 - see the head of this file
        return []


async def _workers(app: Tenure) -> set[str]:
    return {one.id for one in (await app.operate.workers()).workers}


async def _schedules(app: Tenure) -> set[str]:
    return {one.name for one in (await app.operate.schedules()).schedules}


def rejoined(words: Sequence[str]) -> list[str]:
    """The words as they were typed: bash takes `jobs:app` apart into `jobs`, `:` and `app`."""
    whole: list[str] = []
    for word in words:
        if whole and (word.startswith(":") or whole[-1].endswith(":")):
            whole[-1] += word
        else:
            whole.append(word)
    return whole


def _words(ctx: click.Context) -> list[str]:
    """Return the words of the line that belong to no option. Words beyond click's arguments are in `args`."""
    given = [*(ctx.params.get("words") or ()), *filter(None, [ctx.params.get("target")]), *ctx.args]
    return rejoined(given)


def _split(words: list[str]) -> tuple[str | None, list[str]]:
    """As `target.split`, which refuses a line without a target; this one may still get it."""
    return (words[0], words[1:]) if words and ":" in words[0] else (None, words)


def _target(ctx: click.Context) -> str | None:
    return _split(_words(ctx))[0]


def _matching(names: set[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _names(target: str | None) -> Names:
    """Tasks and queues; none where it fails."""
    if not or_default(target):
        return set(), set()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return _known(or_default(target))
    except Exception:  # noqa: BLE001 - see the head of this file
        return set(), set()


def _known(target: str) -> Names:
    from tenure.client.operations.naming import known_queues, short_name

    if is_place(target) and not target.startswith(_LOCAL):
        return set(), set()
    app = find(target)
    if not is_place(target):
        return set(app.tasks), {short_name(app.operate.access, task.queue) for task in app.tasks.values()}

    async def ask(_app: object) -> Names:
        journal = app.state.journal
        events = await journal.read(max(0, await journal.last() - _EVENTS_LOOKED_AT), _EVENTS_LOOKED_AT)
        return {stored.event.task for stored in events if stored.event.task}, await known_queues(app.operate.access)

    return run(app, ask)
