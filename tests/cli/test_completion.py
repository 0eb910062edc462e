"""Completion: the script works in a real shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tenure as package

from .conftest import Run, answer


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
     (["messages", "--state", "c"], {"completed", "cancelled"}), (["pa"], {"pause"}), (["show", "x"], set())],
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
