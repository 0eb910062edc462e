"""Two states of Tenure, or two cores, under the stated load: calls, transactions, bytes, CPU and dollars side by side.

    python -m benchmarks.cost_part.compare azure              the Azure core against core=rowstore
    python -m benchmarks.cost_part.compare sqs SRC            SRC is the `src` folder of an earlier state, such as of
                                                              `git worktree add /tmp/before COMMIT`
    …                                     [--quick] [--rounds=N] [--only=keyed,dead] [--fauxqs]

Stand-ins answer in the place of the clouds; what is sold is counted where it leaves the worker.
"""

import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from tests.servers.aws import start_aws
from tests.servers.azure import start_azure

from benchmarks.cost_part.steps import MILLION, Figures, measure

for _name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):  # names for a stand-in that asks for none
    os.environ.setdefault(_name, "bench")
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")


def main() -> None:
    """Measure both sides in turns, and print them."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    quick = "--quick" in sys.argv
    rounds = next((int(word[9:]) for word in sys.argv if word.startswith("--rounds=")), 1)
    only = next((word[7:].split(",") for word in sys.argv if word.startswith("--only=")), [])
    more: dict[str, Any] = {"quick": quick, "rounds": rounds, "only": only}
    match words:
        case ["azure", *others]:
            server = start_azure()
            source = Path(others[0]).resolve() if others else None
            try:
                before = measure(lambda name: server.url(f"a{name}", "core=azure"), **more)
                after = measure(lambda name: server.url(f"b{name}", "core=rowstore"), source=source, **more)
            finally:
                server.kill()
        case ["sqs", source_name]:
            queue, state = start_aws("fauxqs" if "--fauxqs" in sys.argv else "ministack"), start_aws("ministack")
            place = f"sqs://eu-west-1?create=yes&endpoint={queue.url}&state_endpoint={state.url}"
            try:
                before = measure(
                    lambda name: f"{place}&table=a{name}&prefix=a{name}-",
                    source=Path(source_name).resolve(), **more,
                )  # fmt: skip
                after = measure(lambda name: f"{place}&table=b{name}&prefix=b{name}-", **more)
            finally:
                queue.kill()
                state.kill()
        case _:
            sys.exit(__doc__)
    show(before, after)


def show(before: dict[str, Figures], after: dict[str, Figures]) -> None:
    """Print a table of both, and then the calls by verb."""
    console = Console(width=150)
    grid = Grid("step", "calls", "", "table transactions", "", "bytes", "", "CPU, µs", "", "$ a million", "")
    for name, one in before.items():
        two = after[name]
        idle = name.startswith("idle")
        dollars = 1 if idle else MILLION
        grid.add_row(
            f"{name}{' (an hour)' if idle else ''}",
            *_pair(one.requests, two.requests), *_pair(one.transactions, two.transactions),
            *_pair(one.calls.get("bytes", 0.0), two.calls.get("bytes", 0.0)),
            *_pair(one.cpu * 1e6, two.cpu * 1e6), *_pair(one.dollars * dollars, two.dollars * dollars),
        )  # fmt: skip
    console.print(grid)
    for name, one in before.items():
        two = after[name]
        verbs = sorted({*one.calls, *two.calls} - {"bytes"})
        told = ", ".join(f"{verb} {one.calls.get(verb, 0.0):.3g} → {two.calls.get(verb, 0.0):.3g}" for verb in verbs)
        console.print(f"{name}: {told}")


def _pair(one: float, two: float) -> tuple[str, str]:
    mark = "!" if two > one * 1.02 + 1e-9 else ""
    return f"{one:,.4g}", f"{two:,.4g}{mark}"


if __name__ == "__main__":
    main()
