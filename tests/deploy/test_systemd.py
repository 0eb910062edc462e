"""The units of deploy/systemd, by systemd's own checks."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
_NAMES = ("tenure-worker@.service", "tenure-server.service")
#: Of 10; systemd itself calls up to 2 "OK".
_MOST_EXPOSED = 1.5

pytestmark = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="not applicable: no systemd on this machine"
)


def _analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=60, check=False)


def _copied(folder: Path, name: str) -> Path:
    """The unit with a command that is there: it is looked for on this machine."""
    text, found = re.subn(r"(?m)^(ExecStart=)\S+", rf"\g<1>{sys.executable}", (_UNITS / name).read_text("utf-8"))
    assert found == 1
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("name", _NAMES)
def test_a_unit_has_nothing_that_systemd_does_not_know(tmp_path: Path, name: str) -> None:
    # It exits with 0 also for keys that it does not know, and says so.
    assert _analyze("verify", str(_copied(tmp_path, name))).stderr == ""


def test_a_key_that_systemd_does_not_know_is_found(tmp_path: Path) -> None:
    unit = _copied(tmp_path, _NAMES[1])
    unit.write_text(unit.read_text("utf-8").replace("WatchdogSec", "WatchdogSeconds"), encoding="utf-8")
    assert "WatchdogSeconds" in _analyze("verify", str(unit)).stderr


@pytest.mark.parametrize("name", _NAMES)
def test_a_unit_exposes_little(name: str) -> None:
    told = _analyze("security", "--offline=true", str(_UNITS / name)).stdout
    level = re.search(r"Overall exposure level for \S+: ([0-9.]+)", told)
    assert level is not None, told
    assert float(level[1]) <= _MOST_EXPOSED


def test_a_worker_has_time_to_stop() -> None:
    """`TimeoutStopSec` is longer than the grace, and `TimeoutStartSec` than the wait for the broker."""
    for name in _NAMES:
        text = (_UNITS / name).read_text("utf-8")
        stop, start = (int(re.search(rf"(?m)^Timeout{word}Sec=(\d+)$", text)[1]) for word in ("Stop", "Start"))  # type: ignore[index]
        assert stop > 30
        waits = re.search(r"--wait-for-broker (\d+)", text)
        assert start > (int(waits[1]) if waits else 30)
