"""The sources of a simulation's durations: a distribution, a CSV, or the journal of a store."""

from pathlib import Path

import msgspec

from tenure.app import Tenure
from tenure.cli.target import find, run
from tenure.cli.terminal.output import plural, say_line
from tenure.client.operations.naming import full_name, near
from tenure.errors import BadArgument
from tenure.sample import Ended, Sample
from tenure.simulation.durations import LEAST_SECONDS, BadLine, drawn, read_csv, replayed
from tenure.simulation.scenario import Work

USUAL_DISTRIBUTION = "lognormal:45:0.6"
USUAL_MESSAGES = 10_000
MOST_MESSAGES = 1_000_000
#: More bad lines than these are only counted.
_TOLD_LINES = 5


class Source(msgspec.Struct, frozen=True):
    """Durations, and where they are from."""

    works: tuple[Work, ...]
    told: str
    #: What workers would find in the journal.
    recorded: tuple[Sample, ...] = ()


class Asked(msgspec.Struct, frozen=True):
    """The source that the command line asks for."""

    target: str | None
    task: str | None
    queue: str | None
    csv: Path | None
    durations: str | None
    messages: int | None
    seed: int


def found(asked: Asked) -> Source:
    """The durations that were asked for; raises `BadArgument`."""
    named = [word for word, given in (("TARGET", asked.target), ("--csv", asked.csv), ("--durations", asked.durations))
             if given is not None]  # fmt: skip
    if len(named) > 1:
        msg = f"give one source of durations, not {' and '.join(named)}; nothing was simulated"
        raise BadArgument(msg)
    if asked.target is not None:
        return _recorded(asked, asked.target)
    if asked.task is not None or asked.queue is not None:
        msg = "--task and --queue are for a TARGET whose journal is read; nothing was simulated"
        raise BadArgument(msg)
    if asked.csv is not None:
        return _from_csv(asked, asked.csv)
    text = asked.durations or USUAL_DISTRIBUTION
    return Source(drawn(text, asked.messages or USUAL_MESSAGES, asked.seed), text)


def _from_csv(asked: Asked, path: Path) -> Source:
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            works, bad = read_csv(lines)
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read ({error}); nothing was simulated"
        raise BadArgument(msg) from error
    _tell_bad(path, bad)
    if not works:
        msg = (
            f"{path} has no line with a duration: write seconds, or seconds,size, one run a line; nothing was simulated"
        )
        raise BadArgument(msg)
    return Source(replayed(works, asked.messages, asked.seed), f"{plural(len(works), 'run')} of {path.name}")


def _tell_bad(path: Path, bad: list[BadLine]) -> None:
    for line in bad[:_TOLD_LINES]:
        say_line(f"{path.name}:{line.number}: {line.why}; the line was left out", err=True)
    if len(bad) > _TOLD_LINES:
        say_line(f"{path.name}: {plural(len(bad) - _TOLD_LINES, 'more line')} left out", err=True)


def _recorded(asked: Asked, target: str) -> Source:
    app = find(target)
    task = asked.task
    if task is None:
        msg = f"say whose runs: --task NAME{_of(app)}; nothing was simulated"
        raise BadArgument(msg)
    known = app.tasks.get(task)
    usual = known.queue if known is not None else app.queue
    queue = usual if asked.queue is None else full_name(app.operate.access, asked.queue)
    samples = run(app, lambda app: _samples(app, queue, task))
    works = [
        Work(max(LEAST_SECONDS, sample.seconds), sample.size) for sample in samples if sample.ended is Ended.COMPLETED
    ]
    if not works:
        hint = near(task, app.tasks.keys() - {task})
        msg = f"no completed run of {task!r} on queue {queue!r} was recorded{_of(app)}; nothing was simulated{hint}"
        raise BadArgument(msg)
    told = f"{plural(len(works), 'recorded run')} of {task}"
    return Source(replayed(works, asked.messages, asked.seed), told, tuple(samples))


async def _samples(app: Tenure, queue: str, task: str) -> list[Sample]:
    return [stored.sample for stored in await app.state.journal.samples(queue, task)]


def _of(app: Tenure) -> str:
    return f" (the app has {', '.join(sorted(app.tasks))})" if app.tasks else ""
