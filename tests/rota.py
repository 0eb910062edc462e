"""What `.ci/run` adds to `make test`: as many parts of `make test-all` as fit, and the others in later runs.

    python -m tests.rota SECONDS    runs parts until so many seconds are over; prints which it ran and which not

Every run begins with another part, so each one is run every few runs. Which one is decided by the number of commits
plus the number of the day: the same commit on the same day runs the same parts. `TURN=3` in the environment decides
it instead. A part is begun only if its minutes (`tests/selection.py`) are left. One whose server or Python is not here
is left out by name. Called by `.ci/run`.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tests.selection import PARTS
from tests.servers.binary import Kind, NotInstalled, Tool, binary

from tenure.clock import SYSTEM_CLOCK

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
#: A virtual environment, and the tests that need neither a cloud nor a scenario.
_PYTHON_MINUTES = 5
_DAY_SECONDS = 86_400


class Entry(NamedTuple):
    """One part: what `make` calls it, how long it takes, and why it cannot be run here (empty: it can)."""

    target: str
    minutes: int
    lacks: str = ""


class Plan(NamedTuple):
    """What a run does, and why it does not do the rest."""

    run: list[Entry]
    left_out: list[tuple[Entry, str]]


def entries() -> list[Entry]:
    """Everything that `make test-all` adds to `make test`."""
    parts = [Entry(f"part-{part.name}", part.minutes, _lacks_program(part.needs)) for part in PARTS]
    return parts + [Entry(f"test-{version}", _PYTHON_MINUTES, _lacks_python(version)) for version in VERSIONS]


def in_turn(every: Sequence[Entry], turn: int) -> list[Entry]:
    """All of them, beginning with the one whose turn it is among those that can be run."""
    able = [entry for entry in every if not entry.lacks]
    start = turn % len(able) if able else 0
    return [*able[start:], *able[:start], *(entry for entry in every if entry.lacks)]


def plan(every: Iterable[Entry], minutes: float) -> Plan:
    """Take each one that still fits."""
    made = Plan([], [])
    for entry in every:
        if entry.lacks:
            made.left_out.append((entry, entry.lacks))
        elif entry.minutes > minutes:
            made.left_out.append((entry, f"{entry.minutes} min do not fit: its turn comes in a later run"))
        else:
            minutes -= entry.minutes
            made.run.append(entry)
    return made


def _lacks_program(kind: Kind | Tool | None) -> str:
    try:
        if kind is not None:
            binary(kind)
    except NotInstalled as missing:
        return str(missing)
    return ""


def _lacks_python(version: str) -> str:
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return "make test runs on this Python"
    found = subprocess.run(["sh", "requirements/venv", "find", version], capture_output=True, check=False)
    return "" if found.returncode == 0 else "this Python is not here"


def _turn() -> int:
    if "TURN" in os.environ:
        return int(os.environ["TURN"])
    counted = subprocess.run(["git", "rev-list", "--count", "HEAD"], capture_output=True, text=True, check=True)
    return int(counted.stdout) + int(SYSTEM_CLOCK.wall() // _DAY_SECONDS)


def main() -> int:
    """Run what fits; the first exit code that is not 0."""
    deadline = SYSTEM_CLOCK.monotonic() + float(sys.argv[1])
    turn = _turn()
    todo = in_turn(entries(), turn)
    made = plan(todo, (deadline - SYSTEM_CLOCK.monotonic()) / 60)
    _say(f"rota, turn {turn}: {' '.join(entry.target for entry in made.run) or 'nothing fits'}")
    for entry, why in made.left_out:
        _say(f"rota: not {entry.target}: {why}")
    for entry in made.run:
        if SYSTEM_CLOCK.monotonic() + 60 * entry.minutes > deadline + 60:
            _say(f"rota: not {entry.target}: no time is left")
            continue
        _say(f"\n==> make {entry.target}")
        code = subprocess.run(["make", entry.target], check=False).returncode
        if code:
            return code
    return 0


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the log of CI


if __name__ == "__main__":
    sys.exit(main())
