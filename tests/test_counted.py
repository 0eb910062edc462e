"""The closing line of a run counts the tests of all its stages."""

from tests.counted import summed


def test_stages_are_added_up_and_an_empty_one_changes_nothing() -> None:
    assert summed("10 0 0 2\n5 1 1 0\n0 0 0 0\n") == "15 passed, 2 failed, 2 skipped"


def test_a_run_without_tests_says_so() -> None:
    assert summed("") == "0 passed, 0 failed, 0 skipped"
