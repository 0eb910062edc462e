"""How soon a message is back, as the pages say it: the seconds are those that the scenarios of presence assert."""

import math
import re
from pathlib import Path

import pytest
from tests.scenarios.presence import PROVED_IN_THE_CLOUD_SECONDS, PROVED_SECONDS, RESTART_SECONDS

from tenure.config import Settings

from .markdown import ROOT

DOCS = ROOT / "docs"
#: Each with the seconds in which a proof brings a message back there.
PAGES = {
    ROOT / "README.md": {PROVED_SECONDS, PROVED_IN_THE_CLOUD_SECONDS},
    DOCS / "explanation" / "promises.md": {PROVED_SECONDS, PROVED_IN_THE_CLOUD_SECONDS},
    DOCS / "how-to" / "run-in-containers.md": {PROVED_SECONDS, PROVED_IN_THE_CLOUD_SECONDS},
    DOCS / "how-to" / "run-on-redis.md": {PROVED_SECONDS},
    DOCS / "how-to" / "run-on-sqs.md": {PROVED_SECONDS, PROVED_IN_THE_CLOUD_SECONDS},
    DOCS / "how-to" / "run-on-azure.md": {PROVED_SECONDS, PROVED_IN_THE_CLOUD_SECONDS},
}


def rest_of_a_lease(lease: float) -> tuple[int, int]:
    """How long a lease lasts after the worker's last word, and until it was swept.

    The least: a first beat may wait for two thirds of the lease. The most: a beat came at the last moment.
    """
    return math.ceil(lease / 3), math.ceil(lease + Settings().sweep_interval_seconds)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_seconds_of_a_proof_are_those_that_are_asserted(page: Path) -> None:
    rows = "".join(line for line in page.read_text(encoding="utf-8").splitlines(keepends=True) if line.startswith("| "))
    restarts = re.findall(r"one lease \+ ≤ (\d+) s", rows)
    proofs = re.findall(r"(?<!one lease \+ )≤ (\d+) s", rows)
    assert {float(seconds) for seconds in proofs} == PAGES[page]
    assert {float(seconds) for seconds in restarts} <= {RESTART_SECONDS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_seconds_without_a_proof_follow_from_lease_and_sweep(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = {(int(least), int(most)) for least, most in re.findall(r"(\d+)–(\d+) s\b", text)}
    assert found == {rest_of_a_lease(Settings().lease_seconds), rest_of_a_lease(10.0)}
