"""The words behind both proofs' commands."""

import argparse
from pathlib import Path
from typing import NamedTuple

#: Seconds in which `--quick` begins its last turn, so that it ends within five minutes.
BUDGET = 230.0


class Arguments(NamedTuple):
    """What was asked for."""

    only: list[str]
    faults: list[str]
    quick: bool
    #: With `quick`: nothing new begins after so many seconds.
    budget: float
    json: Path | None
    update_docs: bool

    def command(self, target: str) -> str:
        """How to make the same table."""
        words = [f"--only {','.join(self.only)}"] if self.only else []
        words += [f"--faults {','.join(self.faults)}"] if self.faults else []
        words += ["--quick"] if self.quick else []
        words += [f"--budget {self.budget:g}"] if self.quick and self.budget != BUDGET else []
        return f'make {target} ARGS="{" ".join(words)}"' if words else f"make {target}"


def read_arguments(target: str, contenders: set[str], faults: list[str] | None = None) -> Arguments:
    """Of this process."""
    parser = argparse.ArgumentParser(prog=f"make {target}", description="Measured on this machine, against the peers.")
    names = ", ".join(sorted(contenders | {"tenure"}))
    parser.add_argument("--only", default="", metavar="NAMES", help=f"with commas between them: {names}")
    if faults is not None:
        parser.add_argument("--faults", default="", metavar="NAMES", help=f"with commas: {', '.join(faults)}")
    parser.add_argument("--quick", action="store_true", help="5 minutes at most: fewer messages, one round")
    parser.add_argument(
        "--budget", type=float, default=BUDGET, metavar="SECONDS", help="of --quick: nothing begins later"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    parser.add_argument("--update-docs", action="store_true", help="put the table into docs/explanation/proof.md")
    found = parser.parse_args()
    only, which = _names(found.only), _names(getattr(found, "faults", ""))
    if strange := sorted(set(only) - contenders - {"tenure"}):
        parser.error(f"there is no {strange[0]!r}; there are {names}")
    if strange := sorted(set(which) - set(faults or ())):
        parser.error(f"there is no fault {strange[0]!r}; there are {', '.join(faults or ())}")
    return Arguments(
        only, which, found.quick, found.budget if found.quick else float("inf"), found.json, found.update_docs
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
