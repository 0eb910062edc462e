"""The second chance for measured durations: given where the machine stood still, once, and for nothing else."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.kit.project import NO_OTHER_PLUGINS
from tests.machine_pulse import Pulse, PulseProcess
from tests.standstill import TookTooLong, check_duration

_ROOT = Path(__file__).parents[1]

#: A test that fails so often. `STOPS` says who stands still for a while: the machine (the process that takes its pulse
#: stands for it), the test's own process, as one does that holds the GIL, or nobody. Each run is counted.
_TEST = """
import os, signal, subprocess, sys, time
from pathlib import Path
import pytest
from tests import standstill

@pytest.fixture
def fresh(tmp_path):
    assert not list(tmp_path.iterdir())
    (tmp_path / "used").touch()
    yield
    if AT_THE_END and len(Path(__file__).with_name("runs").read_text()) == 1:
        standstill.check_duration("the stop", 5.0, 3.0)

@pytest.mark.MARK
def test_it(fresh, request):
    runs = Path(__file__).with_name("runs")
    runs.write_text((runs.read_text() if runs.exists() else "") + "x")
    if "STOPS" == "machine":
        pulse = request.config.stash[standstill._pulse].pid
        os.kill(pulse, signal.SIGSTOP)
        time.sleep(0.6)
        os.kill(pulse, signal.SIGCONT)
    if "STOPS" == "process":
        stands = f"ps -o stat= -p {os.getpid()} | grep -q T"
        subprocess.Popen(["sh", "-c", f"until {stands}; do sleep 0.05; done; sleep 0.6; kill -CONT {os.getpid()}"])
        os.kill(os.getpid(), signal.SIGSTOP)
    if len(runs.read_text()) <= FAILS:
        ERROR
    if HANGS:
        time.sleep(100)
"""

_TOO_LATE = "standstill.check_duration('the return', 5.0, 3.0)"


def _run(
    folder: Path, *, stops: str = "machine", fails: int, mark: str = "scenario", error: str = _TOO_LATE,
    hangs: bool = False, at_the_end: bool = False,
) -> tuple[int, int, str]:  # fmt: skip
    """How often it ran, the exit code, and what was said."""
    text = _TEST.replace("MARK", mark).replace("STOPS", stops).replace("FAILS", str(fails))
    (folder / "test_inner.py").write_text(
        text.replace("ERROR", error).replace("HANGS", str(hangs)).replace("AT_THE_END", str(at_the_end))
    )
    # Half a second is what counts here, whatever else goes on on this machine.
    still = 0.5 if stops == "machine" else 1e9
    lines = [
        "from tests import machine_pulse",
        "machine_pulse.STILL_SHARE = 1e9",
        f"machine_pulse.STILL_SECONDS = {still}",
    ]
    (folder / "conftest.py").write_text("\n".join(lines))
    options = [
        "-q",
        "-p",
        "pytest_timeout",
        "--timeout",
        "4",
        "-p",
        "tests.standstill",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
    ]
    path = os.pathsep.join([str(_ROOT), str(_ROOT / "src")])
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}  # for this run alone
    ours |= NO_OTHER_PLUGINS
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), str(folder)], cwd=folder,
        capture_output=True, text=True, check=False, env={**ours, "PYTHONPATH": path}, timeout=110,
    )  # fmt: skip
    return len((folder / "runs").read_text()), ended.returncode, ended.stdout


@pytest.mark.parametrize("mark", ["scenario", "outage"])
def test_a_duration_that_failed_while_the_machine_stood_still_is_measured_again(tmp_path: Path, mark: str) -> None:
    runs, code, said = _run(tmp_path, fails=1, mark=mark)
    assert (runs, code) == (2, 0), said
    assert "run again: test_inner.py::test_it: the machine stood still for up to " in said
    assert "the return took 5.00 s; at most 3 s are promised" in said


def test_a_duration_that_is_judged_after_the_test_is_measured_again_too(tmp_path: Path) -> None:
    runs, code, said = _run(tmp_path, fails=0, at_the_end=True)
    assert (runs, code) == (2, 0), said


def test_a_duration_excuses_no_other_failure_of_its_test(tmp_path: Path) -> None:
    runs, code, said = _run(tmp_path, fails=1, error="raise AssertionError('lost')", at_the_end=True)
    assert (runs, code) == (1, 1), said


def test_a_second_failure_is_final(tmp_path: Path) -> None:
    runs, code, said = _run(tmp_path, fails=2)
    assert (runs, code) == (2, 1), said


def test_the_second_run_has_the_whole_time_limit(tmp_path: Path) -> None:
    _, code, said = _run(tmp_path, fails=1, hangs=True)
    assert code == 1, said
    assert "Timeout (>4.0s) from pytest-timeout" in said


def test_a_process_that_stands_still_by_itself_excuses_nothing(tmp_path: Path) -> None:
    runs, code, said = _run(tmp_path, stops="process", fails=1)
    assert (runs, code) == (1, 1), said


def test_on_a_machine_that_is_well_a_failure_is_one(tmp_path: Path) -> None:
    runs, code, said = _run(tmp_path, stops="nobody", fails=1)
    assert (runs, code) == (1, 1), said
    assert "run again" not in said


def test_a_test_that_is_not_about_real_time_is_never_run_again(tmp_path: Path) -> None:
    runs, code, said = _run(tmp_path, fails=1, mark="filterwarnings('error')", stops="nobody")
    assert (runs, code) == (1, 1), said


@pytest.mark.parametrize("error", ["raise AssertionError('run by two at a time')", "sys.exit(3)", "raise OSError"])
def test_nothing_but_a_duration_is_ever_excused(tmp_path: Path, error: str) -> None:
    runs, code, said = _run(tmp_path, fails=1, error=error)
    assert (runs, code) == (1, 1), said


@pytest.mark.real_time
def test_a_pulse_notes_that_its_process_was_not_run() -> None:
    process = PulseProcess()
    try:
        process.take()
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGCONT)
        pulse = process.take()
    finally:
        process.stop()
    assert pulse.worst >= 0.4
    assert pulse.stood_still


def test_code_that_holds_the_gil_does_not_make_the_pulse_late(tmp_path: Path) -> None:
    """The pulse is asked for by a process that can do nothing meanwhile; the one that beats goes on."""
    script = (
        "import ctypes, json; from tests.machine_pulse import PulseProcess\n"
        "process = PulseProcess(); process.take()\n"
        "ctypes.PyDLL(None).usleep(600_000)\n"  # PyDLL: the GIL is not released
        "print(process.take().worst); process.stop()\n"
    )
    path = os.pathsep.join([str(_ROOT), str(_ROOT / "src")])
    worst = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    ).stdout
    assert float(worst) < 0.5


@pytest.mark.parametrize(
    ("worst", "late", "is_late"), [(0.0, 0.0, False), (0.1, 1.0, False), (0.4, 1.0, True), (0.1, 4.0, True)]
)
def test_a_pulse_is_late_by_one_delay_or_by_many(worst: float, late: float, *, is_late: bool) -> None:
    assert Pulse(worst, late, 10.0).stood_still is is_late
    assert not Pulse().stood_still


def test_a_duration_within_its_bound_is_handed_back() -> None:
    assert check_duration("the return", 2.5, 3.0) == 2.5
    with pytest.raises(TookTooLong, match=r"^the return took 3\.10 s; at most 3 s are promised$"):
        check_duration("the return", 3.1, 3.0)
