"""Runbooks: each alert and detector has one, the server has it, and its commands run as they stand there."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.docs.alerts_page import page as alerts_page
from tests.docs.markdown import ROOT, blocks_of
from tests.docs.runbook_copies import SERVED, WRITTEN

from tenure.app import Tenure
from tenure.cli.root import root
from tenure.monitoring.catalogue import RUNBOOKS
from tenure.monitoring.detectors import EVERY

_FOLDER = ROOT / "docs" / "runbooks"
_PAGES = sorted(_FOLDER.glob("*.md"))
_PARTS = ("## What it means", "## What to look at", "## What to do")
#: Read by their answer: 1 is "unhealthy", or an endpoint that does not answer.
_FINE = (0, 1)
#: They need what runs, or another machine: only their words are tried.
_ASK_OTHERS = ("stack ", "health", "webhooks endpoints test ", "dead show ")


def test_every_alert_and_detector_has_a_runbook_with_all_its_parts() -> None:
    for one in EVERY:
        text = (_FOLDER / f"{one.spec.runbook}.md").read_text(encoding="utf-8")
        assert all(part in text for part in _PARTS), one.spec.id
        assert text.startswith(f"# {one.spec.title}\n")
        assert f"`{one.spec.id}`: {one.spec.measures}.\n" in text
    assert {(one.id, one.title) for one in RUNBOOKS} == {(one.spec.runbook, one.spec.title) for one in EVERY}


def test_there_is_no_runbook_without_an_alert() -> None:
    known = {one.spec.runbook for one in EVERY} | {"README", "troubleshooting"}
    assert {path.stem for path in _PAGES} == known


def test_the_server_has_every_page_as_it_was_written() -> None:
    written, served = (
        {one.name: one.read_text(encoding="utf-8") for one in folder.glob("*.md")} for folder in (WRITTEN, SERVED)
    )
    assert served == written


def test_the_reference_of_alerts_is_that_of_the_catalogue() -> None:
    assert (ROOT / "docs" / "reference" / "alerts.md").read_text(encoding="utf-8") == alerts_page()


def _commands() -> dict[str, str]:
    """Every command of every page, once; where it stands first."""
    found: dict[str, str] = {}
    for path in _PAGES:
        for block in blocks_of(path):
            for line in block.code.splitlines():
                if line.startswith("tenure "):
                    found.setdefault(line, block.place)
    return found


@pytest.mark.real_time
def test_every_command_of_a_runbook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    app = Tenure(url)
    app.task(name="resize")(_resize)
    handle = app.submit_sync("resize", {"image": "a"}, id="m1")
    app.operate_sync.add_endpoint("orders", "https://hooks.example.com/notify", secret="env:HOOK")
    app.close_sync()
    monkeypatch.setenv("TENURE_URL", url)
    monkeypatch.setenv("TENURE_HEALTH_TIMEOUT", "1")
    names = {"ID": handle.id, "QUEUE": "default-tasks", "TASK": "resize", "ENDPOINT": "orders"}
    wrong = {}
    for command, place in _commands().items():
        words = shlex.split(re.sub(r"\b(ID|QUEUE|TASK|ENDPOINT)\b", lambda found: names[found[1]], command))[1:]
        if (
            words[0] in ("stack", "health")
            or words[:3] == ["webhooks", "endpoints", "test"]
            or words[:2] == ["dead", "show"]
        ):
            words.append("--help")  # they need what runs, or another machine: only their words are tried
        done = CliRunner().invoke(root, words)
        if done.exit_code not in _FINE or isinstance(done.exception, Exception):
            wrong[place] = f"{command}: {done.exit_code} {done.output[-300:]} {done.exception}"
    assert wrong == {}


async def _resize(image: str) -> None:
    """A task."""
