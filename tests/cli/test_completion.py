"""Completion: the script works in a real shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

import tenure as package
from tenure.cli.root import root

from .conftest import URL, Run, answer, worked

TASKS = {"resize", "nap", "flaky", "stuck"}


def _completed(words: list[str], incomplete: str) -> set[str]:
    found = ShellComplete(root, {}, "tenure", "_TENURE_COMPLETE").get_completions(words, incomplete)
    return {item.value for item in found}


@pytest.mark.parametrize(
    ("words", "incomplete", "completed"),
    [
        (["submit", "jobs:app"], "", TASKS),
        (["submit", "jobs:app", "--priority", "9"], "n", {"nap"}),
        (["submit", "jobs:app", "nap"], "", set()),
        (["submit", "jobs:app", "nap", "--queue"], "s", {"slow"}),
        (["submit"], "", set()),
        (["timing", "explain", "jobs:app"], "st", {"stuck"}),
        (["messages", "jobs:app", "--task"], "f", {"flaky"}),
        (["messages", "jobs", ":", "app", "-q"], "", {"slow", "default-tasks"}),
        (["dead", "redrive", "jobs:app", "-t"], "re", {"resize"}),
        (["worker", "jobs:app", "-q"], "", {"slow", "default-tasks"}),
        (["pause", "jobs:app"], "", {"slow", "default-tasks"}),
        (["pause", "jobs:app", "slow"], "", {"default-tasks"}),
        (["purge", "jobs:app"], "d", {"default-tasks"}),
        (["purge", "jobs:app", "slow"], "", set()),
        (["submit", "nowhere:app"], "", set()),
        (["submit", "redis://nobody.invalid"], "", set()),
        (["submit", "sqlite:///nowhere.db"], "", set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_tasks_and_queues_of_the_target_are_completed(
    words: list[str], incomplete: str, completed: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert _completed(words, incomplete) == completed
    assert capfd.readouterr() == ("", "")


def test_the_target_may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_URL", "jobs:app")
    assert _completed(["submit"], "") == TASKS
    assert _completed(["pause"], "sl") == {"slow"}


def test_an_app_that_cannot_be_imported_completes_nothing_and_says_nothing(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.py").write_text("import sys\nprint('out')\nprint('err', file=sys.stderr)\nraise SystemExit(3)")
    assert _completed(["submit", "broken:app"], "") == set()
    assert capfd.readouterr() == ("", "")


def test_a_database_tells_the_tasks_and_queues_that_it_has_seen(tenure: Run) -> None:
    id = answer(tenure("submit", "jobs:app", "nap", '{"seconds": 0}', "--json"))["id"]
    worked(id)
    assert _completed(["submit", URL], "") == {"nap"}
    assert _completed(["pause", URL], "") == {"slow"}


def test_the_first_line_says_how_to_install_it(tenure: Run) -> None:
    for shell in ("bash", "zsh", "fish"):
        first, script = tenure("completion", shell).stdout.split("\n", 1)
        assert first.startswith("# To install it, run once: ")
        assert f"tenure completion {shell}" in first
        assert "_TENURE_COMPLETE" in script
        assert answer(tenure("completion", shell, "--json"))["script"].strip() == script.strip()


def test_the_shell_in_use_is_the_default(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert "compdef" in tenure("completion").stdout
    monkeypatch.setenv("SHELL", "/bin/ash")
    assert "error[usage]: name the shell: bash, zsh, fish" in tenure("completion").stderr


@pytest.mark.scenario
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "completed"),
    [(["me"], {"messages"}), (["dead", "re"], {"redrive"}), (["messages", "--sta"], {"--state"}),
     (["messages", "--state", "c"], {"completed", "cancelled"}), (["pa"], {"pause"}), (["show", "x"], set()),
     # As bash hands them over: it takes a word apart at each colon.
     (["submit", "jobs", ":", "app", "re"], {"resize"}), (["submit", "jobs", ":", "app", ""], TASKS)],
)  # fmt: skip
def test_bash_completes(folder: Path, words: list[str], completed: set[str]) -> None:
    """As bash does it: the function that the script installs is called for the word under the cursor."""
    command = folder / "tenure"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tenure "$@"\n')
    command.chmod(0o755)
    script = (
        'eval "$(tenure completion bash)" || exit 1\n'
        f"COMP_WORDS=(tenure {' '.join(word or repr('') for word in words)})\nCOMP_CWORD={len(words)}\n"
        '_tenure_completion tenure\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1]), "PATH": path}
    run = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert run.stderr == ""
    assert {line for line in run.stdout.splitlines() if line} == completed
