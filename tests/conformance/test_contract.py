"""The table of the contract names tests that exist, and leaves no suite out."""

from tenure.testing.conformance import ALL_SUITES, list_tests
from tenure.testing.conformance.contract import CONTRACT

NAMES = {f"{suite.__name__}.{test}" for suite in ALL_SUITES for test in list_tests(suite)}
SUITES = {suite.__name__ for suite in ALL_SUITES}


def test_every_promise_names_tests_that_exist() -> None:
    named = {name for names in CONTRACT.values() for name in names}
    assert named <= NAMES | SUITES, sorted(named - NAMES - SUITES)
    assert all(CONTRACT.values())


def test_every_suite_holds_somebody_to_a_promise() -> None:
    named = {name.partition(".")[0] for names in CONTRACT.values() for name in names}
    assert named == SUITES
