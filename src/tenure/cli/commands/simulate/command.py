"""`tenure simulate`: policies side by side, on the same workload and the same faults."""

from pathlib import Path

import click
import msgspec

from tenure.cli.commands.simulate import sources, telling
from tenure.cli.commands.simulate.waiting import ProgressLine
from tenure.cli.completing import complete_queue, complete_task
from tenure.cli.target import json_option, target_argument
from tenure.cli.terminal.duration import DURATION, Duration
from tenure.cli.terminal.rate import RATE
from tenure.cli.terminal.share import CRASH_RATE, SHARE
from tenure.errors import BadArgument
from tenure.simulation.fleet import Scaling, scaling_of
from tenure.simulation.policy import USUAL, SimulatedPolicy, policy_of
from tenure.simulation.pricing import Pricing, pricing_of
from tenure.simulation.result import Result
from tenure.simulation.running import simulate as simulated
from tenure.simulation.scenario import Scenario
from tenure.simulation.svg import svg

#: What a scaling rule is tried on, unless another is asked for.
_SCALED_POLICY = "heartbeat"


@click.command(short_help="Show what a lease policy would do, on virtual time.")
@target_argument
@click.option("--task", shell_complete=complete_task, help="With a TARGET: replay the recorded runs of this task.")
@click.option("--queue", "-q", shell_complete=complete_queue, help="With a TARGET: of this queue. Default: the task's.")
@click.option(
    "--csv", type=click.Path(path_type=Path), help="Replay the runs of a file: seconds, or seconds,size, one a line."
)
@click.option(
    "--durations", metavar="SPEC", help="Draw runs, as from lognormal:45:0.6, fixed:90, bimodal:30:900:0.1, sizes."
)
@click.option(
    "--messages",
    "-n",
    type=click.IntRange(1, sources.MOST_MESSAGES),
    help="How many. Default: as many as were recorded, else 10000.",
)
@click.option("--rate", type=RATE, help="They arrive at this rate, as 2/s. Default: all are there at the beginning.")
@click.option(
    "--workers", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many; with --scale, at most."
)
@click.option(
    "--slots", type=click.IntRange(1, 1000), default=10, show_default=True, help="Messages a worker runs at once."
)
@click.option(
    "--crash-rate",
    type=CRASH_RATE,
    default="0.1%",
    show_default=True,
    help="Runs whose worker is ended in their middle, as by kill -9: a part of all runs, or 0.5/h for each worker.",
)
@click.option(
    "--restart",
    type=DURATION,
    default="10s",
    show_default=True,
    help="How long until another worker replaces a dead one.",
)
@click.option("--proof", type=DURATION, help="How long until a death is proven. Default: never, as on SQS.")
@click.option("--delete-failure-rate", type=SHARE, default="0.1%", show_default=True, help="Delete calls that fail.")
@click.option(
    "--stale-deletes",
    type=click.Choice(["nothing", "work"]),
    default="nothing",
    show_default=True,
    help="With fixed: what a delete with an old receipt does. SQS promises neither.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="POLICY",
    help="fixed:SECONDS, extended:TIMEOUT:EXTENSION:INTERVAL, heartbeat:SECONDS, learned or lease:SECONDS; "
    "repeat it for more.",
)
@click.option(
    "--scale",
    "scalings",
    multiple=True,
    metavar="RULE",
    help="Let workers come and go by backlog:COOLDOWN or visible:COOLDOWN, as visible:10m; repeat it to compare.",
)
@click.option(
    "--target-age", type=Duration(1.0), default="5m", show_default=True, help="With --scale: begin all within it."
)
@click.option(
    "--idle-first", is_flag=True, help="With --scale: stop idle workers first. Default: workers are picked at random."
)
@click.option("--grace", type=DURATION, default="30s", show_default=True, help="With --scale: from SIGTERM to the end.")
@click.option(
    "--prices",
    "price_list",
    default="sqs",
    show_default=True,
    metavar="LIST",
    help="sqs, sqs-fifo, or dollars for a million requests and state writes, as 0.40:0.",
)
@click.option("--profile", help="What learned knows before the first run: a profile or a size table, by name.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same table.")
@click.option("--svg", "plot", type=click.Path(path_type=Path, dir_okay=False), help="Write the plot there, too.")
@json_option
def simulate(  # noqa: PLR0913 - each is an option
    target: str | None,
    *,
    task: str | None,
    queue: str | None,
    csv: Path | None,
    durations: str | None,
    messages: int | None,
    rate: float | None,
    workers: int,
    slots: int,
    crash_rate: tuple[float, float],
    restart: float,
    proof: float | None,
    delete_failure_rate: float,
    stale_deletes: str,
    policies: tuple[str, ...],
    scalings: tuple[str, ...],
    target_age: float,
    idle_first: bool,
    grace: float,
    price_list: str,
    profile: str | None,
    seed: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Show what a lease policy would do to a workload, on virtual time.

    The real worker runs on the in-memory broker; only how long handlers take, when workers die and which deletes fail
    is made up, and it is the same for every policy. Without --policy, four are compared: fixed:600 and fixed:90 are a
    loop of one's own (receive, run, delete and hope), heartbeat:30 is Tenure, learned is Tenure with the heartbeat off.
    extended:600:300:240 is a loop of one's own with a timeout of 600 s that it extends by 300 s every 240 s.

    How long runs take comes from the journal of a TARGET (with --task), from --csv or from --durations.

    "Run to the end twice" and "two runs at once" are parts of all messages. Recovery is from a crash in the middle of a
    run to the next start of the message. Work in vain is what handlers did beyond one whole run of each message.
    Requests are counted as SQS bills them, ten entries at most.

    Ctrl-C ends it with what is known by then.
    """
    pricing = pricing_of(price_list)
    if plot is not None and not plot.absolute().parent.is_dir():
        msg = f"the plot cannot be written: there is no folder {plot.parent}; nothing was simulated"
        raise BadArgument(msg)
    columns = _columns(policies, scalings)
    source = sources.found(sources.Asked(target, task, queue, csv, durations, messages, seed))
    scenario = Scenario(
        works=source.works, rate=rate, workers=workers, slots=slots, crash_rate=crash_rate[0],
        crashes_an_hour=crash_rate[1], restart_seconds=restart, delete_failure_rate=delete_failure_rate,
        stale_deletes_work=stale_deletes == "work", proof_seconds=proof, grace_seconds=grace,
        target_age_seconds=target_age, idle_first=idle_first, profile=profile or _profile_of(durations),
        recorded=source.recorded, seed=seed,
    )  # fmt: skip
    results = _run(scenario, columns)
    if not results:  # Ctrl-C before anything began
        raise click.Abort
    if as_json:
        telling.say_document(results, scenario, pricing, source.told)
    else:
        telling.say(results, scenario, pricing, source.told)
    if plot is not None:
        _write(plot, results, scenario, pricing, source.told)
    if len(results) < len(columns) or not results[-1].complete:
        raise click.Abort


def _profile_of(durations: str | None) -> str | None:
    """Runs drawn from a shipped profile or size table carry its name."""
    name, _, word = (durations or "").partition(":")
    return "transcoding" if name == "sizes" else word if name == "profile" else None


def _columns(policies: tuple[str, ...], scalings: tuple[str, ...]) -> list[tuple[SimulatedPolicy, Scaling | None]]:
    """Each once, in the order asked for."""
    if not scalings:
        return [(policy, None) for policy in dict.fromkeys(map(policy_of, policies)) or USUAL]
    rules = dict.fromkeys(map(scaling_of, scalings))
    return [(policy, rule) for policy in dict.fromkeys(map(policy_of, policies or (_SCALED_POLICY,))) for rule in rules]


def _run(scenario: Scenario, columns: list[tuple[SimulatedPolicy, Scaling | None]]) -> list[Result]:
    """Run one after the other, until Ctrl-C."""
    line = ProgressLine(len(scenario.works), len(columns))
    results: list[Result] = []
    try:
        for policy, scaling in columns:
            line.begin(policy.name if scaling is None else f"{policy.name} {scaling.name}")
            result = simulated(scenario, policy, scaling, line.tell)
            # The rule alone says enough where there is one policy.
            name = scaling.name if scaling is not None and len({one for one, _ in columns}) == 1 else result.policy
            if result.measures.messages:
                results.append(msgspec.structs.replace(result, policy=name))
            if not result.complete:
                break
    finally:
        line.clear()
    return results


def _write(path: Path, results: list[Result], scenario: Scenario, pricing: Pricing, told: str) -> None:
    text = svg(results, pricing, "tenure simulate", telling.heading(scenario, told))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"the plot could not be written ({error})"
        raise BadArgument(msg) from error
    telling.tell_written(path)
