"""The part on cost: what each step of a message's life asks of the clouds. Called by `make bench`.

On Azure both cores carry the same load, and the shared one must not cost more; on SQS the figures are there for a look
beside those of an earlier state (`compare.py`). Azurite and ministack answer. What happens once a second counts more
for each message where a machine is slow, so a step has a tolerance of 5 %.
"""

import os

from rich.console import Console
from tests.servers.aws import start_aws
from tests.servers.azure import start_azure

from benchmarks.cost_part.steps import MILLION, Figures
from benchmarks.cost_part.steps import measure as run_all
from benchmarks.table import Table

os.environ.setdefault("AWS_ACCESS_KEY_ID", "bench")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "bench")
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")

#: As much as chance moves a figure.
_ALIKE = 1.05
_PATIENT = "timeout_seconds=60"


def measure_azure(table: Table, *, quick: bool) -> None:
    """Both cores, step by step."""
    server = start_azure()
    try:
        before = run_all(lambda name: server.url(f"a{name}", "core=azure", _PATIENT), quick=quick)
        after = run_all(lambda name: server.url(f"b{name}", "core=rowstore", _PATIENT), quick=quick)
    finally:
        server.kill()
    for name, one in after.items():
        _tell(table, f"Azure, {name}", one)
        old = before[name]
        table.add(f"Azure, {name}: transactions, shared core / earlier", _ratio(one.transactions, old.transactions))
        table.add(f"Azure, {name}: dollars, shared core / earlier", _ratio(one.dollars, old.dollars), "≤", _ALIKE)
    both = [sum(one.transactions for one in _messages(some)) for some in (after, before)]
    table.add("Azure, all steps: transactions, shared core / earlier", both[0] / both[1], "≤", 1.0)


def measure_sqs(table: Table, *, quick: bool) -> None:
    """The figures alone."""
    server = start_aws("ministack")
    place = f"sqs://eu-west-1?create=yes&endpoint={server.url}&state_endpoint={server.url}"
    try:
        found = run_all(lambda name: f"{place}&table={name}&prefix={name}-", quick=quick)
    finally:
        server.kill()
    for name, one in found.items():
        _tell(table, f"SQS, {name}", one)


def measure(table: Table, console: Console, *, quick: bool) -> None:
    """Fill the table."""
    with console.status("Azure, two cores…"):
        measure_azure(table, quick=quick)
    with console.status("SQS…"):
        measure_sqs(table, quick=quick)


def _tell(table: Table, name: str, one: Figures) -> None:
    is_idle = "idle" in name
    unit = "an hour" if is_idle else "a message"
    table.add(f"{name}: requests {unit}", one.requests)
    table.add(f"{name}: bytes {unit}", one.calls.get("bytes", 0.0))
    table.add(f"{name}: CPU {unit}, µs", one.cpu * 1e6)
    if is_idle:
        table.add(f"{name}: dollars an hour", one.dollars)
    else:
        table.add(f"{name}: dollars a million", one.dollars * MILLION)


def _messages(some: dict[str, Figures]) -> list[Figures]:
    return [one for name, one in some.items() if not name.startswith("idle")]


def _ratio(one: float, two: float) -> float:
    return one / two if two else 1.0
