"""Mistakes planted around a SQLite file."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tenure
from tenure.adapters.sqlite import examination
from tenure.adapters.sqlite.checkpoint import check_library
from tenure.finding import Severity

from .setups import diagnosed, only

pytestmark = pytest.mark.real_time


async def test_a_file_that_a_power_cut_can_empty(tmp_path: Path) -> None:
    found = only(await diagnosed(f"sqlite:///{tmp_path}/jobs.db?synchronous=normal"))
    assert (found.id, found.severity) == ("sqlite_durability", Severity.WARNING)


async def test_a_ledger_that_forgets_within_the_hour(tmp_path: Path) -> None:
    found = only(await diagnosed(f"sqlite:///{tmp_path}/jobs.db?keep_seconds=3600"))
    assert (found.id, found.severity) == ("ledger_window_short", Severity.WARNING)
    assert "1 hour" in found.evidence


async def test_a_file_on_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel lists it where /srv is a share of another machine."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        f"99 27 0:50 / {tmp_path} rw,relatime shared:1 - nfs4 files:/srv rw,vers=4.2\n"
    )
    monkeypatch.setattr(examination, "_MOUNTS", mounts)
    found = only(await diagnosed(f"sqlite:///{tmp_path}/jobs.db"))
    assert (found.id, found.severity) == ("network_file_system", Severity.CRITICAL)
    assert "nfs4" in found.evidence


async def test_a_file_that_everybody_may_write(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    path.touch()
    path.chmod(0o666)
    found = only(await diagnosed(f"sqlite:///{path}"))
    assert (found.id, found.severity) == ("file_open_to_all", Severity.WARNING)


def test_a_log_that_is_not_copied_any_more(tmp_path: Path) -> None:
    """As large as a long transaction of another program makes it; sparse, so that the test writes nothing."""
    path = tmp_path / "jobs.db"
    with Path(f"{path}-wal").open("wb") as log:
        log.truncate(200 << 20)
    (found,) = examination._write_ahead_log(path).findings
    assert (found.id, found.severity) == ("sqlite_wal_large", Severity.WARNING)
    assert "200 MiB" in found.evidence


def test_an_old_library_is_told_of() -> None:
    assert [one.id for one in check_library((3, 40, 1), "jobs.db")] == ["sqlite_wal_reset"]
    assert check_library((3, 51, 3), "jobs.db") == []


def test_a_full_disk_that_is_in_memory(tmp_path: Path) -> None:
    """A file system of 24 MiB of this test's own, in a namespace that ends with it."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("this user may not mount anything, also not in a namespace of his own")
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "jobs.py").write_text(f'from tenure import Tenure\n\napp = Tenure("sqlite:///{disk}/jobs.db")\n')
    ran = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size=24m tmpfs "{disk}" && exec "$@"', "sh",
         sys.executable, "-m", "tenure", "doctor", "jobs:app", "--json"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(tenure.__file__).parents[1]), "TENURE_SWEEP_INTERVAL": "0.1"},
    )  # fmt: skip
    assert ran.returncode == 1, ran.stderr
    found = {one["id"]: one for one in json.loads(ran.stdout)["findings"]}
    assert found["disk_space_low"]["severity"] == "critical"
    assert "of 24 MiB free" in found["disk_space_low"]["evidence"]
    assert "(tmpfs)" in found["volatile_file_system"]["evidence"]
