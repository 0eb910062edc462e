"""The suites bite: a store that works passes all of them, and each deliberate fault fails at least one."""

import pytest

from tenure.testing.conformance import ALL_SUITES, run_suites
from tenure.testing.faulty import FAULTS, Fault

from .harnesses import MemoryHarness


def test_a_store_that_works_passes_every_suite() -> None:
    """So what is caught below is the fault, not the store under it."""
    failures = run_suites(ALL_SUITES, MemoryHarness)
    assert not failures, "\n".join(str(failure) for failure in failures)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_the_suites_catch(fault: Fault) -> None:
    """By one of the suites that are there for it."""
    expected = [suite for suite in ALL_SUITES if suite.__name__ in fault.caught_by]
    caught = run_suites(expected, lambda: MemoryHarness(fault), stop_at_first=True)
    if not caught:
        others = [suite for suite in ALL_SUITES if suite not in expected]
        elsewhere = run_suites(others, lambda: MemoryHarness(fault), stop_at_first=True)
        where = f"only {elsewhere[0]} caught it" if elsewhere else "nothing caught it"
        pytest.fail(f"{fault.name}: {', '.join(fault.caught_by)} should have caught it; {where}")


def test_there_are_faults_of_every_theme() -> None:
    """A suite that no fault was made for is not known to bite."""
    expected = {name for fault in FAULTS for name in fault.caught_by}
    # A wrapper cannot forget what a closed store kept; the crash tests of the adapters do that for real.
    assert {suite.__name__ for suite in ALL_SUITES} - expected == {"Durability"}
