"""The second chance for tests of real time: given where the machine stood still, and nowhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.standstill import TRIES, Pulse

_ROOT = Path(__file__).parents[1]

#: A test that is stopped for a while as a busy machine does it; each run is counted, in a folder of its own.
_TEST = """
import os, signal, subprocess, time
from pathlib import Path
import pytest

class Lost(AssertionError):
    whatever_the_clock_says = True

@pytest.fixture
def fresh(tmp_path):
    assert not list(tmp_path.iterdir())
    (tmp_path / "used").touch()

@pytest.mark.MARK
def test_it(fresh):
    runs = Path(__file__).with_name("runs")
    runs.write_text((runs.read_text() if runs.exists() else "") + "x")
    if STOPS:
        stands = f"ps -o stat= -p {os.getpid()} | grep -q T"
        subprocess.Popen(["sh", "-c", f"until {stands}; do sleep 0.05; done; sleep 0.6; kill -CONT {os.getpid()}"])
        os.kill(os.getpid(), signal.SIGSTOP)
    if len(runs.read_text()) <= FAILS:
        raise ERROR("too late")
    if HANGS:
        time.sleep(100)
"""


def _run(
    folder: Path, *, stops: bool, fails: int, mark: str = "scenario", error: str = "AssertionError", hangs: bool = False
) -> tuple[int, int, str]:
    """How often it ran, the exit code, and what was said."""
    text = _TEST.replace("MARK", mark).replace("STOPS", str(stops)).replace("FAILS", str(fails))
    (folder / "test_inner.py").write_text(text.replace("ERROR", error).replace("HANGS", str(hangs)))
    # One that stopped for longer than any machine does, or not at all: whatever else goes on here.
    (folder / "conftest.py").write_text("from tests import standstill\nstandstill.STILL_SHARE = 1.0\n")
    if not stops:
        with (folder / "conftest.py").open("a") as conftest:
            conftest.write("standstill.STILL_SECONDS = 1e9\n")
    words = [
        "-q",
        "--timeout",
        "4",
        "-p",
        "tests.standstill",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir",
        str(folder),
    ]
    path = os.pathsep.join([str(_ROOT), str(_ROOT / "src")])
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}  # for this run alone
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(folder)], cwd=folder, capture_output=True, text=True, check=False,
        env={**ours, "PYTHONPATH": path}, timeout=110,
    )  # fmt: skip
    return len((folder / "runs").read_text()), ended.returncode, ended.stdout


@pytest.mark.parametrize("mark", ["scenario", "outage"])
def test_what_failed_while_the_machine_stood_still_is_run_again_and_told(tmp_path: Path, mark: str) -> None:
    runs, code, said = _run(tmp_path, stops=True, fails=1, mark=mark)
    assert (runs, code) == (2, 0), said
    assert "run again: test_inner.py::test_it: the machine stood still for up to " in said
    assert "too late" in said


def test_what_fails_every_time_fails(tmp_path: Path) -> None:
    runs, code, said = _run(tmp_path, stops=True, fails=99)
    assert (runs, code) == (TRIES, 1), said


def test_each_run_has_its_own_time_limit(tmp_path: Path) -> None:
    _, code, said = _run(tmp_path, stops=True, fails=1, hangs=True)
    assert code == 1, said
    assert "Timeout (>4.0s) from pytest-timeout" in said


def test_on_a_machine_that_is_well_a_failure_is_one(tmp_path: Path) -> None:
    runs, code, said = _run(tmp_path, stops=False, fails=1)
    assert (runs, code) == (1, 1), said
    assert "run again" not in said


def test_so_is_that_of_a_test_that_is_not_about_real_time(tmp_path: Path) -> None:
    runs, code, said = _run(tmp_path, stops=True, fails=1, mark="filterwarnings('error')")
    assert (runs, code) == (1, 1), said


def test_a_promise_that_is_broken_is_never_excused(tmp_path: Path) -> None:
    runs, code, said = _run(tmp_path, stops=True, fails=1, error="Lost")
    assert (runs, code) == (1, 1), said


@pytest.mark.parametrize(
    ("worst", "late", "is_late"), [(0.0, 0.0, False), (0.1, 1.0, False), (0.4, 1.0, True), (0.1, 4.0, True)]
)
def test_a_pulse_is_late_by_one_delay_or_by_many(worst: float, late: float, *, is_late: bool) -> None:
    pulse = Pulse()
    assert not pulse.stood_still
    pulse.lasted, pulse.worst, pulse.late = 10.0, worst, late
    assert pulse.stood_still is is_late
