"""How often a worker's process looks for garbage in cycles."""

import subprocess
import sys

import pytest

_ASK = """
import gc
from tenure.runtime.garbage import collect_rarely
{before}
frozen = gc.get_freeze_count()  # from Python 3.12 on some are from the start
collect_rarely()
print(gc.get_threshold()[0], gc.get_freeze_count() > frozen)
"""


@pytest.mark.parametrize(
    ("before", "answer"),
    [("pass", "10000 True"), ("gc.set_threshold(5)", "5 False"), ("gc.disable()", "{usual} False")],
    ids=["usual", "own_threshold", "switched_off"],
)
def test_a_program_that_set_its_own_way_keeps_it(before: str, answer: str) -> None:
    """In a process of its own: the collector belongs to the whole of it."""
    usual = subprocess.run(
        [sys.executable, "-c", "import gc; print(gc.get_threshold()[0])"], capture_output=True, text=True, check=True
    )
    done = subprocess.run(
        [sys.executable, "-c", _ASK.format(before=before)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == answer.format(usual=usual.stdout.strip())
