"""The live suites really run when they are asked for, and are skipped with their reason when they are not.

The stand-ins take the place of the accounts, by the very same variables.
"""

import os
import subprocess
import sys

import pytest
from tests.live.asking import AZURE, REASONS, SQS, is_known
from tests.live.running import ROOT, account, run, things
from tests.live.suites import CHOSEN, LEFT_OUT, SUITES

from tenure.testing.conformance import list_tests

_FILES = {SQS: "tests/live/test_live_sqs.py", AZURE: "tests/live/test_live_azure.py"}
#: One that sends and settles; a part of each suite of broker and state; the two of the largest body there is.
_SOME = "test_one_lease_twice_in_a_batch_takes_effect_once or test_a_message_that_was_completed or the_limit"


@pytest.mark.parametrize("variable", _FILES)
def test_nobody_is_charged_who_did_not_ask(variable: str) -> None:
    _, said = run(_FILES[variable], CI="true")
    assert REASONS[variable] in said
    assert "1 skipped" in said
    assert "CI: a skipped test fails the run" not in said


def test_no_other_skip_passes_for_one_of_these(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SQS, raising=False)
    skip = str((_FILES[SQS], 7, f"Skipped: {REASONS[SQS]}"))
    assert is_known(skip, _FILES[SQS])
    assert not is_known(skip, "tests/conformance/test_sqs.py")
    assert not is_known(str(("f", 7, "Skipped: fauxqs is not installed")), _FILES[SQS])
    monkeypatch.setenv(SQS, "sqs://eu-west-1")
    assert not is_known(skip, _FILES[SQS])


@pytest.mark.parametrize("variable", _FILES)
def test_asked_for_it_runs_and_leaves_nothing_behind(variable: str) -> None:
    ended, said = run(_FILES[variable], "-k", _SOME, **{variable: account(variable)})
    assert ended == 0, said
    assert " passed" in said
    assert things(variable) == set()


def test_what_is_left_out_is_there_to_be_left_out() -> None:
    all_of_them = {test for suite in CHOSEN for test in list_tests(suite)}
    assert all_of_them >= LEFT_OUT
    assert {test for suite in SUITES for test in list_tests(suite)} == all_of_them - LEFT_OUT


def test_the_credentials_of_the_stand_ins_do_not_come_before_yours() -> None:
    words = "import os, tests.live.harness, tests.live.running; print('AWS_ACCESS_KEY_ID' in os.environ)"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    said = subprocess.run([sys.executable, "-c", words], cwd=ROOT, env=kept, capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
