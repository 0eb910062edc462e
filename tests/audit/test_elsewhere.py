"""Timeouts that are written in another file than the call that gets them."""

from pathlib import Path

import pytest

from tenure.audit import Operation, audit
from tenure.audit.elsewhere import Elsewhere

_WORKER = """
import boto3
{imported}

def run(url):
    sqs = boto3.client("sqs")
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout={timeout}, WaitTimeSeconds=20)
        for message in answer.get("Messages", []):
            print(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
"""


def _audited(
    folder: Path, imported: str, timeout: str = "TIMEOUT", **files: str
) -> tuple[list[str], tuple[Operation, ...]]:
    """The findings and operations of `shop/workers/mail.py` among these files."""
    worker = folder / "shop" / "workers" / "mail.py"
    files = {"shop/__init__": "", "shop/workers/__init__": "", **files}
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    worker.write_text(_WORKER.format(imported=imported, timeout=timeout))
    report = audit([str(worker)])
    return [one.finding.id for one in report.findings], report.operations


@pytest.mark.parametrize(
    ("imported", "timeout"),
    [
        ("from shop.settings import TIMEOUT", "TIMEOUT"),
        ("from shop.settings import TIMEOUT as LEASE", "LEASE"),
        ("from shop import settings", "settings.TIMEOUT"),
        ("import shop.settings", "shop.settings.TIMEOUT"),
        ("import shop.settings as config", "config.TIMEOUT"),
        ("from ..settings import TIMEOUT", "TIMEOUT"),
        ("from .. import settings", "settings.TIMEOUT"),
        ("from settings import TIMEOUT", "TIMEOUT"),  # run from within the folder
        ("from shop.settings import MINUTES", "5 * MINUTES"),
        ("from shop.settings import Settings", "Settings.TIMEOUT"),
        ("from shop.settings import settings", "settings.TIMEOUT"),
        ("from shop import settings", "settings.Settings.TIMEOUT"),
    ],
)
def test_a_constant_of_another_file_is_as_hard_coded_as_one_of_this(
    tmp_path: Path, imported: str, timeout: str
) -> None:
    written = "from .limits import MINUTES\nTIMEOUT = 5 * MINUTES\n"
    written += "class Settings:\n    TIMEOUT = 5 * MINUTES\nsettings = Settings()\n"
    settings = {"shop/settings": written, "shop/limits": "MINUTES = 60"}
    found, operations = _audited(tmp_path, imported, timeout, **settings)
    assert found == ["TQ101"]
    assert any("300" in one.timeout for one in operations)


@pytest.mark.parametrize(
    "settings",
    [
        "import os\nTIMEOUT = int(os.environ['LEASE'])\n",
        "TIMEOUT = 300\nTIMEOUT = 600\n",
        "TIMEOUT = (",
        "from .settings import TIMEOUT\n",
        "",
    ],
    ids=["by the environment", "bound twice", "does not parse", "in a circle", "not there"],
)
def test_what_the_other_file_does_not_say_is_not_known(tmp_path: Path, settings: str) -> None:
    assert _audited(tmp_path, "from shop.settings import TIMEOUT", **{"shop/settings": settings})[0] == []


def test_files_that_could_both_be_meant_must_agree(tmp_path: Path) -> None:
    files = {"shop/settings": "TIMEOUT = 300\n", "settings": "TIMEOUT = 300\n"}
    assert _audited(tmp_path, "from settings import TIMEOUT", **files)[0] == ["TQ101"]
    files["settings"] = "TIMEOUT = 60\n"
    assert _audited(tmp_path, "from settings import TIMEOUT", **files)[0] == []


def test_what_is_imported_and_bound_here_as_well_is_neither(tmp_path: Path) -> None:
    imported = "try:\n    from shop.settings import TIMEOUT\nexcept ImportError:\n    TIMEOUT = 30"
    assert _audited(tmp_path, imported, **{"shop/settings": "TIMEOUT = 300\n"})[0] == []


def test_a_second_audit_reads_what_has_changed(tmp_path: Path) -> None:
    imported, name = "from shop.settings import TIMEOUT", "shop/settings"
    assert _audited(tmp_path, imported, **{name: "TIMEOUT = 300\n"})[0] == ["TQ101"]
    assert _audited(tmp_path, imported, **{name: "import os\nTIMEOUT = int(os.environ['LEASE'])\n"})[0] == []


def test_a_file_near_the_root_of_the_disk_may_import_names_without_a_module() -> None:
    # The folders above it end at the root, which has no name that could get an ending.
    assert Elsewhere().constant("/worker.py", "TIMEOUT", 0, 0) is None
    assert Elsewhere().constant("/srv/app/worker.py", "Settings.TIMEOUT", 0, 0) is None
