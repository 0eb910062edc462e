"""Bad places: each has a stable code, a sentence that says what to do, and no traceback."""

import importlib.util
import sqlite3
import sys
import types
from contextlib import closing
from pathlib import Path

import pytest

from .conftest import Run

_COMMANDS = [["queues"], ["messages"], ["sweep"], ["dead", "list"], ["schedules"]]
#: Those that take more words than the target.
_MORE_WORDS = [["show", "a"], ["cancel", "a"], ["purge", "q"], ["pause", "q"], ["resume", "q"]]


def _refused(tenure: Run, url: str, code: str, exit_code: int) -> str:
    sentences = set()
    for command, *more in [*_COMMANDS, *_MORE_WORDS]:
        words = [command, *more, url] if [command, *more] in _COMMANDS else [command, url, *more]
        result = tenure(*words)
        assert result.exit_code == exit_code, (words, result.stderr)
        assert result.stderr.startswith(f"error[{code}]: "), (words, result.stderr)
        assert result.stderr.count("\n") == 1
        assert result.stdout == ""
        sentences.add(result.stderr)
    assert tenure("submit", url, "resize", "{}").exit_code == exit_code
    return sentences.pop()


@pytest.mark.parametrize(
    "url", ["nope://x", "sqlite://", "sqlite:///", "sqlite://host/x.db", "sqlite:///x.db?speed=9", "://"]
)
def test_a_bad_url(tenure: Run, url: str) -> None:
    assert "sqlite:///" in _refused(tenure, url, "bad_url", 2)


def test_a_missing_extra_is_named(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "pip install 'tenure[redis]'" in _refused(tenure, "redis://localhost", "missing_extra", 2)


@pytest.mark.parametrize("missing", ["azure.storage.queue", "azure.data.tables", "azure.storage.blob", "aiohttp"])
def test_an_extra_that_is_there_in_part_is_named(tenure: Run, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """Whoever has a loop of their own has the queue's client, and not the rest."""
    there = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else there(name))
    assert "pip install 'tenure[azure]'" in _refused(tenure, "azure://account", "missing_extra", 2)


def test_packages_that_do_not_fit_each_other_are_no_mistake_of_ours(
    tenure: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when boto3 was installed later, and has brought another botocore than aiobotocore works with."""
    for name in [name for name in sys.modules if name.startswith("tenure.adapters.aws")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("tenure.adapters.aws", raising=False)
    monkeypatch.setitem(sys.modules, "aiobotocore.session", types.ModuleType("aiobotocore.session"))
    sentence = _refused(tenure, "sqs://eu-west-1", "missing_extra", 2)
    assert "pip install 'tenure[aws]'" in sentence
    assert "aiobotocore.session" in sentence


def test_a_directory_is_called_one(tenure: Run, folder: Path) -> None:
    (folder / "taken.db").mkdir()
    assert "taken.db is a directory, not a file" in _refused(tenure, "sqlite:///taken.db", "bad_url", 2)


def test_a_file_that_is_no_database(tenure: Run, folder: Path) -> None:
    (folder / "notes.db").write_text("Dear diary, " * 500)
    _refused(tenure, "sqlite:///notes.db", "store_damaged", 1)
    assert (folder / "notes.db").read_text().startswith("Dear diary")


def test_a_url_that_leads_nowhere_creates_nothing(tenure: Run, folder: Path) -> None:
    _refused(tenure, "sqlite:///typo/jobs.db", "store_missing", 2)
    assert not (folder / "typo").exists()


def test_a_newer_schema(tenure: Run, folder: Path) -> None:
    assert tenure("queues", "jobs:app").exit_code == 0
    with closing(sqlite3.connect(folder / "jobs.db")) as db:
        db.execute("PRAGMA user_version = 99")
    assert "pgrade" in _refused(tenure, "sqlite:///jobs.db", "schema_too_new", 1)


def test_a_locked_database(tenure: Run, folder: Path) -> None:
    assert tenure("queues", "jobs:app").exit_code == 0
    with closing(sqlite3.connect(folder / "jobs.db", isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        result = tenure("submit", "sqlite:///jobs.db?busy_seconds=0.1", "resize", "{}")
    assert result.exit_code == 1
    assert "error[broker_unavailable]: " in result.stderr


def test_bad_settings_are_named_all_at_once(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_LEASE", "soon")
    monkeypatch.setenv("TENURE_MAX_ATTEMPTS", "0")
    sentence = _refused(tenure, "sqlite:///jobs.db", "bad_setting", 2)
    assert "TENURE_LEASE='soon'" in sentence
    assert "TENURE_MAX_ATTEMPTS='0'" in sentence


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["worker"], "bad_target"),
        (["worker", "sqlite:///jobs.db"], "bad_target"),
        (["worker", "jobs:app", "--concurrency", "0"], "usage"),
        (["worker", "jobs:app", "--log", "xml"], "usage"),
        (["queues", "jobs:app", "--nonsense"], "usage"),
        (["messages", "jobs:app", "--state", "gone"], "usage"),
        (["dead", "show", "jobs:app"], "usage"),
        (["queues", "jobs:app", "--every", "0s"], "usage"),
        (["dead", "redrive", "jobs:app", "--all", "--rate", "0/s"], "usage"),
        (["cancel", "jobs:app"], "usage"),
        (["cancel", "jobs:app", ""], "bad_argument"),
        (["purge", "jobs:app"], "usage"),
        (["purge", "jobs:app", "a", "b"], "usage"),
        (["purge", "jobs:app", "slow", "--state", "leased"], "usage"),
        (["purge", "jobs:app", "a/b"], "unknown_queue"),
        (["purge", "jobs:app", " slow"], "bad_argument"),
        (["pause", "jobs:app"], "usage"),
        (["resume", "jobs:app"], "usage"),
        (["resume", "jobs:app", "slow", "--all"], "usage"),
        (["schedules", "jobs:app", "--forget", "nightly"], "unknown_schedule"),
        (["completion", "tcsh"], "usage"),
        (["dead", "bury", "jobs:app"], "usage"),
        (["demo", "--rate", "0"], "usage"),
        (["demo", "--workers", "99"], "usage"),
    ],
)
def test_bad_words(tenure: Run, words: list[str], code: str) -> None:
    result = tenure(*words)
    assert result.exit_code == 2
    assert f"error[{code}]: " in result.stderr


def test_a_worker_without_tasks_is_refused(tenure: Run, folder: Path) -> None:
    (folder / "empty.py").write_text("from tenure import Tenure\napp = Tenure('sqlite:///jobs.db')\n")
    result = tenure("worker", "empty:app")
    assert result.exit_code == 2
    assert "error[configuration]: this app has no tasks" in result.stderr


def test_a_demo_that_cannot_have_its_folder(tenure: Run, folder: Path) -> None:
    (folder / "taken").write_text("")
    result = tenure("demo", "--dir", "taken/below", "--for", "1s")
    assert result.exit_code == 1
    assert "error[store_unwritable]: " in result.stderr


@pytest.mark.parametrize("command", ["queues", "scaling"])
def test_an_interval_without_a_watch_is_refused(tenure: Run, command: str) -> None:
    result = tenure(command, "sqlite:///jobs.db", "--every", "5s")
    assert result.exit_code == 2
    assert "add --watch" in result.stderr
