"""`tenure timing explain`: why one task's lease is as long as it is, with every number and where it comes from."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.completing import complete_queue, complete_words
from tenure.cli.target import find, json_option, run, split
from tenure.cli.terminal.duration import exact, spoken
from tenure.cli.terminal.output import console, plural, say_json
from tenure.cli.terminal.plain import one_line
from tenure.cli.terminal.size import SIZE
from tenure.client.operations.naming import check_known, full_name, known_queues, near
from tenure.client.operations.task_timing import (
    as_learned,
    beats_of,
    first_beat_of,
    forecast_of,
    is_by_name,
    prior_of,
    standing_of,
)
from tenure.client.statistics import TaskSamples
from tenure.errors import UnknownTask
from tenure.sample import Ended, Sample
from tenure.tasks.task import Task
from tenure.timing.figures import RUNS_FOR_Q99, Durations, Standing
from tenure.timing.forecast import Forecast, ForecastStep
from tenure.timing.learned import ENOUGH_RUNS
from tenure.timing.prior import Prior, says
from tenure.timing.why import amount, duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: A profile without a name: an object that the task was given.
OWN = "its own"
#: Queues beyond these are not searched for samples of the task.
_MOST_QUEUES = 100


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a task on one queue. None: cannot be known."""

    task: str
    queue: str
    standing: Standing | None
    #: Name of the profile; None: there is none.
    profile: str | None
    #: Whether it applies because the task has its name.
    profile_by_name: bool
    #: What the profile says, in words; None: there is none.
    profile_says: str | None
    size: float | None
    durations: Durations | None
    #: Samples of each kind of machine.
    hardware: dict[str, int]
    #: Samples that say how large the work was.
    sized: int
    #: Whether its messages have sizes, by its samples or by the task.
    has_sizes: bool
    #: Wall times of the oldest and the newest sample.
    first_at: float | None
    last_at: float | None
    forecasts: tuple[Forecast, ...]
    first_beat_seconds: float | None
    #: How often 99 of 100 runs are renewed at most.
    beats_at_q99: int | None


@click.command(short_help="Show why a task's lease is as long as it is.")
@click.argument("words", nargs=-1, metavar="[TARGET] TASK", shell_complete=complete_words(tasks=True, most=1))
@click.option("--size", type=SIZE, help="For work of this size, as 2GiB, or a number of what the task counts.")
@click.option("--queue", "-q", shell_complete=complete_queue, help="On this queue only.")
@json_option
def explain(words: tuple[str, ...], size: float | None, queue: str | None, *, as_json: bool) -> None:
    """Show why a task's lease is as long as it is.

    How many samples there are and on what kinds of machines, what they say, and the formula step by step with its
    numbers: what is predicted, the spread that 99 of 100 runs stay within, the margin, the broker's bounds. Without
    samples it shows what the profile says. With a URL the policy of the task is not known.
    """
    target, rest = split(words)
    if len(rest) != 1:
        named = f"tenure timing explain {f'{target} ' if target else ''}TASK"
        raise click.UsageError(f"which task? One at a time: {named}" if rest else f"which task? {named}")
    app = find(target)
    found = run(app, lambda app: _explain(app, rest[0], queue, size))
    if as_json:
        say_json({"explained": found})
        return
    out = console()
    for place, one in enumerate(found):
        if place:
            out.print()
        tell(out, one)


async def _explain(app: Tenure, name: str, queue: str | None, size: float | None) -> list[Explained]:
    """Explain the task on every queue where it was measured; with an app, on its own queue in any case."""
    task = app.tasks.get(name)
    if queue is not None:
        queues = [full_name(app.operate.access, queue)]
        await check_known(app.operate.access, queues)
    else:
        own = [] if task is None else [task.queue]
        queues = [*own, *sorted(await known_queues(app.operate.access) - set(own))[:_MOST_QUEUES]]
    reader = TaskSamples(app.state.journal)
    samples = {one: await reader.of(one, name) for one in queues}
    wanted = [one for one in queues if samples[one]]
    if task is not None and task.queue in queues and task.queue not in wanted:
        wanted.insert(0, task.queue)
    if not wanted and app.tasks and task is None:
        hint = near(name, app.tasks) or f"; there are: {', '.join(sorted(app.tasks))}"
        raise UnknownTask(f"no task named {name!r} is registered with this app{hint}")
    places = wanted or (queues if queue is not None else [""])
    return [_explained(app, task, name, one, samples.get(one, []), size) for one in places]


def _explained(
    app: Tenure, task: Task[..., object] | None, name: str, queue: str, samples: Sequence[Sample], size: float | None
) -> Explained:
    found = forecast_of(app.operate.access, task, name, samples, size)
    longest = max(found, key=lambda one: one.lease_seconds)
    standing = None if task is None else as_learned(standing_of(task, app.broker.traits), longest)
    killed = sum(one.ended is Ended.KILLED for one in samples)
    durations = Durations.of([one.seconds for one in samples], killed)
    moments = [one.at for one in samples]
    prior = prior_of(task, name)
    return Explained(
        task=name,
        queue=queue,
        standing=standing,
        profile=_named(prior),
        profile_by_name=is_by_name(prior, task),
        profile_says=says(prior),
        size=size,
        durations=durations,
        hardware=dict(Counter(one.hardware for one in samples).most_common()),
        sized=(sized := sum(one.size is not None for one in samples)),
        has_sizes=sized > 0 or (task is not None and task.sizer is not None),
        first_at=min(moments, default=None),
        last_at=max(moments, default=None),
        forecasts=tuple(found),
        first_beat_seconds=first_beat_of(standing, longest),
        beats_at_q99=beats_of(standing, longest),
    )


def _named(prior: Prior) -> str | None:
    return None if prior.profile is None else prior.name or OWN


# -- for people ------------------------------------------------------------------------------------


def tell(out: "Console", one: Explained) -> None:
    """Print the explanation in sentences, then step by step."""

    def say(text: str, **how: Any) -> None:
        out.print(text, markup=False, soft_wrap=not out.is_terminal, **how)

    say(f"{one.task}{f' on {one.queue}' if one.queue else ''}", style="bold")
    for sentence in sentences(one):
        say(sentence)
    for forecast in one.forecasts:
        kind = f" on {_machine(forecast.hardware)}" if forecast.hardware else ""
        sized = "" if one.size is None else f", size {amount(one.size)}"
        say(f"\nA lease without a heartbeat{kind}{sized}:")
        out.print(_steps(forecast.steps))
        say(f"  {forecast.why}")
        if forecast.hold_why is not None:
            say(f"  max_hold {forecast.hold_why}")


def _machine(kind: str) -> str:
    """A kind of machine as people say it: `x86_64 2` is one with two cores."""
    name, _, cores = kind.rpartition(" ")
    if not cores.isdigit():
        return kind or "an unknown kind of machine"
    return f"{name} with {plural(int(cores), 'core')}"


def sentences(one: Explained) -> list[str]:
    """Say what is known, in the order in which people ask."""
    return [*_policy(one.standing), *_profile(one), *_samples(one), *_decides(one), *_sizes(one)]


def _policy(standing: Standing | None) -> list[str]:
    if standing is None:
        return ["Policy: not known from a URL; name the app (jobs:app) to see it."]
    lease, hold = duration(standing.lease_seconds), standing.max_hold_seconds
    ended = f"ended after {duration(hold)}, its max_hold" if hold is not None else "never ended: there is no max_hold"
    if standing.is_renewed:
        window = "it is the crash window, however long the work takes"
        return [f"Policy: the lease is {lease}, and the heartbeat renews it: {window}. A hung handler is {ended}."]
    whose = f"is learned, {lease} by now" if standing.is_learned else f"is {lease}"
    return [f"Policy: the lease {whose}, and it is not renewed: it must outlast the work. A hung handler is {ended}."]


def _profile(one: Explained) -> list[str]:
    """Say what is expected before a run was measured, and why that profile applies."""
    if one.profile_says is None:
        return []
    applies = "The task names it"
    if one.profile_by_name:
        applies = "It applies because the task has that name; profile= names another"
    whose = f"{one.profile}, which ships with Tenure" if one.profile != OWN else one.profile
    fades = f"It counts less with each run, and not at all from {ENOUGH_RUNS:.0f} runs on."
    return [f"Profile: {whose}: {one.profile_says}. {applies}. {fades}"]


def _samples(one: Explained) -> list[str]:
    profile = "there is no profile of it" if one.profile is None else f"its profile is {one.profile}"
    took = one.durations
    if took is None:
        return [f"Samples: none; no run of it was measured here, and {profile}."]
    killed = f", {took.killed:,} of them ended from outside" if took.killed else ""
    span = "" if one.first_at is None or one.last_at is None else f" over {spoken(one.last_at - one.first_at)}"
    kinds = ", ".join(f"{number:,} on {_machine(kind)}" for kind, number in one.hardware.items())
    sized = "none with a size" if not one.sized else f"{one.sized:,} with a size"
    quantiles = f"half of them {exact(took.q50)} or less, 95 of 100 {exact(took.q95)}, 99 of 100 {exact(took.q99)}"
    few = f" (there are fewer than {RUNS_FOR_Q99} runs, so 99 of 100 is the longest)"
    return [
        f"Samples: {plural(took.samples, 'run')}{span}{killed} ({kinds}); {sized}; {profile}.",
        f"Took: {quantiles}; the longest {exact(took.longest)}{few if took.samples < RUNS_FOR_Q99 else ''}.",
    ]


def _decides(one: Explained) -> list[str]:
    """Say what the learned numbers are used for."""
    eta = one.forecasts[0].typical_seconds
    ends = f"a run ends after about {exact(eta)}" if eta is not None else "it is unknown how long a run takes"
    told = [ends]
    if one.first_beat_seconds is not None:
        beats = one.beats_at_q99
        most = "" if beats is None else f", and 99 of 100 runs need {f'{beats:,} at most' if beats else 'none'}"
        told.append(f"the first beat is due after {duration(one.first_beat_seconds)}{most}")
    holds = [forecast.hold_seconds for forecast in one.forecasts if forecast.hold_seconds is not None]
    if holds:
        told.append(f"a max_hold of {duration(max(holds))} would end only hung ones")
    lease = duration(max(forecast.lease_seconds for forecast in one.forecasts))
    is_fixed = one.standing is not None and not one.standing.is_renewed
    told.append(f"{'by these numbers the lease is' if is_fixed else 'without a heartbeat the lease would be'} {lease}")
    return [f"So: {'; '.join(told)}."]


def _sizes(one: Explained) -> list[str]:
    """Say that without a size the numbers are those of no message in particular."""
    if one.size is not None or not one.has_sizes:
        return []
    is_learned = one.standing is not None and one.standing.is_learned
    follows = "Each message gets a lease for its size" if is_learned else "Its work has sizes"
    return [f"{follows}; --size 1GB shows the numbers for one."]


def _steps(steps: Sequence[ForecastStep]) -> "Table":
    from rich.text import Text

    from tenure.cli.terminal.screen import OneLineTable

    grid = OneLineTable.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "right", "left"):
        grid.add_column(justify=justify, no_wrap=justify == "right")
    for step in steps:
        value = duration(step.value) if step.unit == "s" else f"× {step.value:.2f}"
        grid.add_row(f"  {step.name}", value, Text(one_line(step.why), style="dim"))
    return grid
