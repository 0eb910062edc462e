"""`make proof-faults`: what becomes of messages when things go wrong, with each contender on this machine.

    python -m benchmarks.proof.faults [--only NAMES] [--faults NAMES] [--quick] [--json FILE] [--update-docs]

Every cell is a store of its own and real worker processes. Most of the time is spent waiting, so several cells are
played at once.
"""

import itertools
import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from rich.console import Console
from tests.servers import NotInstalled

from benchmarks.proof import page
from benchmarks.proof.arguments import Arguments, read_arguments
from benchmarks.proof.environment import Environment, folder, install
from benchmarks.proof.faults import FAULTS
from benchmarks.proof.machine import describe, is_busy
from benchmarks.proof.peer import Contender, chosen, contenders
from benchmarks.proof.place import NotPossible, make_place
from benchmarks.proof.program import Failed, Program
from benchmarks.proof.stage import FULL, QUICK, Scale, Stage

#: Cells at a time: most of a cell is waiting.
AT_ONCE = max(3, os.cpu_count() or 1)


def play(one: Contender, environment: Environment, fault: str, scale: Scale, latest: float) -> dict[str, Any]:
    """One cell, unless it is later than `latest`."""
    if time.monotonic() > latest:
        return {"told": "–", "reason": "no time left (`--quick`)"}
    with folder() as files:
        try:
            place = make_place(one.store, files, fault)
        except NotInstalled as error:
            return {"told": "–", "reason": str(error)}
        program = Program(one, environment, "safe", files, for_speed=False, lease=scale.lease, **place.direct)
        if one.peer.key == "tenure":
            program.settings = {"TENURE_LEASE": f"{scale.lease:g}"}
        stage = Stage(program, place, scale)
        try:
            FAULTS[fault](stage)
            verdict = stage.verdict()
        except NotPossible as error:
            return {"told": "n/a", "reason": str(error)}
        except (
            Failed,
            OSError,
            subprocess.SubprocessError,
            TimeoutError,
        ) as error:  # it must not cost the others theirs
            return {"told": "failed", "reason": f"{type(error).__name__}: {error}"}
        finally:
            program.end()
            place.close()
    return verdict._asdict() | {"told": verdict.told}


def measure(
    found: list[Contender], faults: list[str], console: Console, scale: Scale, budget: float
) -> Iterator[tuple[Contender, str, dict[str, dict[str, Any]], str]]:
    """Every contender with every fault: the row, its version, its cells, and why there are none."""
    environments, reasons = install(found, console)
    latest = time.monotonic() + budget
    cells: dict[str, dict[str, dict[str, Any]]] = {one.key: {} for one in found}
    asked = [(fault, one) for fault, one in itertools.product(faults, found) if one.key in environments]
    with ThreadPoolExecutor(AT_ONCE) as pool, console.status("playing…") as status:
        playing = {
            pool.submit(play, one, environments[one.key], fault, scale, latest): (one, fault) for fault, one in asked
        }
        try:
            for number, future in enumerate(as_completed(playing), 1):
                one, fault = playing[future]
                cell = cells[one.key][fault] = future.result()
                console.print(f"{fault}, {one.name}: {cell['told']}", highlight=False, markup=False)
                status.update(f"{number} of {len(playing)} played…")
        except KeyboardInterrupt:
            console.print("ending what is under way…")
            pool.shutdown(cancel_futures=True)
            raise
    for one in found:
        version = environments[one.key].versions() if one.key in environments else ""
        yield one, version, cells[one.key], reasons.get(one.key, "")


def document(
    rows: Iterator[tuple[Contender, str, dict[str, dict[str, Any]], str]],
    faults: list[str],
    machine: dict[str, str],
    arguments: Arguments,
) -> dict[str, Any]:
    """For `--json`, and for the page."""
    told = []
    for one, version, outcomes, reason in rows:
        safe = one.peer.setup("safe")
        setups = {"safe": {"how": safe.told, "guarantee": safe.guarantee}}
        row = {"key": one.key, "name": one.name, "version": version, "reason": reason, "setups": setups}
        told.append(row | {"outcomes": outcomes})
    scale = QUICK if arguments.quick else FULL
    return {
        "kind": "faults", "command": arguments.command("proof-faults"), "scale": scale._asdict(), "faults": faults,
        "machine": machine, "rows": told,
    }  # fmt: skip


def main() -> None:
    """Play what was asked for."""
    everyone = [one for one in contenders("redis", "sqlite", "sqs", "azure") if one.peer.safe is not None]
    arguments = read_arguments("proof-faults", {one.key for one in everyone}, list(FAULTS))
    console = Console()
    busy = is_busy()
    with folder() as files:
        machine = describe(files)
    faults = arguments.faults or list(FAULTS)
    rows = measure(
        chosen(everyone, arguments.only), faults, console, QUICK if arguments.quick else FULL, arguments.budget
    )
    page.finish(document(rows, faults, machine, arguments) | {"busy": busy}, arguments, console)


if __name__ == "__main__":
    main()
